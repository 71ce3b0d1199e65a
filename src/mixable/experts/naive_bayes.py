"""Naive Bayes on numbers, an expert of the default: in each class, each column is normal.

Chan, T., Golub, G. and LeVeque, R. (1983). Algorithms for computing the sample variance: analysis
and recommendations. The American Statistician 37. It has the sums of two samples taken together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixable import _core, _validate
from mixable._natural import Change
from mixable.experts.base import Parameter
from mixable.experts.compiled import CompiledMulticlassForecaster

if TYPE_CHECKING:
    from typing_extensions import Self

MOMENTS = ("count", "mean", "square")
ROUNDING = 1e-12  # of sums


class NaiveBayes(CompiledMulticlassForecaster):
    """The mean and the variance of each feature in each class; see core/pool/naive_bayes.hpp.

    Parameters
    ----------
    n_features
        Number of features d.
    n_classes
        Number of classes K; labels are 0..K-1.
    """

    n_features = Parameter(_validate.count, least=0)

    _core: _core.NaiveBayes

    def __init__(self, n_features: int, n_classes: int) -> None:
        self._keep(locals())
        self._core = _core.NaiveBayes(self.n_features, self.n_classes)

    def _saved_posteriors(
        self, parameters: dict[str, Any], state: dict[str, Any]
    ) -> dict[str, str]:
        return {"": "moments"}

    def _combine(
        self, others: Sequence[Self], base: Self | None, changes: Sequence[Change]
    ) -> Self:
        """Sums over examples are added, and those of the base are taken from them."""
        signed = [(self._core.state(), 1.0)]
        for other, change in zip(others, changes, strict=True):
            signed.append((_moved(other._core.state(), change), change.weight))
            if base is not None:
                signed.append((base._core.state(), -change.weight))
        return self._restored(_sum(*zip(*signed, strict=True)))


def _moved(state: dict[str, Any], change: Change) -> dict[str, Any]:
    """The same with features and classes in their places in another model."""
    out = dict(state)
    if change.rows is not None:  # a permutation, with an intercept before it or not
        d = state["mean"].shape[1]
        order = change.rows[-d:, -d:].T
        out |= {name: state[name] @ order for name in MOMENTS}
    if change.classes is not None:
        out["classes"] = out["classes"] @ change.classes.T
        for name in MOMENTS:
            out[name] = np.vstack([out[name][:1], change.classes @ out[name][1:]])
    return out


def _sum(states: Sequence[dict[str, Any]], signed: Sequence[float]) -> dict[str, Any]:
    """All samples together, each with a weight; below 0, it is taken away."""
    n, mean, square = (np.array([state[name] for state in states]) for name in MOMENTS)
    weight = np.asarray(signed)
    first = np.take_along_axis(mean, n.argmax(axis=0)[None], 0)[0]  # a constant stays one
    total, each = np.tensordot(weight, n, 1), weight[:, None, None] * n
    total[total <= ROUNDING * n.sum(axis=0)] = 0.0  # all of it was taken away
    is_left = total > 0
    count = np.where(is_left, total, 1.0)
    now = first + np.where(n > 0, each * (mean - first), 0.0).sum(axis=0) / count
    spread = np.tensordot(weight, square, 1) + (each * (mean - now) ** 2).sum(axis=0)
    return {
        "steps": sum(
            int(np.sign(w)) * state["steps"] for w, state in zip(weight, states, strict=True)
        ),
        "classes": np.maximum(
            sum(w * state["classes"] for w, state in zip(weight, states, strict=True)), 0.0
        ),
        "count": total,
        "mean": np.where(is_left, now, 0.0),
        "square": np.where(is_left, np.maximum(spread, 0.0), 0.0),
    }
