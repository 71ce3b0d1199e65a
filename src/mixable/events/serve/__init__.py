"""`mixable serve` without its terminal: forecasts over HTTP, labels later, nothing lost."""

from mixable.events.serve.model import ServedModel

__all__ = ["ServedModel"]
