"""Measurements. A package: `python -m benchmarks.leaderboard` runs from the project's root."""
