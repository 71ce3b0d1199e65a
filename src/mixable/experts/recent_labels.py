"""How often each class has come of late, an expert of the default."""

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


class RecentLabels(CompiledMulticlassForecaster):
    """Frequencies of the last hundred labels or so; see core/pool/recent_labels.hpp.

    Parameters
    ----------
    n_features
        Number of features d, of which none is used.
    n_classes
        Number of classes K; labels are 0..K-1.
    """

    n_features = Parameter(_validate.count, least=0)

    _core: _core.RecentLabels

    def __init__(self, n_features: int, n_classes: int) -> None:
        self._keep(locals())
        self._core = _core.RecentLabels(self.n_features, self.n_classes)

    def _saved_posteriors(
        self, parameters: dict[str, Any], state: dict[str, Any]
    ) -> dict[str, str]:
        return {"": "rates"}

    def _combine(
        self, others: Sequence[Self], base: Self | None, changes: Sequence[Change]
    ) -> Self:
        """Counts are added, and those of the base are taken from them."""
        out = dict(self._core.state())
        for other, change in zip(others, changes, strict=True):
            state, moved = other._core.state(), np.eye(self.n_classes)
            if change.classes is not None:
                moved = change.classes.T
            out["steps"] += state["steps"]
            out["counts"] = out["counts"] + change.weight * (state["counts"] @ moved)
            if base is not None:
                known = base._core.state()
                out["steps"] -= known["steps"]
                out["counts"] = out["counts"] - change.weight * known["counts"]
        return self._restored({**out, "counts": np.maximum(out["counts"], 0.0)})
