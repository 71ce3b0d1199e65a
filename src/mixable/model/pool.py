"""A pool: experts of different kinds, each with inputs of its own, under one judge.

Every model is one, for labels and for numbers; a linear model is a pool of one expert, without a
judge. What happens to a record, and in which order, is compiled: core/pool/pool.hpp.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable._types import Array
from mixable.experts import Trees
from mixable.experts.combined import Experts, before_growth
from mixable.experts.densities import Components, ends_of, log_densities, quantiles
from mixable.experts.pool import DRIFT, SMOOTHING, judge_state
from mixable.model.compiled import Records, arrays, compiled_expert, numbers_of, sparse_of
from mixable.model.fallback import new_fallback
from mixable.model.inputs import Inputs
from mixable.model.kernel_inputs import KernelInputs
from mixable.model.made import FREQUENCIES, INDICATORS, NUMBERS, MadeColumns, indicators, seen
from mixable.model.parts import largest_row
from mixable.model.plan import Plan
from mixable.model.selection import Selection
from mixable.model.shapes import Stage
from mixable.model.trees import RawInputs
from mixable.records.rows import Rows

LAM, QUICK, SHARE = 10.0, 3.0, 1e-3
"""Of the judge of labels: lam of its two pools, the second of which forgets; the fixed share."""

TIE = 16.0
"""How firmly the weights sum to 1 at first, in units of lam: that sum is learned last."""

FALLBACK = ("class frequencies", "gradients of raw inputs", "Folklore of raw inputs")
PIECE = 256  # rows whose predictive distributions are computed together


class RecordPool(Experts):
    """A forecaster on raw records. One record goes through one compiled call.

    The first expert is always active. Others are not while the pool can do without them
    (core/pool/activity.hpp). Beside the experts on labels stands the fallback, which sees the raw
    inputs, is always active, and carries the bound (core/pool/fallback.hpp, `bounds.default`).
    Pools of files of version 0.2 or earlier have none.
    """

    def __init__(
        self, design: Plan, n_features: int, n_classes: int | None, expert: Any = None
    ) -> None:
        self.design, self._width = design, n_features
        self.made = self._new_made(n_features, n_classes)
        experts = [expert] if expert is not None else self._new_experts(n_classes)
        super().__init__(experts, "blend")
        self.inputs: list[Inputs] = self._new_inputs()
        self.stage = None if design.stage is None else Stage(design.stage, n_features)
        self.selection = Selection.of(design.parts)
        self._stop: int | None = None  # steps until weights of columns may be due for review
        self._core = self._new_core()
        self._fallback = self._new_fallback()
        if self.selection is not None:  # until something is known of columns
            self._core.set_active(self.selection.place, False)

    def _new_made(self, n_features: int, n_classes: int | None) -> MadeColumns | None:
        """What makes columns of categories, if an expert sees such."""
        parts = self.design.parts
        if all(seen(part) == NUMBERS for part in parts):
            return None
        return MadeColumns(parts, self._numbers(n_features), n_classes)

    def _numbers(self, n_features: int) -> int:
        """Numbers that experts can see: those of records, after what a stage says."""
        stage = self.design.stage
        return n_features if stage is None else stage.said + n_features

    def _columns(self) -> list[int]:
        """How many columns each expert sees."""
        parts, stage, n_features = self.design.parts, self.design.stage, self._width
        if stage is None:
            columns = [n_features] * len(parts)
        else:
            columns = [stage.columns(part, n_features) for part in parts]
        picks = [None] * len(parts) if self.made is None else self.made.picks
        return [n if own is None else len(own) for n, own in zip(columns, picks, strict=True)]

    def _new_experts(self, n_classes: int | None) -> list[Any]:
        pairs = zip(self.design.parts, self._columns(), strict=True)
        return [part.forecaster(columns, n_classes) for part, columns in pairs]

    def _new_inputs(self) -> list[Inputs]:
        pairs = zip(self.design.parts, self._columns(), strict=True)
        return [self._inputs_of(part, columns) for part, columns in pairs]

    def _inputs_of(self, part: Any, columns: int) -> Any:
        """New inputs; columns of a stage are scaled already."""
        scaled = {} if self.design.stage is None else {"scaled": True}
        return part.inputs(columns, **scaled)

    def _new_fallback(self) -> _core.Fallback | None:
        if self.n_classes is None or not self.design.is_pooled:
            return None
        return new_fallback(self.n_features, self.n_classes, self.design.takes_features)

    def _new_core(self) -> Any:
        self._pool: Any = None
        N, K, least_gain = len(self.experts), self.n_classes, self.design.least_gain
        if not self.design.is_pooled:
            return None
        if K is None:
            return _core.NumberJudge(N, 1, least_gain)
        first = self.design.first_weights
        return _core.Judge(N, K, LAM, DRIFT, SMOOTHING, SHARE, least_gain, TIE, QUICK, first)

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return int((self._core or self.experts[0]).steps)

    @property
    def n_features(self) -> int:
        """Number of numbers in a record."""
        return self._width

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for numbers."""
        return getattr(self.experts[0], "n_classes", None)

    @property
    def active(self) -> list[int]:
        """The places of the experts that are active, for the time being."""
        return [0] if self._core is None else list(self._core.active)

    @property
    def expert_weights(self) -> Array:
        """Of labels, the weight of the pool, of the pool that forgets, and of each expert.

        Together with `fallback_weights` it sums to 1. Of numbers, the weight of each expert.
        """
        if self._core is None:
            return np.ones(1)
        if self.n_classes is None:
            return np.asarray(self._core.expert_weights())
        shares = (1 - sum(self.fallback_weights.values())) * self._core.expert_weights()
        return np.concatenate([[shares[:2].sum(), shares[2:4].sum()], shares[4:]])

    @property
    def fallback_weights(self) -> dict[str, float]:
        """The weight of what stands beside the pool; the pool has the rest. Empty without any."""
        if self._fallback is None:
            return {}
        return dict(zip(FALLBACK, self._fallback.expert_weights()[1:].tolist(), strict=True))

    @property
    def weights(self) -> Array:
        """The weight of each expert's logarithm in the pool that forgets nothing."""
        return np.asarray(self._core.mean()[0])

    def report(self) -> str:
        """What it has chosen, in words."""
        names = self.design.names
        if self._core is None:
            return str(self.experts[0].report())
        inactive = [name for place, name in enumerate(names) if place not in self.active]
        resting = f" Inactive: {', '.join(inactive)}." if inactive else ""
        if self.n_classes is None:
            shares = ", ".join(
                f"{name} {t:.0%}" for name, t in zip(names, self.expert_weights, strict=True)
            )
            stage = "" if self.stage is None else f"\n{self.stage.report()}"
            stage += "" if self.made is None else f"\n{self.made.report()}"
            each = "\n".join(
                f"{name}: {expert.report()}"
                for name, expert in zip(names, self.experts, strict=True)
            )
            head = f"Pool of {len(names)} experts after {self.steps} examples.{resting}"
            return f"{head}\nTrust: {shares}.{stage}\n{each}"
        pool, forgetting, *each_weight = self.expert_weights
        weights = ", ".join(f"{name} {w:.2f}" for name, w in zip(names, self.weights, strict=True))
        alone = ", ".join(f"{name} {t:.0%}" for name, t in zip(names, each_weight, strict=True))
        beside = ", ".join(f"{name} {t:.0%}" for name, t in self.fallback_weights.items())
        return (
            f"Pool of {len(names)} experts after {self.steps} examples.{resting}\n"
            f"Weights of their logarithms: {weights}.\n"
            f"Weight: pool {pool:.0%}, the pool that forgets {forgetting:.0%}; alone {alone}."
            + (f"\nBeside the pool: {beside}." if beside else "")
            + ("" if self.made is None else f"\n{self.made.report()}")
        )

    def predict(self, x: Records) -> Any:
        """Probabilities (n_classes,) of a record, or a mean; of a table, a row each."""
        p = self._compiled().predict(numbers_of(x), sparse_of(x))
        if self.n_classes is None:
            return float(p[0, 0]) if x.ndim == 1 else np.ascontiguousarray(p[:, 0])
        return p[0] if x.ndim == 1 else p

    def std(self, x: Records) -> Any:
        """The standard deviation of a number's forecast; of a table, of each row."""
        p = self._compiled().predict(numbers_of(x), sparse_of(x))
        return float(p[0, 1]) if x.ndim == 1 else np.ascontiguousarray(p[:, 1])

    def learn(self, x: Records, y: Any, weight: float = 1.0) -> None:
        """Learn one record."""
        if self.n_classes is not None:
            y = _validate.label(y, self.n_classes)
        kept = x.kept if isinstance(x, Rows) else None
        if kept is not None:  # its label may be a new one
            kept = self.kept_now(kept[0], self.n_features)[None]
        own = _validate.weight(weight)
        with self._growing():
            self._compiled().learn(numbers_of(x), sparse_of(x), y, own, kept)

    def run(self, X: Records, y: NDArray[Any], weight: Array | None = None) -> Array:
        """Forecasts of each record, made before its outcome is learned."""
        if self.n_classes is not None:
            _validate.labels(y, self.n_classes, len(X))
        if weight is not None:
            _validate.example_weights(weight, "weight")
        out = np.empty((0, 0))
        done, n = 0, -1
        while done < len(X) or n < 0:
            some = slice(done, len(X))
            own = None if weight is None else weight[some]
            with self._growing():
                rest = X[some] if done else X
                P, n = self._compiled().run(numbers_of(rest), sparse_of(rest), y[some], own)
            out = np.concatenate([out[:done], P]) if done else P
            done += n
        return out

    def check(self, X: Records) -> None:
        """Refuse records with numbers that are too large; standardised ones never are."""
        if not self.design.standardize and len(X):
            largest = largest_row(numbers_of(X))
            try:
                self.predict(X[largest : largest + 1])
            except ValueError as error:
                raise ValueError(f"{error}".replace("x is", f"X[{largest}] is", 1)) from None

    def follow(
        self, X: Records, order: Any, y: Any, kept: Any = None, level: float | None = None
    ) -> tuple[Array, int, str | None]:
        """Steps with records, one after the other: `follow` of pool_model.hpp.

        Returns the forecasts (of numbers with a `level`, if there is a judge, intervals too), how
        many steps were done, and why not all.
        """
        out = np.empty((0, 0))
        numbers, sparse, done, n, reason = numbers_of(X), sparse_of(X), 0, -1, None
        while (done < len(order) and reason is None) or n < 0:
            steps = order[done:], y[done:]
            with self._growing():
                P, n, reason = self._compiled().follow(numbers, sparse, *steps, kept, level or 0.0)
            out = np.concatenate([out[:done], P]) if done else P
            done += n
        return out, done, reason

    def finish(self) -> None:
        """Let active trees be built to the end, on all rows that they keep."""
        for place in self.active:
            expert = self.experts[place]
            if isinstance(expert, Trees):
                expert.finish()
        self._pool = None  # it may know what they said before

    @contextmanager
    def _growing(self) -> Iterator[None]:
        """What may give indicators: afterwards experts have room for them, also after Ctrl-C.

        Where the weights of columns are to be reviewed, they are.
        """
        try:
            yield
        finally:
            if self.made is not None and self.made.is_to_grow:
                self._see_indicators(self.made)
            if self.selection is not None and self.steps >= (self._stop or 0):
                if self.selection.wait(self) == 0 and self.selection.go_on(self):
                    self._pool = None
                self._set_stop()

    def _set_stop(self) -> None:
        """Let the pool stop where weights of columns are to be reviewed.

        Examples of weight 0 do not count there, so it may be too early, and is saved: blocks of
        rows end there.
        """
        if self.selection is None:
            return
        due = self.steps + self.selection.wait(self)
        if self._stop is None or self._stop <= self.steps:
            self._stop = due
        if self._pool is not None:
            self._pool.stop_at(self._stop)

    def _see_indicators(self, made: MadeColumns) -> None:
        """Let experts see the indicators that were given."""
        more = indicators(made.room, made.next_room)
        parts, experts, inputs = self.design.parts, list(self.experts), list(self.inputs)
        for i, part in enumerate(parts):
            if seen(part) != INDICATORS:
                continue
            columns = inputs[i].n_features + len(more)
            old = inputs[i]
            if isinstance(old, KernelInputs) and old.would_dilute(columns):
                fresh = self._inputs_of(part, columns)
                fresh.scaled = old.scaled.with_features(columns)
                inputs[i], experts[i] = fresh, part.forecaster(columns, self.n_classes)
            else:
                inputs[i], experts[i] = old.with_features(columns), before_growth(experts[i])
                experts[i].add_features(len(more))
        self.made = made.grown(parts, INDICATORS, more)
        self.experts, self.inputs, self._pool = experts, inputs, None

    def kept(self, x: Records) -> Array:
        """What is kept of one record until its outcome comes; see core/pool/pool.hpp."""
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
        return int(self._compiled().kept_length)

    def rows(self, place: int, x: Records) -> Array:
        """What the forecaster of an expert sees: where its forecasts begin, then rows.

        Without columns where its rows are sparse.
        """
        rows: Array = self._compiled().rows(place, numbers_of(x), sparse_of(x))
        return rows

    def interval(self, x: Records, level: float = 0.9) -> tuple[Any, Any]:
        """The ends of the central interval that has the number with probability `level`."""
        ends = ends_of(level)
        if self._core is None:  # one expert
            found = np.vstack([quantiles(each, ends) for each in self._components(x)])
        else:
            found = self._compiled().interval(numbers_of(x), sparse_of(x), float(level))
        low, high = found.T
        return (float(low[0]), float(high[0])) if x.ndim == 1 else (low.copy(), high.copy())

    def log_density(self, x: Records, y: Array) -> Array:
        """The log of the forecast's density at y, of each row of a table."""
        pieces = self._components(x)
        cut = [y[at : at + PIECE] for at in range(0, len(y), PIECE)]
        return np.concatenate([log_densities(*pair) for pair in zip(pieces, cut, strict=True)])

    def _components(self, x: Records) -> list[Any]:
        """What the forecasts are mixtures of, for pieces of a table."""
        rows = x[None] if isinstance(x, np.ndarray) and x.ndim == 1 else x
        pieces = [rows[at : at + PIECE] for at in range(0, len(rows), PIECE)]
        if self._core is None:  # one expert
            return [self.experts[0].components(self.rows(0, each)[:, 1:].copy()) for each in pieces]
        out = []
        for each in pieces:
            known = self._compiled().components(numbers_of(each), sparse_of(each))
            weight, mean, scale, thin = np.moveaxis(known, -1, 0)
            out.append(Components(weight=weight[0], mean=mean, scale=scale, thin=thin[0]))
        return out

    def _compiled(self) -> Any:
        if self._pool is None:
            pairs = zip(self.inputs, self.experts, strict=True)
            stage = None if self.stage is None else self.stage.compiled()
            made = self.made
            picks = [None] * len(self.experts) if made is None else made.picks
            experts = [
                compiled_expert(inputs, expert, stage, own)
                for (inputs, expert), own in zip(pairs, picks, strict=True)
            ]
            threads = 1 if stage else self.design.threads or 0
            kind = _core.NumberPool if self.n_classes is None else _core.LabelPool
            columns = (None, 0) if made is None else (made.core, made.room)
            self._pool = kind(experts, self._core, self._fallback, threads, *columns)
            self._set_stop()
        return self._pool

    def pool_of_one(self, inputs: Any, expert: Any) -> Any:
        """An expert by itself, compiled: it sees numbers alone."""
        kind = _core.NumberPool if self.n_classes is None else _core.LabelPool
        return kind([compiled_expert(inputs, expert, None, None)], None, None, 1)

    def _grow(self, how: str, *arguments: int) -> None:
        inputs, stage, width, made = self.inputs, self.stage, self._width, self.made
        parts, K = self.design.parts, self.n_classes
        if how == "add_features":
            width += arguments[0]
            inputs = [self._wider(part, arguments[0]) for part in inputs]
            stage = None if stage is None else stage.with_features(width)
            if made is not None:
                more = range(self._numbers(self._width), self._numbers(width))
                made = made.grown(parts, NUMBERS, more)
        super()._grow(how, *arguments)
        if how == "add_class" and made is not None and K is not None:
            made = made.with_class(parts, K)
            places = [i for i, part in enumerate(parts) if seen(part) == FREQUENCIES]
            inputs = [self._wider(own, 1) if i in places else own for i, own in enumerate(inputs)]
            for i in places:
                self.experts[i].add_features(1)
        self.inputs, self.stage, self._width, self.made = inputs, stage, width, made
        self._pool = None
        if self.selection is not None:
            self.selection.drop()
        if self.n_classes is None or self._core is None:
            return
        core, fallback = self._new_core(), self._new_fallback()
        core.adopt(self._core)
        self._core = core
        if fallback is not None and self._fallback is not None:
            fallback.adopt(self._fallback)
            self._fallback = fallback

    def _wider(self, inputs: Inputs, k: int) -> Inputs:
        """Inputs for `k` more numbers; with a stage, not all experts see numbers."""
        sees = isinstance(inputs, KernelInputs | RawInputs) or getattr(inputs, "anchored", False)
        if self.stage is not None and not sees:
            return inputs
        wider: Inputs = inputs.with_features(inputs.n_features + k)
        return wider

    def _grows(self, expert: Any, how: str) -> bool:
        """With a stage, the first expert sees no numbers."""
        return how != "add_features" or self.stage is None or expert is not self.experts[0]

    def __getstate__(self) -> dict[str, Any]:
        return {
            "design": self.design,
            "n_features": self.n_features,
            "experts": self.experts,
            "inputs": [part.state() for part in self.inputs],
            "state": self._core.state(),
            "fallback": None if self._fallback is None else self._fallback.state(),
            "stage": None if self.stage is None else self.stage.state(),
            "made": None if self.made is None else self.made.state(),
            "selection": None if self.selection is None else self.selection.state(),
            "stop": self._stop,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        design, experts, inputs = state["design"], list(state["experts"]), list(state["inputs"])
        n_features = _validate.count(state["n_features"], "n_features", least=0, most=10**6)
        if not (isinstance(design, Plan) and design.is_pooled):
            raise TypeError(f"a blend needs a design, got {design!r:.80}")
        self.design, self._width = design, n_features
        lengths, stage = {len(design.parts), len(experts), len(inputs)}, design.stage
        classes = {getattr(expert, "n_classes", None) for expert in experts}
        if len(classes) > 1:
            raise ValueError("the experts of the saved blend have different classes")
        self.made = self._new_made(n_features, *classes)
        if self.made is not None:
            self.made.restore(state["made"], design.parts, self._numbers(n_features), *classes)
        each = zip(design.parts, experts, self._columns(), strict=False)
        if len(lengths) > 1 or not all(part.fits(own, columns) for part, own, columns in each):
            raise ValueError("the experts of the saved blend are not those of its design")
        self.experts = experts
        self.inputs = self._new_inputs()
        for part, known in zip(self.inputs, inputs, strict=True):
            part.restore(arrays(known))
        self.stage = None
        if stage is not None:
            self.stage = Stage(stage, n_features)
            self.stage.restore(state["stage"])
        self._core = self._new_core()
        self._core.restore(judge_state(arrays(state["state"]), len(experts)))
        known, self._fallback = state.get("fallback"), None
        if known is not None:
            self._fallback = self._new_fallback()
            assert self._fallback is not None
            self._fallback.restore(arrays(known))
        stop = state.get("stop")
        self._stop = None if stop is None else _validate.count(stop, "stop", least=0)
        self.selection = Selection.of(design.parts)
        if self.selection is not None:
            i = self.selection.place
            self.selection.restore(
                state.get("selection"), design.parts[i], self._columns()[i], *classes
            )
        # The others may have rested, or come from a learner of numbers (`widening`).
        stages = [] if self.stage is None else [self.stage.sparse]
        if any(each.steps != self.steps for each in (experts[0], *stages)):
            raise ValueError("the experts of the saved blend have learned different examples")

    def __deepcopy__(self, memo: dict[int, Any]) -> RecordPool:
        made = object.__new__(type(self))
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made
