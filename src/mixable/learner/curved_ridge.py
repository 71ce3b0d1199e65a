"""Linear regression and regression on kernel features, mixed: what GAFRegressor is by default."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from mixable import _validate
from mixable._types import Array
from mixable.forecasters import AutoRidge
from mixable.forecasters.densities import Components, ends_of, log_densities, quantiles
from mixable.learner.inputs import Pending
from mixable.learner.kernel_inputs import KernelInputs
from mixable.learner.usefulness import PERIOD, Usefulness

SHARE = 1e-3  # of the trust, that is spread evenly at each step
BLOCK = 64  # steps between two reviews of AutoRidge: who sleeps changes there only


class CurvedRidge:
    """Two AutoRidge, one on the rows as they come, one on kernel features of them besides.

    Each forecast is a mixture of normal and t-distributions. The two are mixed by their log
    densities, with fixed share: over n rows it is at most ln 2 + 0.001 n nats above the better one.
    As long as the curved one does not help, it rests: then its features are not computed, and a row
    takes no longer than it takes the linear one.

    A row is what `ScaledInputs` makes; `inputs` sees the last of its columns, which are scaled once
    and for all. The linear one sees the first of them, usually all.
    """

    def __init__(
        self, linear: AutoRidge, curved: AutoRidge, inputs: KernelInputs, *, rests: bool
    ) -> None:
        self.linear, self.curved, self.inputs = linear, curved, inputs
        self.odds = 0.0  # the logarithm of the trust in the curved one, over that in the linear one
        self.usefulness = Usefulness()
        self.rests = _validate.flag(rests, "rests")
        self._staged: tuple[Array, Array, Pending] | None = None
        self._note_who_sleeps()

    @property
    def n_features(self) -> int:
        """Numbers in each view of a row."""
        return self.linear.n_features

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self.linear.steps

    @property
    def is_resting(self) -> bool:
        """Whether the linear forecaster is all there is, for a time."""
        return self.usefulness.left > 0

    @property
    def trust(self) -> float:
        """The trust in the curved forecaster, 0 while it rests."""
        return 0.0 if self.is_resting else _sigmoid(self.odds)

    @property
    def _row_length(self) -> int:
        return max(self.linear._row_length, self.inputs.n_features + self.inputs.intercept)

    def _largest_square(self) -> float:
        return self.linear._largest_square()

    def predict(self, x: Array) -> float | Array:
        """The mean of the forecast, of a row or of each row of a table."""
        return _as_asked(x, self._moments(x)[:, 0])

    def std(self, x: Array) -> float | Array:
        """The standard deviation of the forecast, as `AutoRidge.std`."""
        return _as_asked(x, self._moments(x)[:, 1])

    def interval(self, x: Array, level: float = 0.9) -> tuple[float | Array, float | Array]:
        """The ends of the central interval that has the target with probability `level`."""
        ends = ends_of(level)
        low, high = np.vstack([quantiles(each, ends) for each in self._components(x)]).T
        return _as_asked(x, low), _as_asked(x, high)

    def log_density(self, x: Array, y: Array) -> float | Array:
        """The log of the forecast's density at y, of a row or of each row of a table."""
        targets, pieces = np.atleast_1d(y), self._components(x)
        out = [log_densities(each, targets[i * BLOCK :][:BLOCK]) for i, each in enumerate(pieces)]
        return _as_asked(x, np.concatenate(out))

    def learn(self, x: Array, y: float, weight: float = 1.0) -> None:
        """Learn one row, its loss multiplied by `weight`."""
        before = self.steps
        if self.is_resting:
            self.linear.learn(self._own(x), y, weight)
            return self._review()
        rows, pending = self._stage(x)
        try:
            self.linear.learn(self._own(x), y, weight)
        finally:  # also Ctrl-C, which may come when the row has been learned
            self._staged = None
            if self.steps > before:
                self.curved.learn(rows, y, weight)
                self.inputs.commit(pending, 1 if weight > 0 else 0)
        self._judge(self.linear._core.score, self.curved._core.score, weight)
        self._review()

    def run_with_std(self, X: Array, y: Array, weight: Array | None = None) -> tuple[Array, Array]:
        """Means and standard deviations (n,) of each row, made before its target is learned."""
        X = _validate.table(X, self._row_length)
        targets, weights = _validate.targets(y, len(X)), _validate.weights(weight, len(X))
        self._staged = None
        out, at = np.empty((len(X), 2)), 0
        while at < len(X):
            period = PERIOD if self.is_resting else BLOCK
            part = slice(at, min(at + period - self.steps % period, len(X)))
            weight_of_part = None if weights is None else weights[part]
            out[part] = self._run_part(X[part], targets[part], weight_of_part)
            at = part.stop
        return out[:, 0].copy(), out[:, 1].copy()

    def _run_part(self, X: Array, y: Array, weight: Array | None) -> Array:
        """Moments (n, 2) of rows between which nobody falls asleep or wakes."""
        if self.is_resting:
            out = self.linear._core.run(self._own(X), y, weight)[:, :2]
            self._review()
            return out
        rows, pending = self.inputs.stage(self._raw(X), weight)
        before, curved = self.steps, np.empty((0, 3))
        try:
            linear = self.linear._core.run(self._own(X), y, weight)
        finally:  # also Ctrl-C, and a row that is refused
            done = self.steps - before
            if done:
                weight_of_done = None if weight is None else weight[:done]
                curved = self.curved._core.run(rows[:done], y[:done], weight_of_done)
                self.inputs.commit(pending, done)
        trust = np.empty(len(X))
        for i, (own, other) in enumerate(zip(linear[:, 2], curved[:, 2], strict=True)):
            trust[i] = self.trust
            self._judge(float(own), float(other), 1.0 if weight is None else float(weight[i]))
        self._review()
        return _mixed(linear, curved, trust)

    def _judge(self, linear: float, curved: float, weight: float) -> None:
        """Compare the log scores of a target; 0 is none, in the first few steps."""
        if linear == 0 or curved == 0 or weight == 0:
            return
        before = self.trust
        gain = min(max(curved - linear, -1e3), 1e3)
        self.usefulness.note(math.log1p(before * math.expm1(gain)) if gain < 500 else gain)
        odds = min(max(self.odds + weight * gain, -500.0), 500.0)
        trust = (1 - SHARE) * _sigmoid(odds) + SHARE / 2
        self.odds = math.log(trust / (1 - trust))

    def _review(self) -> None:
        """At fixed steps, decide whether the curved one rests, and which features are needed."""
        if self.rests and self.steps % PERIOD == 0:
            self.usefulness.review()
        if self.steps % BLOCK == 0:
            self._note_who_sleeps()

    def _note_who_sleeps(self) -> None:
        """Let the inputs compute no kernel features that nobody sees."""
        views = self.curved.views or ()
        awake = np.flatnonzero(self.curved.awake.reshape(len(views), -1).any(axis=1))
        seen = {views[member] for member in awake}
        asleep = frozenset(range(len(self.inputs.maps))) - seen
        if asleep != self.inputs.asleep:
            self.inputs.asleep, self._staged = asleep, None

    def _own(self, x: Array) -> Array:
        """The columns that the linear one sees."""
        length = self.linear._row_length
        return x if x.shape[-1] == length else np.ascontiguousarray(x[..., :length])

    def _raw(self, x: Array) -> Array:
        """The columns that the kernels see."""
        return np.ascontiguousarray(x[..., x.shape[-1] - self.inputs.n_features :])

    def _stage(self, x: Array) -> tuple[Array, Pending]:
        """Rows of the curved one; those that were predicted last need not be made again."""
        staged = self._staged
        if staged is not None and np.array_equal(staged[0], x):
            return staged[1], staged[2]
        return self.inputs.stage(self._raw(x))

    def _moments(self, x: Array) -> Array:
        """Mean and standard deviation (n, 2)."""
        linear = np.atleast_2d(self.linear._core.predict(self._own(x)))
        if self.is_resting:
            return linear
        if x.ndim == 1:
            rows, pending = self._stage(x)
            self._staged = x.copy(), rows, pending
        else:
            rows = self.inputs.transform(self._raw(x))
        curved = np.atleast_2d(self.curved._core.predict(rows))
        return _mixed(linear, curved, np.full(len(linear), self.trust))

    def _components(self, x: Array) -> list[Components]:
        """What the forecast is a mixture of, for pieces of a table."""
        rows, out = np.atleast_2d(x), []
        for start in range(0, len(rows), BLOCK):
            piece = rows[start : start + BLOCK]
            linear = self.linear.components(self._own(piece))
            if not self.is_resting:
                curved = self.curved.components(self.inputs.transform(self._raw(piece)))
                linear = linear.scaled(1 - self.trust).beside(curved.scaled(self.trust))
            out.append(linear)
        return out

    def add_features(self, k: int, *, to_linear: bool = True) -> None:
        """Let rows have `k` more features from now on, at the end of each view."""
        inputs = self.inputs.with_features(self.inputs.n_features + k)
        linear, curved = copy.deepcopy(self.linear), copy.deepcopy(self.curved)
        if to_linear:
            linear.add_features(k)
        curved.add_features(k)
        self.linear, self.curved, self.inputs, self._staged = linear, curved, inputs, None
        self._note_who_sleeps()

    def report(self) -> str:
        """What it has settled on, in words and numbers."""
        gammas = ", ".join(f"{each.gamma:.3g}" for each in self.inputs.maps)
        state = "rests" if self.is_resting else f"has {self.trust:.0%} of the trust"
        return (
            f"Linear: {self.linear.report()}\n"
            f"Curved, with {self.inputs.plan.n_components} features of each rbf kernel (gamma "
            f"{gammas}): it {state}.\n{self.curved.report()}"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {
            "linear": self.linear,
            "curved": self.curved,
            "plan": self.inputs.plan,
            "n_features": self.inputs.n_features,
            "intercept": bool(self.inputs.intercept),
            "maps": self.inputs.state(),
            "odds": self.odds,
            "usefulness": self.usefulness.state(),
            "rests": self.rests,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        linear, curved, plan = state["linear"], state["curved"], state["plan"]
        inputs = kernel_inputs(plan, state["n_features"], intercept=state["intercept"])
        if not isinstance(linear, AutoRidge) or not isinstance(curved, AutoRidge):
            raise TypeError("a CurvedRidge consists of two AutoRidge")
        maps = {name: np.array(values) for name, values in state["maps"].items()}
        inputs.restore(maps)
        views = curved.views or ()
        fits = curved._row_length == inputs.row_length and len(set(views)) == plan.views
        width = inputs.n_features + inputs.intercept
        if not fits or linear.n_features > width:
            raise ValueError("linear and curved forecasters and their inputs do not go together")
        self.__init__(linear, curved, inputs, rests=state["rests"])  # type: ignore[misc]
        self.odds = _validate.real(state["odds"], "odds", least=-10, most=10)
        self.usefulness = Usefulness(**state["usefulness"])


def kernel_inputs(plan: Any, n_features: Any, *, intercept: bool) -> KernelInputs:
    """Kernel features of columns that have been scaled already."""
    d = _validate.count(n_features, "n_features", least=0)
    return KernelInputs(
        plan, d, intercept=_validate.flag(intercept, "intercept"), standardize=False
    )


def _sigmoid(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _as_asked(x: Array, values: Array) -> float | Array:
    """A number for a row, an array for a table."""
    return float(values[0]) if x.ndim == 1 else np.ascontiguousarray(values)


def _mixed(linear: Array, curved: Array, trust: Array) -> Array:
    """Moments (n, 2) of the mixture; what the trust may owe to the share alone is left out."""
    own = np.maximum(1 - trust - SHARE, 0.0)
    other = np.maximum(trust - SHARE, 0.0) / (own + np.maximum(trust - SHARE, 0.0))
    mean = linear[:, 0] + other * (curved[:, 0] - linear[:, 0])
    out = np.column_stack([mean, np.zeros(len(mean))])
    for part, weight in ((linear, 1 - other), (curved, other)):
        counts = weight > 0  # 0 times an infinite deviation is none
        variance = part[counts, 1] ** 2 + (part[counts, 0] - mean[counts]) ** 2
        out[counts, 1] += weight[counts] * variance
    out[:, 1] = np.sqrt(out[:, 1])
    return out
