"""`mixable serve` without its terminal: forecasts over HTTP, labels later, nothing lost."""

from mixable.serving.model import ServedModel

__all__ = ["ServedModel"]
