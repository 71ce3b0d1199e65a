"""Linear regression without knobs: Bayesian regressions over a grid, mixed; see `ensemble`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mixable import _core, _validate
from mixable._types import Array
from mixable.experts.base import Parameter, mixed_draws
from mixable.experts.densities import Components, ends_of, log_densities, quantiles
from mixable.experts.ensemble import Ensemble, Members, as_list, check_experts, checked_grid
from mixable.experts.structure import refuse_if_too_large


class NoiseExpert(NamedTuple):
    """One expert of AutoRidge; `noise` is a variance, as a multiple of its posterior's misses."""

    lam: float
    drift: float
    noise: float
    tail: float


Compiled = _core.AutoRidge


def _checked_grid(grid: Any, name: str) -> tuple[tuple[float, ...], ...]:
    return checked_grid(grid, name, ("lam", "drift"))


def _checked_robust(grid: Any, name: str) -> tuple[tuple[float, ...], ...]:
    settings = list(as_list(grid, name))
    return _checked_grid(settings, name) if settings else ()


def _checked_noises(noises: Any, name: str) -> tuple[float, ...]:
    return tuple(_validate.scale(each, name) for each in as_list(noises, name))


def _checked_tails(tails: Any, name: str) -> tuple[float, ...]:
    return tuple(_checked_tail(each, name) for each in as_list(tails, name))


def _checked_tail(tail: Any, name: str) -> float:
    is_infinite = isinstance(tail, float) and tail == math.inf
    return math.inf if is_infinite else _validate.real(tail, name, above=2)


class AutoRidge(Ensemble):
    """Linear regression with nothing to tune: mean, standard deviation and intervals.

    Bayesian linear regressions over regularisation, drift and noise, mixed by log loss with fixed
    share: the regression twin of AutoGAF. The noise is normal or has heavy tails. A posterior is
    shared by all noise variances, which are multiples of the size that its own misses have had
    (their geometric mean, over the last 1,000 or so); experts are judged from the fifth example on,
    when that size has become steady. From then on the loss in all is at most ln(2 N) above that of
    the best of the N experts that is always active, as in AutoGAF. Sleep (of posteriors) and scale
    are as there. The unit of the targets does not matter.

    Parameters
    ----------
    n_features
        Number of features d. There is no intercept: add a column of ones if you want one.
    grid
        The posteriors, (lam, drift) each, in units of the inputs' mean square and of its inverse
        (drift also of the noise variance).
    noises
        The noise variances, as multiples of the size of the posterior's misses.
    tails
        The distributions of the noise: Student's t with so many degrees of freedom, above 2;
        infinity is the normal distribution. Each posterior is read with each noise and each tail.
    robust
        Further posteriors, (lam, drift) each, to which an example counts the less the farther it is
        from what they expected: outliers among the targets do not move them.
    views, share, sleep, threads, scale
        As in AutoGAF.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=(500, 2)), np.ones(500)])
    >>> y = X @ [1.0, -2.0, 30.0] + 0.5 * rng.normal(size=500)
    >>> f = AutoRidge(n_features=3)
    >>> _ = f.run(X, y)
    >>> round(f.predict([0.0, 0.0, 1.0])), round(f.std([0.0, 0.0, 1.0]), 1)
    (30, 0.5)
    >>> low, high = f.interval([0.0, 0.0, 1.0], level=0.9)
    >>> round(low), round(high)
    (29, 31)
    """

    grid = Parameter(_checked_grid)
    noises = Parameter(_checked_noises)
    tails = Parameter(_checked_tails)
    robust = Parameter(_checked_robust)

    _core: Compiled

    GRID = (
        (1.0, 0.0),
        (0.1, 0.0),
        (0.01, 0.0),
        (1e-3, 0.0),
        (1e-5, 0.0),
        (0.1, 1e-4),
        (0.1, 1e-3),
        (0.1, 0.01),
        (0.01, 0.1),
    )
    NOISES = tuple(2.0**exponent for exponent in np.arange(-8.0, 8.5, 0.5))
    TAILS = (math.inf, 3.0)
    ROBUST = ((1.0, 0.0), (0.1, 0.0), (0.01, 0.0), (0.1, 1e-3))

    def __init__(
        self,
        n_features: int,
        *,
        grid: Iterable[tuple[float, float]] = GRID,
        noises: Iterable[float] = NOISES,
        tails: Iterable[float] = TAILS,
        robust: Iterable[tuple[float, float]] = ROBUST,
        views: Iterable[int] | None = None,
        share: float = 1e-3,
        sleep: bool = True,
        threads: int | None = None,
        scale: float | None = None,
    ) -> None:
        self._keep(locals())
        self._settings, self._readouts = self.grid + self.robust, len(self.noises) * len(self.tails)
        self._kinds = ("full",) * len(self._settings)
        _validate.flag(sleep, "sleep")
        check_experts(self._settings, self.views, readouts=self.noises, name="noises")
        check_experts(self._settings, self.views, readouts=self.tails, name="tails")
        active = [drift for i, (_, drift) in enumerate(self._settings) if i not in self._inactive]
        refuse_if_too_large(self, 2, [("full", drift) for drift in active])
        self._claim_memory(2)
        self._core = _core.AutoRidge(
            self.n_features,
            self._plans(self._settings),
            list(self.noises),
            list(self.tails),
            self.scale or 0.0,
            self.share,
            bool(self.sleep),
            self.threads or 0,
            self._n_views,
        )
        self._say_if_slow()

    @property
    def experts(self) -> list[NoiseExpert]:
        """The experts, in the order of `weights`: each setting at each noise variance."""
        return [
            NoiseExpert(lam=lam, drift=drift, noise=noise, tail=tail)
            for lam, drift in self._settings
            for tail in self.tails
            for noise in self.noises
        ]

    @property
    def _n_experts(self) -> int:
        return len(self._settings) * self._readouts

    def _plans(self, grid: Sequence[tuple[float, ...]]) -> list[tuple[Any, ...]]:
        """Return each setting with whether it is robust, and what all ensembles say of it."""
        plans = super()._plans(grid)
        first = len(self.grid)
        return [(lam, drift, i >= first, *rest) for i, (lam, drift, *rest) in enumerate(plans)]

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters, known = state["parameters"], dict(state["state"])
        if "tails" not in parameters:  # earlier versions had normal noise, and nothing robust
            parameters = {**parameters, "tails": (math.inf,), "robust": ()}
            for i in range(len(parameters["grid"])):
                known[f"{i}.memory2"] = known[f"{i}.memory1"]
        super().__setstate__({**state, "parameters": parameters, "state": known})

    def predict(self, x: ArrayLike) -> float | Array:
        """The forecast's mean for one input (n_features,), a float; for a table, an array (n,)."""
        return self._moment(x, 0)

    def std(self, x: ArrayLike) -> float | Array:
        """The standard deviation of the forecast, as `predict`: of a target to come, noise and all.

        Mean and standard deviation leave out experts that owe their weight to the share alone: a
        huge noise variance, weighted to one in a million, would otherwise be all there is to see.
        `interval` and `log_density` are the mixture's own.
        """
        return self._moment(x, 1)

    def _moment(self, x: ArrayLike, which: int) -> float | Array:
        values = self._core.predict(x)
        return float(values[which]) if values.ndim == 1 else np.ascontiguousarray(values[:, which])

    def interval(self, x: ArrayLike, level: float = 0.9) -> tuple[float | Array, float | Array]:
        """The ends of the central interval that has the target with probability `level`."""
        tails = ends_of(level)
        values = _validate.inputs(x, self._row_length)
        ends = np.vstack([quantiles(self.components(piece), tails) for piece in _pieces(values)])
        if values.ndim == 2:
            return ends[:, 0], ends[:, 1]
        return float(ends[0, 0]), float(ends[0, 1])

    def log_density(self, x: ArrayLike, y: ArrayLike) -> float | Array:
        """The log of the forecast's density at y, of one input or of each row of a table."""
        values = _validate.inputs(x, self._row_length)
        rows = np.atleast_2d(values)
        targets = _validate.targets(np.atleast_1d(np.asarray(y, dtype=object)), len(rows))
        out: list[Array] = []
        for piece in _pieces(values):
            own = targets[sum(map(len, out)) :][: len(piece)]
            out.append(log_densities(self.components(piece), own))
        return np.concatenate(out) if values.ndim == 2 else float(out[0][0])

    def sample(self, x: ArrayLike, n: int = 1, random_state: Any = None) -> Array:
        """Draws (n,) of the mean of the forecast of an input; of a table of m rows, (n, m).

        A draw takes an expert by its weight, and the weights of all features from its posterior.
        Noise is not part of it. Experts that owe their weight to the share alone are left out, as
        in `std`. Otherwise as `GAF.sample`. Before the first miss the noise variance is not known,
        and taken to be 1.

        >>> f = AutoRidge(1)
        >>> _ = f.run([[1.0]] * 100, np.random.default_rng(0).normal(size=100))
        >>> f.sample([[1.0], [2.0]], 1000, random_state=0).std(axis=0).round(1)
        array([0.3, 0.5])
        """
        rows = _validate.inputs(x, self._row_length)
        members, table = self._members(), np.atleast_2d(rows)
        noise = self._noise_variances(table[0], members)

        def draw(expert: int, count: int) -> Array:
            i = expert // self._readouts
            known = members.gaussian(i)
            assert known is not None
            weights = known.draws(count, noise[expert], rng)[:, 0]
            return np.asarray(weights @ self._view(table, i).T)

        count, rng = _validate.count(n, "n"), np.random.default_rng(random_state)
        weights = np.maximum(self.expert_weights - self.share / self._n_experts, 0.0)
        out = mixed_draws(weights, draw, count, rng)
        return out if rows.ndim == 2 else out[:, 0]

    def _noise_variances(self, x: Array, members: Members) -> Array:
        """Those of all experts: the variance of a forecast is s (1 + G), G the input's width."""
        out, active = np.zeros(self._n_experts), np.flatnonzero(self.active)
        out[active] = self._core.components(x)[:, 2]
        for i in {int(each) for each in active // self._readouts}:
            known, z = members.gaussian(i), self._view(x[None], i)[0]
            assert known is not None
            own = slice(i * self._readouts, (i + 1) * self._readouts)
            out[own] /= 1 + z @ np.linalg.solve(known.A[0], z)
        return np.where(np.isfinite(out), out, 1.0)

    def learn(self, x: ArrayLike, y: float, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), target y, its loss multiplied by `weight`."""
        self._core.learn(x, y, weight)

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Means (n,) of the forecasts of each row of X, made before its target; all is checked."""
        return self.run_with_std(X, y, weight)[0]

    def run_with_std(
        self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None
    ) -> tuple[Array, Array]:
        """The same, and the standard deviations (n,)."""
        X = _validate.table(X, self._row_length)
        out = self._core.run(X, _validate.targets(y, len(X)), _validate.weights(weight, len(X)))
        return np.ascontiguousarray(out[:, 0]), np.ascontiguousarray(out[:, 1])

    @property
    def coef(self) -> Array:
        """The mean of the weights (n_features,) under the mixture."""
        return np.asarray(self._core.mean()[0])

    def feature_covariances(self) -> Array:
        """The variances (n_features, 1, 1) of the weights under the mixture."""
        return self._core.feature_covariances()

    def report(self) -> str:
        """What it has chosen, in words and numbers."""
        return "\n".join(self._head_of_report("log"))

    def components(self, rows: Array) -> Components:
        """What the forecasts of the rows of a table are mixtures of."""
        each = np.array([self._core.components(row) for row in rows])
        return Components(
            weight=each[0, :, 0],
            mean=each[:, :, 1],
            scale=np.sqrt(each[:, :, 2]),
            thin=each[0, :, 4],
        )


def _pieces(values: Array) -> Iterator[Array]:
    """Return a table in pieces small enough to hold all experts' forecasts."""
    rows = np.atleast_2d(values)
    return (rows[start : start + 256] for start in range(0, len(rows), 256))
