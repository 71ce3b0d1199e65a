"""The saved state of a learner, checked: what does not go together is refused."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from mixable import _validate
from mixable.forecasters import AutoRidge
from mixable.learner.design import Design
from mixable.learner.inputs import Array


class Saved(NamedTuple):
    """What `Learner.__getstate__` returned."""

    design: Design
    n_features: int
    labels: list[Hashable] | None
    closed: bool
    forecaster: Any
    statistics: dict[str, Array]
    origin: float | None


def checked(state: dict[str, Any]) -> Saved:
    """Return a state, once its parts are known to go together."""
    design, forecaster, labels = state["design"], state["forecaster"], state["labels"]
    statistics = state["scaler"]
    if not isinstance(design, Design):
        raise TypeError(f"a learner needs a design, got {design!r:.80}")
    n_features = _validate.count(state["n_features"], "n_features", least=0)
    are_arrays = all(isinstance(values, np.ndarray) for values in statistics.values())
    if not are_arrays or statistics["count"].shape != (1, n_features):
        raise ValueError(f"the saved statistics are not those of {n_features} features")
    origin = state.get("origin", 0.0)  # the first models that were saved had none
    if origin is not None:
        _validate.target_in_range(origin, "origin")
    closed = _validate.flag(state["closed"], "closed")
    fits = design.fits(forecaster, n_features) and (design.kind is AutoRidge) == (labels is None)
    if labels is not None:
        fits = fits and _are_labels(labels, state["codes"], forecaster)
    if not fits:
        raise ValueError("labels, inputs and forecaster do not go together")
    arrays = {name: np.array(values) for name, values in statistics.items()}
    return Saved(design, n_features, labels, closed, forecaster, arrays, origin)


def _are_labels(labels: Any, codes: Any, forecaster: Any) -> bool:
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    _validate.claim(4.0 * len(labels) * longest, "labels")
    return (
        forecaster.n_classes == max(2, len(labels))
        and all(label is not None and label == label for label in labels)
        and list(codes.items()) == [(label, code) for code, label in enumerate(labels)]
    )
