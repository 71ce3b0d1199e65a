"""What the compiled pool takes: rows of records, experts, and saved states."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from mixable._types import Array
from mixable.experts.compiled import is_all_compiled
from mixable.model.inputs import Inputs, ScaledInputs
from mixable.model.kernel_inputs import KernelInputs
from mixable.model.shapes import ShapedInputs
from mixable.model.trees import RawInputs
from mixable.records.rows import Rows

Records: TypeAlias = Array | Rows
"""Numbers as a row (d,) or a table (n, d), NaN for what is missing; or with sparse features."""


def arrays(state: dict[str, Any]) -> dict[str, Any]:
    """Plain copies: joblib may have mapped arrays into memory."""
    return {
        name: np.array(value) if isinstance(value, np.ndarray) else value
        for name, value in state.items()
    }


def compiled_expert(inputs: Inputs, expert: Any, stage: Any, picks: list[int] | None) -> Any:
    """An expert as its compiled parts: `expert_of` of pool_model.hpp."""
    if isinstance(inputs, ShapedInputs):
        return inputs.scaler, inputs.shapes, expert._core, inputs.memory
    if isinstance(inputs, RawInputs):
        return (expert._core,)
    is_compiled = is_all_compiled(expert) or not hasattr(expert, "n_classes")
    core, none = expert._core if is_compiled else expert, (1.0, True, False)
    if isinstance(inputs, KernelInputs):
        plan, maps = inputs.plan, [each.compiled() for each in inputs.maps]
        how = inputs.amplitude, plan.beside, plan.linear
        return inputs.scaled.scaler, maps, *how, core, stage, picks
    assert isinstance(inputs, ScaledInputs)
    if inputs.anchored:  # it sees numbers as they are
        return inputs.scaler, [], *none, core, None, None
    return inputs.scaler, [], *none, core, stage, picks


def numbers_of(x: Records) -> Array:
    """The numbers of records, as a table."""
    X = x.dense if isinstance(x, Rows) else x
    if not isinstance(X, np.ndarray):
        raise TypeError(f"rows must be float64 arrays, got {X!r:.80}")
    return np.ascontiguousarray(X if X.ndim == 2 else X[None], dtype=np.float64)


def sparse_of(x: Records) -> Any:
    """Sparse features, crosses, what is shown of numbers, categories; None for numbers alone."""
    if not isinstance(x, Rows):
        return None
    values, crossed = (np.asarray(v, np.float64) for v in (x.values, x.cross_values))
    crosses = x.cross_indptr, x.cross_keys, crossed
    categories = np.ascontiguousarray(x.categories)
    return (x.indptr, x.keys, values), crosses, x.shown, categories
