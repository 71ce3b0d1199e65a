"""Which columns matter to a model that has no weights to read: forecasts without each of them."""

from __future__ import annotations

from mixable.serving.events import Features
from mixable.serving.model import ServedModel

MOST = 30  # columns of a record that are tried
RATE = 0.02  # of a new record in the mean, once there are many


class Importance:
    """How much probability moves to other classes if a column is missing: a mean of some records.

    It is for those who watch. It is not saved, and changes nothing of the model.
    """

    def __init__(self) -> None:
        self._mean: dict[str, float] = {}
        self._seen: dict[str, int] = {}

    def add(self, model: ServedModel, features: Features) -> None:
        """Try a record without each of its columns."""
        known = set(model.feature_names)
        p = model.predict(features)
        for name in [name for name in features if name in known][:MOST]:
            q = model.predict({other: v for other, v in features.items() if other != name})
            moved = sum(abs(p[label] - q[label]) for label in p) / 2
            seen = self._seen[name] = self._seen.get(name, 0) + 1
            mean = self._mean.get(name, 0.0)
            self._mean[name] = mean + max(1 / seen, RATE) * (moved - mean)

    def most(self, n: int) -> dict[str, float]:
        """The columns that matter most, the first one most."""
        order = sorted(self._mean, key=lambda name: -self._mean[name])
        return {name: self._mean[name] for name in order[:n]}
