"""`mixable stream` without its terminal: it predicts events, learns labels, and saves both."""

from mixable.streaming.model import StreamModel

__all__ = ["StreamModel"]
