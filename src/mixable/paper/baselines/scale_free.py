"""Logistic regression that is told nothing: neither a norm of the weights nor one of the inputs.

After Mayo, J. J., Hadiji, H. and van Erven, T. (2022). Scale-free unconstrained online learning for
nonlinear losses. COLT. The construction is this library's own; docs: Proofs has the proof.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array
from mixable.experts.base import MulticlassForecaster, each, to_learn
from mixable.experts.structure import refuse_if_too_large
from mixable.paper.baselines.folklore import Folklore
from mixable.paper.bounds.parameter_free import GROWTH, scale_free_plan

if TYPE_CHECKING:
    from typing_extensions import Self

SHORTEST = 1e-60  # inputs below say nothing: their squares would leave double precision
LONGEST = 1e60


class _Now(NamedTuple):
    """Who predicts the next example: the unit, the experts, and the weights, 1/K's first."""

    unit: float
    experts: list[Folklore]
    log_weights: Array


class ScaleFree(MulticlassForecaster):
    """Multiclass logistic regression with a bound, and nothing to know in advance.

    `GAF.from_theory` must be told the norm B of the comparator and that of the inputs, R. This one
    is told neither, nor a horizon. Its regret (`bounds.scale_free`) is that of a forecaster made
    for B R, up to a constant factor, + 2 ln ln(B R), for all B at once; for B = 0 it is ln 2.
    Multiplying all inputs by a constant changes nothing.

    It is a mixture of predicting 1/K and of `Folklore` forecasters for B R = 1/2, 1, 2, 4, ... A
    larger one is born later, when its bound is worth the examples it missed: after n examples about
    log2(n) of them run. An input longer than all before raises the lam of all of them, which costs
    nothing but the comparator's lam B^2. No sampling: the bound covers what runs, for any number of
    classes.

    Parameters
    ----------
    n_features, n_classes
        Numbers of features d and of classes K >= 2.

    Notes
    -----
    Theory's constants are cautious. On benign streams `AutoGAF` has a lower loss.

    Examples
    --------
    >>> X, y = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 3
    >>> f, g = ScaleFree(2, 3), ScaleFree(2, 3)
    >>> round(float(abs(f.run(X, y) - g.run(1e9 * X, y)).max()), 6)
    0.0
    >>> f.products
    [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
    """

    def __init__(self, n_features: int, n_classes: int) -> None:
        self._keep(locals())
        refuse_if_too_large(self, self.n_classes, [("full", 0.0)])
        self._steps = 0
        self._now = _Now(0.0, [], np.log([0.5]))

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._steps

    @property
    def unit(self) -> float:
        """What the lengths of inputs are measured by; 0 before the first that is not zero."""
        return self._now.unit

    @property
    def products(self) -> list[float]:
        """The B R of each of the experts that were born."""
        return [self._plan(i).product for i in range(len(self._now.experts))]

    @property
    def weights(self) -> Array:
        """The weight of 1/K, then in each of the experts that were born; it sums to 1."""
        return _shares(self._now.log_weights)

    @property
    def coef(self) -> Array:
        """Weights (n_classes, n_features), averaged by weight; they sum to zero over classes."""
        total = np.zeros((self.n_classes, self.n_features))
        for shares, expert in zip(self.weights[1:], self._now.experts, strict=True):
            total += shares * expert.coef
        return total

    def predict(self, x: ArrayLike) -> Array:
        """Probabilities (n_classes,) of an input (n_features,); of a table, a row each.

        Pure and deterministic: it changes nothing, and the same call gives the same bits.
        """
        inputs = _validate.inputs(x, self.n_features)
        _validate.size(inputs, self._largest_square(), "x")
        return each(self._forecast, inputs)

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, and a weight."""
        row, label = _validate.row(x, self.n_features), _validate.label(y, self.n_classes)
        _validate.size(row, self._largest_square(), "x")
        self._step(row, label, _validate.weight(weight))

    def _step(self, x: Array, y: int, weight: float) -> Array:
        """Learn an example; return the forecast that was made of it before."""
        now = self._for(x)
        forecasts = self._forecasts(now.experts, x)
        log_weights = now.log_weights + weight * np.log(forecasts[:, y])
        # Those not yet born count as predicting what the mixture does: the sum stays what it was.
        log_weights += np.logaddexp.reduce(now.log_weights) - np.logaddexp.reduce(log_weights)
        experts = to_learn(now.experts, weight)
        for expert in experts:
            expert.learn(x, y, weight)
        self._now = now._replace(experts=experts, log_weights=log_weights)
        self._steps += 1
        return np.asarray(_shares(now.log_weights) @ forecasts)

    def _plan(self, i: int) -> Any:
        return scale_free_plan(i, self.n_features, self.n_classes)

    def _for(self, x: Array) -> _Now:
        """Who predicts this input: all that were born by now, in a unit that it fits in."""
        length = float(np.sqrt(x @ x))
        unit, experts, log_weights = self._now
        if length > max(unit, SHORTEST):
            longer = GROWTH * length
            experts = [_raised(expert, (longer / unit) ** 2) for expert in experts]
            unit = longer
        d, K = self.n_features, self.n_classes
        while unit > 0 and (plan := self._plan(len(experts))).birth <= self._steps + 1:
            born = Folklore(d, K, lam=plan.factor * unit**2, beta=plan.beta)
            experts = [*experts, born]
            log_weights = np.append(log_weights, math.log(plan.prior))
        return _Now(unit, experts, log_weights)

    def _forecasts(self, experts: list[Folklore], x: Array) -> Array:
        even = np.full(self.n_classes, 1 / self.n_classes)
        return np.array([even, *(expert.predict(x) for expert in experts)])

    def _forecast(self, x: Array) -> Array:
        now = self._for(x)
        return np.asarray(_shares(now.log_weights) @ self._forecasts(now.experts, x))

    def _largest_square(self) -> float:
        return LONGEST**2

    def _grow(self, **sizes: int) -> None:
        larger = type(self)(**{**self._parameters, **sizes})  # refused if it is too large
        grown = [_shallow(expert) for expert in self._now.experts]
        for expert in grown:
            expert._grow(**sizes)
        self._parameters = larger._parameters
        self._now = self._now._replace(experts=grown)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        unit, experts, log_weights = self._now
        known = {"unit": unit, "experts": experts, "log_weights": log_weights}
        return {"parameters": self._parameters, "steps": self._steps, **known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["parameters"])  # type: ignore[misc]
        steps = _validate.count(state["steps"], "steps", least=0, most=_validate.MOST_STEPS)
        unit = _validate.real(state["unit"], "unit", least=0, most=GROWTH * LONGEST)
        experts = list(state["experts"])
        sizes = self.n_features, self.n_classes
        for expert in experts:
            if not isinstance(expert, Folklore):
                raise TypeError("an expert of the saved forecaster is not a Folklore")
            if (expert.n_features, expert.n_classes) != sizes:
                raise ValueError("an expert of the saved forecaster has other sizes")
        if experts and not unit > 0:
            raise ValueError("the saved forecaster has experts and no unit")
        log_weights = _validate.saved(state["log_weights"], (len(experts) + 1,), "weights")
        self._steps, self._now = steps, _Now(unit, experts, log_weights)


def _raised(expert: Folklore, times: float) -> Folklore:
    """The same expert with a lam so many times as large from now on: A gains, A theta stays."""
    lam = expert.lam * times
    A, V = expert._core.precision(), expert._core.mean()  # type: ignore[union-attr]
    more = A + (lam - expert.lam) * np.eye(len(A))
    inverse = np.linalg.inv(more)
    k, d = V.shape
    state = {
        "steps": expert.steps,
        "V": np.linalg.solve(more, A @ V.ravel()).reshape(k, d),
        "A": more,
        "A_inverse": 0.5 * (inverse + inverse.T),
        "regulariser": lam,
        "pending": 0,
        "curvature_pending": 0,
        "since_refresh": 0,
        "X": np.empty((0, d)),
        "P": np.empty((0, k * d)),
        "T": np.empty((0, 0)),
        "h": np.empty((1, 0)),
        "curvature_x": np.empty((0, d)),
        "curvature_c": np.empty((0, k * k)),
    }
    raised = object.__new__(Folklore)
    raised.__setstate__({"parameters": {**expert._parameters, "lam": lam}, "state": state})
    return raised


def _shallow(expert: Folklore) -> Folklore:
    """A copy that can grow without the expert: its core is replaced, not changed."""
    made = object.__new__(Folklore)
    vars(made).update(vars(expert))
    return made


def _shares(logs: Array) -> Array:
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())
