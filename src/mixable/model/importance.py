"""Which columns matter: how far each of them usually moves the forecast."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mixable import _core
from mixable._types import Array
from mixable.experts import AutoGAF, AutoRidge, SparseGAF, Trees
from mixable.experts.trees import Rows as TreeRows
from mixable.experts.trees import n_seen
from mixable.model.compiled import Records
from mixable.model.explaining import first_expert
from mixable.model.inputs import ScaledInputs
from mixable.model.learner import Learner
from mixable.model.pool import FALLBACK, RecordPool
from mixable.model.record_inputs import RecordInputs
from mixable.model.shapes import ShapedInputs
from mixable.model.trees import RawDesign
from mixable.records import Encoder, Rows
from mixable.records.category import Category
from mixable.records.number import Number

Keys = NDArray[np.uint64]

MIXTURES = (AutoGAF, AutoRidge)

FEWEST, MOST = 32, 256
"""Records in which a column is tried: with fewer a mean says little, with more hardly more."""

SECONDS, OVERHEAD = 0.5, 5e-5
"""How long all forecasts take, about; and each of them, beside half a step of the mixtures."""


class Held(NamedTuple):
    """Where the rows that trees keep have a column."""

    name: Hashable
    places: list[int]  # among the numbers
    order: int  # among the categories; -1: it is none
    is_all: bool  # whether other experts know no more of it, such as the words of a text


def importance(learner: Learner, names: Sequence[Hashable]) -> dict[Hashable, float]:
    """How far each column usually moves the forecast of the whole model, most first.

    That is how far the forecast moves if the column has the value of another record: the root mean
    square, over records that the trees keep, divided by sqrt(2). Of classes, it is the log-odds of
    one against another that moves most; of numbers, the mean. For a linear model that is the weight
    times the deviation of the column, so weights say it (`_by_weights`) where forecasts cannot:

    - of models without trees, and before there are 32 records;
    - of what trees do not see (texts, lists, counts), times the share that the experts with these
      weights have in the forecast;
    - if all columns would take more than about half a second, of those that seem to matter least.

    `names` are those of the columns of numbers, where there is no encoder.
    """
    sizes = _by_weights(learner, names)
    trees = next((each._core for each in learner.pool.experts if isinstance(each, Trees)), None)
    if trees is not None and trees.came - trees.oldest >= FEWEST:
        sizes = _by_forecasts(learner, trees, _held(learner, trees, names), sizes)
    order = sorted(sizes, key=lambda name: -sizes[name])
    return {name: sizes[name] for name in order if sizes[name] > 0}


def _held(learner: Learner, trees: _core.Trees, names: Sequence[Hashable]) -> list[Held]:
    """The columns that the rows of trees have."""
    numbers, categories = n_seen(learner.n_features), n_seen(trees.categories)
    if not isinstance(learner.inputs, RecordInputs):
        return [Held(name, [place], -1, True) for place, name in enumerate(names[:numbers])]
    out = []
    for column in learner.inputs.encoder.registry.columns.values():
        places = [place for place in column.places if place < numbers]
        order = column.order if isinstance(column, Category) else -1
        if places or 0 <= order < categories:
            is_all = type(column) in (Number, Category)
            out.append(Held(column.name, places, order if order < categories else -1, is_all))
    return out


def _by_forecasts(
    learner: Learner, trees: _core.Trees, columns: list[Held], by_weights: dict[Hashable, float]
) -> dict[Hashable, float]:
    """How far forecasts move; by weights of the columns that are not tried."""
    pool = learner.pool
    mixtures = [pool.experts[i] for i in pool.active if isinstance(pool.experts[i], MIXTURES)]
    step = sum(float(each._core.seconds) for each in mixtures)
    tries = int(SECONDS / (OVERHEAD + step / 2))
    n = min(MOST, max(FEWEST, tries // (len(columns) + 1)), trees.came - trees.oldest)
    if not columns or tries < 2 * n:
        return by_weights
    columns = _likely(columns, trees, by_weights)[: tries // n - 1]
    x, keys, weight = _kept(trees, n)
    before = _forecasts(learner, x, keys)
    # Each row has the value of another one: of any, since rows may have a rhythm.
    order, other = np.random.default_rng(0).permutation(n), np.empty(n, np.int64)
    other[order] = np.roll(order, 1)
    share = _share_of_weights(pool)
    sizes = {name: share * size for name, size in by_weights.items()}
    for name, places, at, is_all in columns:
        moved, moved_keys = x.copy(), keys.copy()
        moved[:, places] = x[other][:, places]
        if at >= 0:
            moved_keys[:, at] = keys[other, at]
        change = _forecasts(learner, moved, moved_keys) - before
        far = np.ptp(change, axis=1) if learner.has_labels else change[:, 0]
        size = float(np.sqrt(np.average(far**2, weights=weight) / 2))
        sizes[name] = size if is_all else max(size, sizes.get(name, 0.0))
    return sizes


def _kept(trees: _core.Trees, n: int) -> tuple[Array, Keys, Array]:
    """Numbers, keys of categories, and weights of n rows that trees keep, old ones and new."""
    times = np.linspace(trees.oldest, trees.came - 1, n).astype(np.int64)
    rows = [TreeRows.of(trees, t, 1) for t in times.tolist()]
    x, keys, _, weight = (np.concatenate(each) for each in zip(*rows, strict=True))
    return x, keys, weight


def _likely(
    columns: list[Held], trees: _core.Trees, by_weights: dict[Hashable, float]
) -> list[Held]:
    """The columns by what trees gained with them, and by the squares of weights, most first."""
    gains = trees.gains()
    first = len(gains) - n_seen(trees.categories)
    own = [[*column.places, *([first + column.order] * (column.order >= 0))] for column in columns]
    gained = np.array([gains[places].sum() for places in own])
    energy = np.array([by_weights.get(column.name, 0.0) ** 2 for column in columns])
    least = np.finfo(float).tiny
    worth = gained / max(gained.sum(), least) + energy / max(energy.sum(), least)
    return [columns[i] for i in np.argsort(-worth, kind="stable").tolist()]


def _share_of_weights(pool: RecordPool) -> float:
    """How much of the forecast comes from experts that see what the weights are of."""
    weights = pool.expert_weights
    parts = list(enumerate(pool.design.parts))
    if pool.n_classes is not None:
        own = [i for i, part in parts if i == 0 or getattr(part, "takes_features", False)]
        in_pools = weights[:2].sum() * np.maximum(pool.weights[own], 0.0).sum()
        alone = weights[2:][own].sum() + pool.fallback_weights.get(FALLBACK[1], 0.0)
        return float(in_pools + alone)
    if pool.stage is None:
        return float(weights[0])
    return float(sum(weights[i] for i, part in parts if not isinstance(part, RawDesign)))


def _forecasts(learner: Learner, x: Array, keys: Keys) -> Array:
    """Logarithms of probabilities (n, K), or means (n, 1)."""
    records: Records = x
    if isinstance(learner.inputs, RecordInputs):
        there = keys > 0
        ends = np.concatenate([[0], there.sum(axis=1).cumsum()])
        ones = np.ones(int(ends[-1]), np.float32)
        shown = learner.inputs.encoder.registry.shown
        records = replace(Rows.of(x, ends, keys[there], ones), categories=keys, shown=shown)
    said = np.asarray(learner.pool.predict(records))
    return np.log(np.maximum(said, np.finfo(float).tiny)) if learner.has_labels else said[:, None]


def _by_weights(learner: Learner, names: Sequence[Hashable]) -> dict[Hashable, float]:
    """How far each column moves the expert that is always active, linear or sparse.

    That is the root mean square, over the records learned, of the column's weights, times its
    values. Of classes, the spread of the weights over them counts. Of numbers in records the
    weights are those of the regressions on sparse features, on average. Nothing is known of other
    models, and nothing before the first example.
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
    return sizes


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
