"""Which columns matter: how far each of them usually moves the forecast."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array
from mixable.experts import SparseGAF
from mixable.model.explaining import first_expert
from mixable.model.inputs import ScaledInputs
from mixable.model.learner import Learner
from mixable.model.record_inputs import RecordInputs
from mixable.model.shapes import ShapedInputs
from mixable.records import Encoder

Keys = NDArray[np.uint64]


def importance(learner: Learner, names: Sequence[Hashable]) -> dict[Hashable, float]:
    """How far each column usually moves the forecast, most first.

    That is the root mean square, over the records learned, of the column's weights, times its
    values, in the expert that is always active, linear or sparse. Of classes, the spread of the
    weights over them counts: how far it moves the log-odds of one class against another. Of numbers
    in records the weights are those of the regressions on sparse features, on average. `names` are
    those of the columns of numbers, where there is no encoder. Nothing is known of other models,
    and nothing before the first example.
    """
    forecaster, inputs = first_expert(learner)
    stage = learner.pool.stage
    sizes: dict[Hashable, float] = {}
    if isinstance(forecaster, SparseGAF):
        assert isinstance(inputs, ShapedInputs)
        # What a feature has gathered, beside what the intercept has: how often it is there, times
        # the mean square of its values.
        gathered = np.asarray(forecaster._core.state()["slots"])[:, 0].astype(np.float64)
        keys = forecaster.keys
        spread = np.ptp(forecaster.coef_of(keys.tolist()), axis=0)
        energy = spread**2 * _shares(gathered) * forecaster.input_scale
        sizes = _of_features(learner, keys, energy, len(inputs.design.bins), names)
    elif stage is not None:
        known = stage.sparse.state()
        slots = np.asarray(known["slots"]).astype(np.float64)
        weights = float(known["unit"]) * slots[1:, 1 : 1 + len(stage.design.grid)].mean(axis=1)
        energy = weights**2 * _shares(slots[:, 0])
        bins = len(stage.design.shapes.bins)
        sizes = _of_features(learner, np.asarray(known["keys"]), energy, bins, names)
    elif type(inputs) is ScaledInputs and hasattr(forecaster, "coef"):
        first = 1 if learner.design.intercept else 0
        theta = np.atleast_2d(forecaster.coef)[:, first : first + len(names)]
        scale = np.ones(len(names)) if learner.design.standardize else inputs.moments()[1]
        spread = np.ptp(theta, axis=0) if len(theta) > 1 else np.abs(theta[0])
        sizes = dict(zip(names, (spread * scale).tolist(), strict=True))
    order = sorted(sizes, key=lambda name: -sizes[name])
    return {name: sizes[name] for name in order if sizes[name] > 0}


def _shares(gathered: Array) -> Array:
    """What features have gathered beside the intercept, which comes first."""
    return np.asarray(gathered[1:] / max(gathered[0], np.finfo(float).tiny))


def _of_features(
    learner: Learner, keys: Keys, energy: Array, bins: int, names: Sequence[Hashable]
) -> dict[Hashable, float]:
    if not len(keys):
        return {}
    inputs = learner.inputs
    sums: dict[Hashable, float] = {}
    if not isinstance(inputs, RecordInputs):  # keys are columns of a sparse matrix
        named = {key: names[key] for key in keys.tolist()}
    else:
        named = _owners(inputs.encoder)
        places = {
            place: column.name
            for column in inputs.encoder.registry.columns.values()
            for place in column.places
        }
        rounds = _unmixed(keys)
        for place, column in places.items():
            is_own = _is_of(rounds, place, bins)
            sums[column] = sums.get(column, 0.0) + float(energy[is_own].sum())
    for key, value in zip(keys.tolist(), energy.tolist(), strict=True):
        if key in named:
            sums[named[key]] = sums.get(named[key], 0.0) + value
    return {column: float(np.sqrt(value)) for column, value in sums.items()}


def _owners(encoder: Encoder) -> dict[int, Hashable]:
    """The column of each key that is remembered; keys of values and words, not of crosses."""
    columns = encoder.registry.columns
    by_text = {str(name): name for name in columns}
    out: dict[int, Hashable] = {}
    for key, label in encoder.names.items():
        # A word of a text or a number's column is remembered with its column, a count as it is.
        heads = (label.partition(mark)[0] for mark in (": ", "="))
        out[key] = next((by_text[head] for head in heads if head in by_text), label)
    for column in columns.values():
        out.update(dict.fromkeys(column.key_names(), column.name))
    return out


# Keys of numbers are made by `mixed` in core/inputs/shapes.hpp, whose last round can be undone.
_START, _ONE, _TWO = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ALL = 2**64 - 1
_LINEAR, _BINS, _WHOLE, _FARTHEST = 3, 4, 32, 100_000


def _mixed(*numbers: int) -> int:
    h = _START
    for each in numbers:
        h = ((h ^ each) * _ONE) & _ALL
        h = ((h ^ (h >> 27)) * _TWO) & _ALL
        h ^= h >> 31
    return h


def _unmixed(keys: Keys) -> Keys:
    """The keys before their last round."""
    h = keys ^ (keys >> np.uint64(31)) ^ (keys >> np.uint64(62))
    h = h * np.uint64(pow(_TWO, -1, 2**64))
    h = h ^ (h >> np.uint64(27)) ^ (h >> np.uint64(54))
    return np.asarray(h * np.uint64(pow(_ONE, -1, 2**64)))


def _is_of(rounds: Keys, place: int, bins: int) -> Any:
    """Which keys are of the number at one place: the number itself, its bins, whole numbers."""
    kinds = [_LINEAR, *range(_BINS, _BINS + bins), _WHOLE]
    out = np.zeros(len(rounds), bool)
    for kind in kinds:
        last = (rounds ^ np.uint64(_mixed(kind, place))).view(np.int64)
        out |= (last == 0) if kind == _LINEAR else np.abs(last) < _FARTHEST
    return out
