"""Copies of a forecaster that start afresh at dyadic times: regret on every stretch of a stream.

Hazan, E. and Seshadhri, C. (2009). Efficient learning algorithms for changing environments. ICML.
Freund, Y., Schapire, R., Singer, Y. and Warmuth, M. (1997). Using and combining predictors that
specialize. STOC.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._mergeable import Mergeable
from mixable._types import Array
from mixable.experts.base import to_learn
from mixable.experts.combined import saved_experts

if TYPE_CHECKING:
    from typing_extensions import Self


class _Copy(NamedTuple):
    """A forecaster born at a step (from 1), and the log weights of its lives of 1, 2, 4, ... steps.

    Lives of one birth forecast alike, so one forecaster serves them all. That of birth 0 has one
    life, for ever.
    """

    birth: int
    forecaster: Any
    log_weights: Array


def priors(birth: int) -> Array:
    """Log prior weights of the lives that begin at a step: 1, 2, ... steps long, j = 0, 1, ...

    2^j must divide the step. All priors of all steps sum to 1/2; the other half is for the one that
    lives for ever, of birth 0.

    >>> np.exp(priors(4)).round(4), np.exp(priors(0))
    (array([0.0083, 0.0083, 0.0083]), array([0.5]))
    """
    if birth == 0:
        return np.log([0.5])
    lives = (birth & -birth).bit_length()
    return np.full(lives, -math.log(2 * birth * (birth + 1.0) * lives))


class FreshStarts(Mergeable):
    """A forecaster that competes with the best weights of every stretch of the stream.

    A fresh copy is born at each step, and lives for as many steps as the largest power of two that
    divides the step; one more lives for ever. So at most 2 + log2(n) are alive after n steps: for
    each length 2^j up to n one interval [i 2^j, (i + 1) 2^j), i >= 1, holds the step, and who was
    born when it began is alive for it. They are mixed by their losses; who is inactive counts as
    predicting what the mixture does. So the loss is at most that of the forecaster itself + ln 2,
    and on each interval [i 2^j, (i + 1) 2^j) of steps, counted from 1, at most that of a fresh
    copy, + ln(2 b (b + 1) (1 + v)), b = i 2^j and v the largest j for this b. Over a whole stream
    with S pieces it is `bounds.switching(..., births="dyadic")`, and against weights that move
    `bounds.dynamic(..., births="dyadic")`; with births="every" both are for another mixture. (For
    examples of weight at most 1.)

    Parameters
    ----------
    expert
        A forecaster of labels that has learned nothing. It is copied at each birth, and belongs to
        this one from now on: don't teach it.

    Examples
    --------
    >>> from mixable import Folklore
    >>> X, y = np.ones((200, 1)), np.repeat([0, 1], 100)    # the truth changes in the middle
    >>> f, alone = FreshStarts(Folklore(1, 2)), Folklore(1, 2)
    >>> loss = [-np.log(each.run(X, y)[np.arange(200), y]).sum() for each in (f, alone)]
    >>> [round(float(value)) for value in loss]
    [41, 87]
    >>> f.births
    [0, 128, 192, 200]
    """

    def __init__(self, expert: Any) -> None:
        if getattr(expert, "n_classes", None) is None:
            raise TypeError(f"expert must forecast labels, got {type(expert).__name__}")
        if expert.steps:
            raise ValueError(f"expert must have learned nothing, got {expert.steps} steps")
        self.expert = expert
        self._steps = 0
        self._copies = [_Copy(0, copy.deepcopy(expert), priors(0))]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.expert.n_features)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.expert.n_classes)

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._steps

    @property
    def births(self) -> list[int]:
        """The steps at which those were born that are alive; 0 is the one that lives for ever."""
        return [each.birth for each in self._copies]

    @property
    def weights(self) -> Array:
        """The weight of each that is alive; it sums to 1."""
        return _expert_weights(self._copies)

    @property
    def coef(self) -> Array:
        """The coefficients of those alive, averaged by weight."""
        pairs = zip(self.weights, self._copies, strict=True)
        fresh = np.zeros_like(self.expert.coef)
        return np.asarray(sum((shares * each.forecaster.coef for shares, each in pairs), fresh))

    def predict(self, x: ArrayLike) -> Array:
        """Probabilities (n_classes,) of an input (n_features,); of a table, a row each."""
        inputs, alive = _validate.inputs(x, self.n_features), self._alive()
        return np.asarray(np.tensordot(_expert_weights(alive), _forecasts(alive, inputs), axes=1))

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, and a weight."""
        row, label = _validate.row(x, self.n_features), _validate.label(y, self.n_classes)
        self._step(row, label, _validate.weight(weight))

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Probabilities (n, n_classes) of each row of X, made before its label in y is learned."""
        table = _validate.table(X, self.n_features)
        labels = _validate.labels(y, self.n_classes, len(table))
        weights = _validate.weights(weight, len(table))
        each = np.ones(len(table)) if weights is None else weights
        with np.errstate(over="ignore"):
            longest = table[(table * table).sum(axis=1).argmax()]
        self.expert.predict(longest)  # refused before anything was learned, if it is too large
        rows = zip(table, labels.tolist(), each.tolist(), strict=True)
        return np.array([self._step(*example) for example in rows])

    def add_class(self) -> None:
        """Add a class to every copy."""
        self._grow("add_class")

    def add_features(self, k: int) -> None:
        """Add features to every copy."""
        self._grow("add_features", k)

    def _grow(self, how: str, *arguments: int) -> None:
        grown = copy.deepcopy(self)
        for each in (grown.expert, *(one.forecaster for one in grown._copies)):
            getattr(each, how)(*arguments)
        self.__dict__.update(vars(grown))

    def _alive(self) -> list[_Copy]:
        """Who predicts the next step, the newborn last. Nobody has learned anything yet by it."""
        t, out = self._steps + 1, self._copies[:1]
        for birth, forecaster, log_weights in self._copies[1:]:
            dead = (t - birth).bit_length()  # lives of 2^j <= t - birth steps are over
            lives = (birth & -birth).bit_length()
            if dead < lives:
                left = log_weights[dead - (lives - len(log_weights)) :]
                out.append(_Copy(birth, forecaster, left))
        return [*out, _Copy(t, self.expert, priors(t))]

    def _step(self, x: Array, y: int, weight: float) -> Array:
        alive = self._alive()
        forecasts, shares = _forecasts(alive, x), _expert_weights(alive)
        gains = weight * np.log(forecasts[:, y])
        top = float(gains.max())
        mixed = top + math.log(float(shares @ np.exp(gains - top)))
        alive[-1] = alive[-1]._replace(forecaster=copy.deepcopy(self.expert))
        learners = to_learn([each.forecaster for each in alive], weight)
        alive = [each._replace(forecaster=f) for each, f in zip(alive, learners, strict=True)]
        # The newborn is the least certain, hence the first to refuse.
        for each in reversed(alive):
            each.forecaster.learn(x, y, weight)
        pairs = zip(alive, gains.tolist(), strict=True)
        self._copies = [
            each._replace(log_weights=each.log_weights + gain - mixed) for each, gain in pairs
        ]
        self._steps += 1
        return np.asarray(shares @ forecasts)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        return f"FreshStarts({self.expert!r})"

    def __getstate__(self) -> dict[str, Any]:
        births, experts, weights = zip(*self._copies, strict=True)
        known = {"births": list(births), "weights": list(weights)}
        return {"experts": [self.expert, *experts], "steps": self._steps, **known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        template, *experts = saved_experts(state, "forecaster")
        self.__init__(template)  # type: ignore[misc]
        steps = _validate.count(state["steps"], "steps", least=0, most=_validate.MOST_STEPS)
        births = [_validate.count(birth, "birth", least=0, most=steps) for birth in state["births"]]
        sizes = {(each.n_features, each.n_classes) for each in (template, *experts)}
        if len(sizes) > 1 or births != sorted(set(births)) or births[:1] != [0]:
            raise ValueError("the saved copies do not belong together")
        self._copies = []
        for birth, forecaster, logs in zip(births, experts, state["weights"], strict=True):
            most = len(priors(birth))
            if not isinstance(logs, np.ndarray) or not 0 < logs.size <= most:
                raise ValueError("the saved weights of a copy are not those of its lives")
            weights = _validate.saved(logs, (logs.size,), "weights")
            self._copies.append(_Copy(birth, forecaster, weights))
        self._steps = steps


def _forecasts(alive: list[_Copy], x: Array) -> Array:
    return np.array([each.forecaster.predict(x) for each in alive])


def _expert_weights(alive: list[_Copy]) -> Array:
    logs = np.array([np.logaddexp.reduce(each.log_weights) for each in alive])
    return np.asarray(np.exp(logs - np.logaddexp.reduce(logs)))
