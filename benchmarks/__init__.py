"""Measurements. A package, so that `python -m benchmarks.peers` runs from the project's root."""
