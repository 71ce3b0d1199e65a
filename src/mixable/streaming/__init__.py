"""`mixable stream` without its terminal: events in, probabilities out, learning when labels arrive;
durable.
"""

from mixable.streaming.model import StreamModel

__all__ = ["StreamModel"]
