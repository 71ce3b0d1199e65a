"""`mixable serve` without its terminal: forecasts over HTTP, outcomes later, nothing lost."""
