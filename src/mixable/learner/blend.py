"""Experts of different kinds, each with inputs of its own, under one judge."""

from __future__ import annotations

import copy
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable._types import Array
from mixable.experts import Experts
from mixable.kernels import Nystroem
from mixable.learner import exchange
from mixable.learner.inputs import Inputs, ScaledInputs
from mixable.learner.kernel_inputs import KernelInputs
from mixable.learner.parts import largest_row
from mixable.learner.shapes import ShapedInputs
from mixable.paper.bounds.parameter_free import fallback_plan
from mixable.pool import DRIFT, SMOOTHING
from mixable.records.rows import Rows

Records: TypeAlias = Array | Rows
"""Numbers as a row (d,) or a table (n, d), NaN for what is missing; or with sparse features."""

LAM, SHARE = 1.0, 1e-3  # of the judge
TIE = 50.0
"""How firmly the weights sum to 1 at first, in units of LAM: that sum is learned last."""

FALLBACK = ("class rates", "gradients of raw inputs", "Folklore of raw inputs")
MOST_FEATURES = 1 << 18  # sparse features that the fallback knows: those that come first


@runtime_checkable
class Plan(Protocol):
    """What a blend asks of its design."""

    standardize: bool

    @property
    def parts(self) -> list[Any]:
        """The design of each expert."""

    @property
    def names(self) -> list[str]:
        """What each expert is called."""

    @property
    def threads(self) -> int | None:
        """Threads that share a table; None: as many as are usual."""

    @property
    def least_gain(self) -> float:
        """Experts rest that gain less than this share of the first one's loss."""

    @property
    def takes_features(self) -> bool:
        """Whether records may have sparse features."""


class Blend(Experts):
    """A forecaster on raw records. One record goes through one compiled call: core/pooled.hpp.

    The first expert is always awake. The others rest when they gain little over it. Beside all of
    them stands the fallback, which sees the raw inputs, never rests, and carries the bound
    (core/fallback.hpp, `bounds.default`). Blends from files of version 0.2 or earlier have none.
    """

    def __init__(self, design: Plan, n_features: int, n_classes: int) -> None:
        self.design = design
        parts = design.parts
        super().__init__([part.forecaster(n_features, n_classes) for part in parts], "blend")
        self.inputs: list[Inputs] = [part.inputs(n_features) for part in parts]
        self._recent = exchange.checked_rows(None, n_features)
        self._core = self._new_core()
        self._fallback: _core.Fallback | None = self._new_fallback()

    def _new_fallback(self) -> _core.Fallback:
        return new_fallback(self.n_features, self.n_classes, self.design.takes_features)

    def _new_core(self) -> _core.Judge:
        N, K = len(self.experts), int(self.experts[0].n_classes)
        self._pooled: _core.Pooled | None = None
        return _core.Judge(N, K, LAM, DRIFT, SMOOTHING, SHARE, self.design.least_gain, TIE)

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._core.steps

    @property
    def n_features(self) -> int:
        """Number of numbers in a record."""
        return self.inputs[0].n_features

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.experts[0].n_classes)

    @property
    def is_resting(self) -> bool:
        """Whether it is its first expert, for the time being."""
        return self._core.is_resting

    @property
    def trust(self) -> Array:
        """The trust in the pool, in the pool that forgets, and in each expert.

        Together with `fallback_trust` it sums to 1.
        """
        trust = (1 - sum(self.fallback_trust.values())) * self._core.trust()
        return np.concatenate([[trust[:2].sum(), trust[2:4].sum()], trust[4:]])

    @property
    def fallback_trust(self) -> dict[str, float]:
        """The trust in what stands beside the pool; the pool has the rest. Empty if none does."""
        if self._fallback is None:
            return {}
        return dict(zip(FALLBACK, self._fallback.trust()[1:].tolist(), strict=True))

    @property
    def weights(self) -> Array:
        """The weight of each expert's logarithm in the pool that forgets nothing."""
        return np.asarray(self._core.mean()[0])

    def report(self) -> str:
        """What it has settled on, in words."""
        pool, forgetting, *each = self.trust
        names = self.design.names
        weights = ", ".join(f"{name} {w:.2f}" for name, w in zip(names, self.weights, strict=True))
        alone = ", ".join(f"{name} {t:.0%}" for name, t in zip(names, each, strict=True))
        resting = f" All but the {names[0]} one rest." if self.is_resting else ""
        beside = ", ".join(f"{name} {t:.0%}" for name, t in self.fallback_trust.items())
        return (
            f"Pool of {len(each)} experts after {self.steps} examples.{resting}\n"
            f"Weights of their logarithms: {weights}.\n"
            f"Trust: pool {pool:.0%}, the pool that forgets {forgetting:.0%}; alone {alone}."
            + (f"\nBeside the pool: {beside}." if beside else "")
        )

    @property
    def _row_length(self) -> int:
        return max(self.n_features, 1)

    @staticmethod
    def _largest_square() -> float:
        return np.inf

    def predict(self, x: Records) -> Array:
        """Probabilities (n_classes,) of a record; of a table, a row each."""
        p = self._compiled().predict(numbers_of(x), sparse_of(x))
        return p[0] if x.ndim == 1 else p

    def learn(self, x: Records, y: int, weight: float = 1.0) -> None:
        """Learn one record."""
        label, own = _validate.label(y, self.n_classes), _validate.weight(weight)
        numbers, before = numbers_of(x), self.steps
        kept = x.kept if isinstance(x, Rows) else None
        if kept is not None:  # its label may be a new one
            kept = self.kept_now(kept[0], self.n_features)[None]
        self._compiled().learn(numbers, sparse_of(x), label, own, kept)
        if not before % exchange.EVERY or not self.steps % exchange.PERIOD:
            self._keep(numbers, before, np.array([own]))

    def run(self, X: Records, y: NDArray[np.int_], weight: Array | None = None) -> Array:
        """Probabilities of each record, made before its label is learned."""
        if len(X) <= self._until_review():
            return self._run_part(X, y, weight)
        _validate.labels(y, self.n_classes, len(X))
        if weight is not None:
            _validate.example_weights(weight, "weight")
        out, at = [], 0
        while at < len(X):
            part = slice(at, at + self._until_review())
            out.append(self._run_part(X[part], y[part], None if weight is None else weight[part]))
            at = part.stop
        return np.concatenate(out)

    def _run_part(self, X: Records, y: NDArray[np.int_], weight: Array | None) -> Array:
        numbers, before = numbers_of(X), self.steps
        try:
            return self._compiled().run(numbers, sparse_of(X), y, weight)
        finally:  # also Ctrl-C, and a record that is refused
            self._keep(numbers[: self.steps - before], before, weight)

    def check(self, X: Records) -> None:
        """Refuse records with numbers that are too large; standardised ones never are."""
        if not self.design.standardize and len(X):
            largest = largest_row(numbers_of(X))
            self.predict(X[largest : largest + 1])

    def follow(
        self,
        X: Records,
        order: NDArray[np.int_],
        codes: NDArray[np.int_],
        kept: Array | None = None,
    ) -> tuple[Array, int, str | None]:
        """Steps with records, one after the other; see core/follow.hpp.

        Returns the forecasts, how many steps were done, and why not all.
        """
        out, at, reason = np.zeros((len(order), self.n_classes)), 0, None
        numbers, sparse = numbers_of(X), sparse_of(X)
        learned = np.flatnonzero(codes >= 0)
        while at < len(order) and reason is None:
            left, before = learned[learned >= at], self.steps
            most = self._until_review()
            part = slice(at, left[most - 1] + 1 if len(left) >= most else len(order))
            try:
                out[part], done, reason = self._compiled().follow(
                    numbers, sparse, order[part], codes[part], kept
                )
                at += done
            finally:
                rows = order[left[: self.steps - before]]
                self._keep(numbers[np.where(rows < 0, -1 - rows, rows)], before, None)
        return out, at, reason

    def kept(self, x: Records) -> Array:
        """What is kept of one record until its label comes; see core/pooled.hpp."""
        kept: Array = self._compiled().kept(numbers_of(x), sparse_of(x))[0]
        return kept

    def kept_now(self, z: Array, n_features: int) -> Array:
        """What was kept of a record that had so many numbers, for the pool as it is by now."""
        # A number that came since then was missing; who has other classes by now is asked again.
        said, length = z[n_features:], self.kept_length - self.n_features
        said = said if len(said) == length else np.full(length, -1.0)
        return np.concatenate([z[:n_features], np.zeros(self.n_features - n_features), said])

    @property
    def kept_length(self) -> int:
        """Numbers that are kept of one record."""
        return self._compiled().kept_length

    def _until_review(self) -> int:
        return exchange.PERIOD - self.steps % exchange.PERIOD

    def _keep(self, learned: Array, before: int, weight: Array | None) -> None:
        """Keep some of the rows just learned; at the end of a period, exchange landmarks."""
        if self.is_resting:
            self._recent = self._recent[:0]
            return
        self._recent = exchange.with_rows(self._recent, learned, before, weight)
        if len(learned) and not self.steps % exchange.PERIOD:
            parts = exchange.without_unused(self.inputs, self.experts, self._recent)
            # All at once, whenever Ctrl-C comes.
            vars(self).update(
                parts, _recent=self._recent[:0], **({"_pooled": None} if parts else {})
            )

    def _compiled(self) -> _core.Pooled:
        if self._pooled is None:
            pairs = zip(self.inputs, self.experts, strict=True)
            experts = [_parts(inputs, expert) for inputs, expert in pairs]
            threads = self.design.threads or 0
            self._pooled = _core.Pooled(experts, self._core, self._fallback, threads)
        return self._pooled

    def _grow(self, how: str, *arguments: int) -> None:
        inputs = self.inputs
        if how == "add_features":
            inputs = [part.with_features(self.n_features + arguments[0]) for part in inputs]
        super()._grow(how, *arguments)
        if how == "add_features":
            self._recent = exchange.more_columns(self._recent, arguments[0])
        self.inputs = inputs
        core = self._new_core()
        core.adopt(self._core)
        self._core = core
        if self._fallback is not None:
            fallback = self._new_fallback()
            fallback.adopt(self._fallback)
            self._fallback = fallback

    def __getstate__(self) -> dict[str, Any]:
        return {
            "design": self.design,
            "n_features": self.n_features,
            "experts": self.experts,
            "inputs": [part.state() for part in self.inputs],
            "state": self._core.state(),
            "recent": self._recent,
            "fallback": None if self._fallback is None else self._fallback.state(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        design, experts, inputs = state["design"], list(state["experts"]), list(state["inputs"])
        n_features = _validate.count(state["n_features"], "n_features", least=0, most=10**6)
        if not isinstance(design, Plan):
            raise TypeError(f"a blend needs a design, got {design!r:.80}")
        lengths = {len(design.parts), len(experts), len(inputs)}
        pairs = list(zip(design.parts, experts, strict=False))
        if len(lengths) > 1 or not all(part.fits(each, n_features) for part, each in pairs):
            raise ValueError("the experts of the saved blend are not those of its design")
        if len({expert.n_classes for expert in experts}) > 1:
            raise ValueError("the experts of the saved blend have different classes")
        self.design, self.experts = design, experts
        self.inputs = [part.inputs(n_features) for part in design.parts]
        for part, known in zip(self.inputs, inputs, strict=True):
            part.restore(arrays(known))
        self._recent = exchange.checked_rows(state.get("recent"), n_features)
        self._core = self._new_core()
        self._core.restore(arrays(state["state"]))
        known, self._fallback = state.get("fallback"), None
        if known is not None:
            self._fallback = self._new_fallback()
            self._fallback.restore(arrays(known))
        # The others may have rested, or come from a learner of numbers (`widening`).
        if experts[0].steps != self.steps:
            raise ValueError("the experts of the saved blend have learned different examples")

    def __deepcopy__(self, memo: dict[int, Any]) -> Blend:
        made = object.__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made


def new_fallback(n_features: int, n_classes: int, takes_features: bool) -> _core.Fallback:
    """What stands beside a pool; Folklore is a part of it where it is quick."""
    most = MOST_FEATURES if takes_features else 0
    plan = None if takes_features else fallback_plan(n_features, n_classes)
    lam, beta = (0.0, 0.0) if plan is None else (plan.lam, plan.beta)
    return _core.Fallback(n_features, n_classes, most, lam, beta)


def arrays(state: dict[str, Any]) -> dict[str, Any]:
    """Plain copies: joblib may have mapped arrays into memory."""
    return {
        name: np.array(value) if isinstance(value, np.ndarray) else value
        for name, value in state.items()
    }


def _parts(inputs: Inputs, expert: Any) -> Any:
    """An expert as its compiled parts."""
    if isinstance(inputs, ShapedInputs):
        return inputs.scaler, inputs.shapes, expert._core
    if isinstance(inputs, KernelInputs):
        (nystroem,) = inputs.maps
        assert isinstance(nystroem, Nystroem)
        beside = inputs.plan.beside
        return inputs.scaled.scaler, nystroem._core, inputs.amplitude, beside, expert._core
    assert isinstance(inputs, ScaledInputs)
    return inputs.scaler, None, 1.0, True, expert._core


def numbers_of(x: Records) -> Array:
    """The numbers of records, as a table."""
    X = x.dense if isinstance(x, Rows) else x
    return np.ascontiguousarray(X if X.ndim == 2 else X[None], dtype=np.float64)


def sparse_of(x: Records) -> Any:
    """The sparse features of records, crosses, and what is shown of numbers; None without any."""
    if not isinstance(x, Rows):
        return None
    values, crossed = (np.asarray(v, np.float64) for v in (x.values, x.cross_values))
    return (x.indptr, x.keys, values), (x.cross_indptr, x.cross_keys, crossed), x.shown
