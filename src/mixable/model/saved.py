"""The saved state of a learner, checked: what does not go together is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable import _validate
from mixable.experts import AutoRidge
from mixable.model.design import Design
from mixable.model.old import pooled
from mixable.model.pool import RecordPool


def checked(state: dict[str, Any]) -> dict[str, Any]:
    """Return what `Learner.__getstate__` did, once its parts are known to go together."""
    state = {**state, **pooled(state["design"], state["forecaster"], state["scaler"])}
    design, forecaster, statistics = state["design"], state["forecaster"], state["scaler"]
    if not isinstance(design, Design):
        raise TypeError(f"a learner needs a design, got {design!r:.80}")
    n_features = _validate.count(state["n_features"], "n_features", least=0)
    if isinstance(forecaster, RecordPool):  # it keeps the statistics
        if statistics.keys() - {"encoder"}:
            raise ValueError("the saved statistics are not those of records")
        return _checked_parts(state, n_features, statistics)
    are_arrays = all(isinstance(values, np.ndarray) for values in statistics.values())
    counts = [each for name, each in statistics.items() if name.split(".")[-1] == "count"]
    if not are_arrays or not counts or any(each.shape != (1, n_features) for each in counts):
        raise ValueError(f"the saved statistics are not those of {n_features} features")
    arrays = {name: np.array(values) for name, values in statistics.items()}
    return _checked_parts(state, n_features, arrays)


def _checked_parts(
    state: dict[str, Any], n_features: int, statistics: dict[str, Any]
) -> dict[str, Any]:
    design, forecaster, labels = state["design"], state["forecaster"], state["labels"]
    origin = state.get("origin", 0.0)  # the first models that were saved had none
    if origin is not None:
        _validate.target_in_range(origin, "origin")
    closed = _validate.flag(state["closed"], "closed")
    of_numbers = design.kind is AutoRidge
    fits = design.fits(forecaster, n_features) and of_numbers == (labels is None)
    if labels is not None:
        fits = fits and _are_labels(labels, state["codes"], forecaster)
    if not fits:
        raise ValueError("labels, inputs and forecaster do not go together")
    sound = {"n_features": n_features, "scaler": statistics, "closed": closed, "origin": origin}
    return {**state, **sound}


def _are_labels(labels: Any, codes: Any, forecaster: Any) -> bool:
    longest = max((len(label) for label in labels if isinstance(label, str)), default=0)
    _validate.claim(4.0 * len(labels) * longest, "labels")
    return (
        forecaster.n_classes == max(2, len(labels))
        and all(label is not None and label == label for label in labels)
        and list(codes.items()) == [(label, code) for code, label in enumerate(labels)]
    )
