"""Boosted trees that grow: rebuilt in the background, and updated at each example.

Ke, G. et al. (2017). LightGBM: a highly efficient gradient boosting decision tree. NIPS. It has
histograms, splits the leaf that gains most, and samples rows by their gradients.
Ibragimov, B. and Gusev, G. (2019). Minimal variance sampling in stochastic gradient boosting.
NeurIPS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _core, _validate
from mixable._natural import Change
from mixable._types import Array
from mixable.experts.base import Forecaster, Parameter

if TYPE_CHECKING:
    from typing_extensions import Self

Keys = NDArray[np.uint64]

MOST_FEATURES, MOST_CLASSES = 1 << 20, 10_000


class Rows(NamedTuple):
    """Rows that trees have kept, the oldest first."""

    x: Array  # (n, numbers)
    keys: Keys  # (n, categories)
    y: Array
    weight: Array

    @classmethod
    def of(cls, core: _core.Trees, first: int = 0, most: int = 1 << 62) -> Rows:
        """Those of the compiled part, at most so many from the row `first` on."""
        known = core.rows(max(first, 0), most)
        n = len(known["y"])
        x, keys = (known[name].reshape(n, -1 if n else 0) for name in ("x", "keys"))
        return cls(x, keys, known["y"], known["weight"])

    def changed(self, change: Change, n_features: int, n_categories: int) -> Rows:
        """The same in the coordinates of another model."""
        n, x, y = len(self.y), self.x, self.y + change.shift
        if change.rows is not None:  # a permutation, with an intercept before it or not
            places = change.rows.argmax(axis=0)
            places = places[len(places) - x.shape[1] :] - (len(places) - x.shape[1])
            x = np.full((n, n_features), np.nan)
            x[:, places] = self.x
        if change.classes is not None:
            y = _places(change.classes)[y.astype(int)].astype(float)
        keys = np.zeros((n, n_categories), np.uint64)
        keys[:, : self.keys.shape[1]] = self.keys
        return Rows(x, keys, y, np.clip(self.weight * change.weight, 1e-12, 1e12))


class Trees(Forecaster):
    """Boosted trees that learn one example at a time, for labels or for numbers.

    An ensemble of up to 100 trees predicts, and each of its leaves takes a small step with every
    example. Meanwhile the next ensemble is built on the last examples (up to 65,536, as many as
    fit into 40 MB): a bounded piece of work with each example, so that no step pauses for long.
    Inputs need no scaling. NaN is a missing value, which is a value by itself.

    Parameters
    ----------
    n_features
        Number of features d. The first 2,048 numbers and 2,048 categories are used.
    n_classes
        Number of classes K; labels are 0..K-1. None: outcomes are numbers.
    categories
        The places of features that are codes of categories: only whether two of them are equal
        counts, not which is larger. The 63 most frequent values have bins of their own.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1500, 3))
    >>> y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.3)).astype(int)
    >>> f = Trees(3, 2)
    >>> p = f.run(X, y)
    >>> round(float((p[1000:].argmax(axis=1) == y[1000:]).mean()), 1)  # accuracy
    1.0
    >>> f.feature_importances[2] < 0.1
    np.True_

    Of numbers it says a mean and a standard deviation:

    >>> g = Trees(3)
    >>> m = g.run(X, 10 * X[:, 0])
    >>> 2.5 < g.predict([0.3, 0.5, 0.5]) < 3.5, g.std([0.3, 0.5, 0.5]) < 1
    (True, True)
    """

    n_features = Parameter(_validate.count, least=0, most=MOST_FEATURES)
    n_classes = Parameter(_validate.optional(_validate.count), least=2, most=MOST_CLASSES)
    categories = Parameter["tuple[int, ...]"]()

    _core: _core.Trees

    def __init__(
        self, n_features: int, n_classes: int | None = None, *, categories: Sequence[int] = ()
    ) -> None:
        self._keep(locals())
        self._parameters["categories"] = _checked_places(categories, self.n_features)
        numbers = np.ones(self.n_features, bool)
        numbers[list(self.categories)] = False
        self._numbers = np.flatnonzero(numbers)
        self._core = _core.Trees(len(self._numbers), len(self.categories), self.n_classes or 0)

    def predict(self, x: ArrayLike) -> Any:
        """Probabilities (n_classes,) of an input (n_features,), or a number; of a table, each.

        Pure and deterministic: it changes nothing, and the same call gives the same bits.
        """
        p, is_table = self._said(x)
        if self.n_classes is None:
            p = np.ascontiguousarray(p[:, 0])
        return p if is_table else p[0] if self.n_classes else float(p[0])

    def std(self, x: ArrayLike) -> Any:
        """The standard deviation of a number's forecast: the size of recent misses."""
        if self.n_classes is not None:
            raise TypeError("std is for numbers: these trees have classes")
        p, is_table = self._said(x)
        return np.ascontiguousarray(p[:, 1]) if is_table else float(p[0, 1])

    def _said(self, x: ArrayLike) -> tuple[Array, bool]:
        values = _validate.inputs(x, self.n_features, missing=True)
        return self._core.predict(*self._split(np.atleast_2d(values))), values.ndim == 2

    def learn(self, x: ArrayLike, y: Any, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), its outcome, and a weight."""
        row = _validate.row(x, self.n_features, missing=True)[None]
        K = self.n_classes
        outcome = _validate.target(y) if K is None else float(_validate.label(y, K))
        self._core.learn(*self._split(row), outcome, _validate.weight(weight))

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Forecasts of each row of X, made before its outcome in y is learned.

        Probabilities (n, n_classes), or means (n,). The same as a loop of `predict` and `learn`,
        faster. All arguments are checked first: if one is refused, nothing was learned. Ctrl-C
        stops between two rows; the rows before are then learned.
        """
        p = self._run(X, y, weight)
        return p if self.n_classes else np.ascontiguousarray(p[:, 0])

    def run_with_std(
        self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """Means and standard deviations (n,) of numbers, as `run`."""
        if self.n_classes is not None:
            raise TypeError("run_with_std is for numbers: these trees have classes")
        mean, deviation = self._run(X, y, weight).T
        return mean.copy(), deviation.copy()

    def finish(self) -> None:
        """Build a new ensemble on all examples that are kept, now and to its end.

        For tables that are learned once, and then predict for long. It takes some seconds.
        """
        self._core.finish()

    def _run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None) -> Array:
        rows = _validate.table(X, self.n_features, missing=True)
        n, K = len(rows), self.n_classes
        outcomes = _validate.targets(y, n) if K is None else _validate.labels(y, K, n)
        weights = _validate.weights(weight, n)
        return self._core.run(*self._split(rows), outcomes.astype(np.float64), weights)

    def _split(self, rows: Array) -> tuple[Array, Keys | None]:
        """Numbers, and keys of categories: the bits of their codes, 0 for what is missing."""
        if not self.categories:
            return rows, None
        codes = np.ascontiguousarray(rows[:, list(self.categories)]) + 0.0  # -0.0 is 0.0
        keys = np.where(np.isnan(codes), np.uint64(0), codes.view(np.uint64) + np.uint64(1))
        return np.ascontiguousarray(rows[:, self._numbers]), keys

    def predict_records(self, X: Array, keys: Keys) -> Array:
        """What is said of rows of numbers with keys of categories, as a pool has them."""
        own = np.zeros((len(X), self._core.categories), np.uint64)
        most = min(own.shape[1], keys.shape[1])
        own[:, :most] = keys[:, :most]
        return self._core.predict(X, own if own.shape[1] else None)

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._core.steps

    @property
    def n_trees(self) -> int:
        """Trees that predict now."""
        return self._core.trees

    @property
    def memory(self) -> int:
        """Bytes that rows and trees take."""
        return int(self._core.bytes)

    @property
    def feature_importances(self) -> Array:
        """The share (n_features,) of each feature in what all splits have gained.

        What splits on columns that say nothing would gain is left out.
        """
        gains, out = self._core.gains(), np.zeros(self.n_features)
        first = len(self._numbers)
        seen, more = self._numbers[: n_seen(first)], self.categories[: n_seen(len(self.categories))]
        out[seen] = gains[: len(seen)]
        out[list(more)] = gains[len(seen) : len(seen) + len(more)]
        total = gains.sum()
        return out / total if total > 0 else out

    def report(self) -> str:
        """What it has chosen, in words and numbers."""
        loss = self._core.loss
        recent = f"{loss:.4g} nats" if self.n_classes else f"a deviation of {np.sqrt(loss):.4g}"
        return (
            f"Trees after {self.steps} examples: {self.n_trees} trees predict, "
            f"{self.memory / 1e6:.1f} MB in all. Recent misses: {recent}."
        )

    def add_class(self) -> None:
        """Let labels be one more from now on: n_classes grows by 1; nothing learned is lost.

        The trees that predict keep the odds of the old classes. The next ensemble is begun at once.
        """
        if self.n_classes is None:
            raise TypeError("numbers have no classes")
        self._grow(n_classes=self.n_classes + 1)

    def _grow(self, **sizes: int) -> None:
        larger = type(self)(**{**self._parameters, **sizes})
        core = _core.Trees(
            len(larger._numbers),
            max(self._core.categories, len(larger.categories)),
            larger.n_classes or 0,
        )
        core.adopt(self._core)
        larger._core = core
        vars(self).update(vars(larger))

    def _fresh(self) -> Self:
        return type(self)(**self._parameters)

    def _combine(
        self, others: Sequence[Self], base: Self | None, changes: Sequence[Change]
    ) -> Self:
        """All rows, and of the ensembles the one that has lost least in recent time.

        A new ensemble is begun. Rows of the base are in each of the others: they count once.
        """
        before = 0 if base is None else base.steps
        width = max(each._core.categories for each in (self, *others))
        pairs = sorted(zip(others, changes, strict=True), key=lambda pair: _rank(pair[0]))
        alike = [_relabelled(other, own) for other, own in pairs if own.rows is None]
        made = self._fresh()
        core = _core.Trees(len(made._numbers), width, made.n_classes or 0)
        core.adopt((alike or [self._core])[0])
        pieces = [Rows.of(self._core).changed(Change(), self.n_features, width)]
        for other, change in pairs[::-1]:
            rows = Rows.of(other._core, other._core.came - (other.steps - before))
            pieces.append(rows.changed(change, self.n_features, width))
        joined = {
            name: np.concatenate([getattr(rows, name).ravel() for rows in pieces])
            for name in Rows._fields
        }
        steps = self.steps + sum(other.steps - before for other in others)
        core.set_rows(joined, steps)
        made._core = core
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {"parameters": self._parameters, "state": self._core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["parameters"])  # type: ignore[misc]
        self._core.restore(_plain(state["state"]))


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """Plain copies: joblib may have mapped arrays into memory."""
    return {
        name: np.array(value) if isinstance(value, np.ndarray) else value
        for name, value in state.items()
    }


def _places(classes: Array) -> NDArray[np.int_]:
    """Where each class goes; those that have no place yet take the places that are left."""
    met = classes.any(axis=0)
    out = classes.argmax(axis=0)
    out[~met] = np.flatnonzero(~classes.any(axis=1))
    return np.asarray(out)


def _relabelled(trees: Trees, change: Change) -> _core.Trees:
    """The compiled part, with its classes in their places in another model, without its rows."""
    core = trees._core
    if change.classes is None:
        return core
    state, to = core.state(), np.argsort(_places(change.classes))
    for name in ("live_value", "live_base", "live_curvature"):
        own = np.asarray(state[name])
        if len(to) > 2:
            state[name] = np.ascontiguousarray(own.reshape(-1, len(to))[:, to]).ravel()
        elif to[0] == 1 and name != "live_curvature":  # one sum stands for both classes
            state[name] = -own
    made = _core.Trees(len(trees._numbers), core.categories, trees.n_classes or 0)
    state |= {"stage": 0, "rows": 0, "live_start": 0, "last": 0, "ready": 0}
    for name in ("x", "keys", "y", "weight", "codes", "F"):
        state[name] = np.asarray(state[name])[:0]
    made.restore(state)
    return made


def _rank(trees: Trees) -> tuple[bool, float, int]:
    """Which of several models goes on: that with the least loss among those that have trees."""
    return trees.n_trees == 0, trees._core.loss, -trees.steps


def n_seen(columns: int) -> int:
    """Columns that trees use: as in core/trees/growing.hpp."""
    return min(columns, 2048)


def _checked_places(places: Any, n_features: int) -> tuple[int, ...]:
    out = tuple(_validate.count(each, "categories", least=0) for each in places)
    if len(set(out)) < len(out) or any(each >= n_features for each in out):
        raise ValueError(f"categories must be different places below {n_features}, got {out}")
    return out
