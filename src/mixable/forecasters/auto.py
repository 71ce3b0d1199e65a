"""Forecasters without knobs: a whole grid of settings at once, mixed by how well each has foretold.

Vovk, V. (1990). Aggregating strategies. COLT. Herbster, M. and Warmuth, M. (1998). Tracking the best expert. Machine Learning 32.
Freund, Y., Schapire, R., Singer, Y. and Warmuth, M. (1997). Using and combining predictors that specialize. STOC.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _core, _validate, integrals
from mixable.bounds import doubling_radii, theory_lam
from mixable.forecasters.base import Array, CompiledForecaster, CompiledMulticlassForecaster, Parameter, refuse_if_too_large
from mixable.losses import Logistic

SENTINEL_DRIFT = 0.01
"""A posterior with this drift never sleeps: it notices when a stream begins to change."""


class Expert(NamedTuple):
    """One expert of AutoGAF. lam and drift are in units of the inputs' mean square and of its inverse."""

    kind: str
    lam: float
    beta: float
    drift: float
    alpha: float


class NoiseExpert(NamedTuple):
    """One expert of AutoRidge; `noise` is a variance, as a multiple of the size that the posterior's misses have had."""

    lam: float
    drift: float
    noise: float


class Ensemble(CompiledForecaster):
    """What AutoGAF and AutoRidge share: posteriors that sleep, and the trust in their read-outs."""

    views = Parameter["tuple[int, ...] | None"]()
    share = Parameter[float]()
    sleep = Parameter[bool]()
    threads = Parameter[int]()
    scale = Parameter["float | None"]()

    @property
    def experts(self) -> Sequence[NamedTuple]:
        """The experts, in the order of `weights`."""
        raise NotImplementedError

    @property
    def _row_length(self) -> int:
        return self.n_features * self._n_views

    @property
    def _n_views(self) -> int:
        return 1 if self.views is None else max(self.views) + 1

    def _plans(self, grid: Sequence[tuple[float, ...]]) -> list[tuple[Any, ...]]:
        """Return each setting with its view, and whether it is the sentinel: the one whose drift is nearest to SENTINEL_DRIFT."""
        distance = [abs(math.log(drift / SENTINEL_DRIFT)) if drift > 0 else math.inf for *_, drift in grid]
        nearest = int(np.argmin(distance))
        views = self.views or (0,) * len(grid)
        return [
            (*setting, view, position == nearest and setting[-1] > 0)
            for position, (setting, view) in enumerate(zip(grid, views, strict=True))
        ]

    @property
    def weights(self) -> Array:
        """The trust in each expert; all together 1. Those asleep keep the trust they had."""
        return np.asarray(self._core.weights()[0])

    @property
    def awake(self) -> NDArray[np.bool_]:
        """Which experts are awake."""
        return np.asarray(self._core.weights()[1] > 0)

    @property
    def input_scale(self) -> float:
        """The mean square that inputs are measured by: the parameter `scale`, or what the first input said; 0 before there was one."""
        return float(self._core.scale)

    def _head_of_report(self, loss: str) -> list[str]:
        """Return the first lines of a report: who leads, and who is awake."""
        awake, trust = self.awake, self.weights * self.awake
        trust = trust / trust.sum()
        order = np.argsort(-trust, kind="stable")
        lines = [
            f"{type(self).__name__} after {self.steps} examples of {self.n_features} features: "
            f"{awake.sum()} of {len(awake)} experts are awake.",
            f"Inputs are measured by a mean square of {self.input_scale:.4g}. Trust is by {loss} loss, with a share of {self.share:g}.",
            "trust  expert",
        ]
        return lines + [f"{trust[i]:5.1%}  {_in_words(self.experts[i])}" for i in order[:5] if trust[i] > 0]


class AutoGAF(Ensemble, CompiledMulticlassForecaster):
    """GAF with nothing to tune: a mixture over regularisation, curvature, hedge width and drift that is never far from the best of them.

    Log loss is mixable, so mixing N experts costs at most ln(N) nats in all. The posteriors of the grid run in one compiled loop, each
    read at several hedge widths; a small share of the trust moves on at each step, so that another expert may take over when the stream
    changes.

    Parameters
    ----------
    n_features, n_classes
        Sizes d and K >= 2. There is no intercept: add a column of ones if you want one.
    grid
        The posteriors, (lam, beta, drift) each; lam in units of the inputs' mean square, drift in units of its inverse.
    views
        Which view each posterior of the grid sees: inputs may consist of several descriptions of n_features numbers each, one after the
        other. None: there is one.
    alphas
        The hedge widths at which each posterior is read.
    guard
        The product B R that the guard stands for: a Folklore expert with the constants of theory, always awake, which gives AutoGAF the
        bound `bounds.auto_gaf`. None: no guard.
    share
        The share of the trust that is spread evenly at each step. 0 is Bayes' rule.
    sleep
        Whether experts with negligible trust are put to sleep, so that the cost falls to that of the few that matter; see Notes.
    threads
        Threads that `run`, and `predict` on tables, may use. Single steps use one.
    scale
        The mean square of the inputs. None: that of the non-zero entries of the first input that is not zero. Multiplying all inputs by
        a constant then changes nothing. (Should the median of the first few, up to 16, be 10,000 times larger or smaller, that is taken
        instead, and those few are learned again.)
    mu, integrator, seed
        As in GAF.

    Notes
    -----
    *Sleep.* Nobody sleeps in the first 16 D steps, D = (K-1) d (at least 512, at most 2,048). Then, every 64 steps, the roll is called.
    Posteriors with less than 2% of the trust go to sleep unless they have lately been catching up; so do, whatever their trust, all but
    four, and from step 4,096 on all but the leader. Three never sleep: the guard, the most trusted one that does not drift, and a
    sentinel that does. Of a posterior's read-outs, all but the best two rest. Everyone wakes when a posterior that drifts more takes the
    lead; besides, one sleeper in turn every 1,024 steps, for 512 steps, and all read-outs for 64. What a sleeper knew is forgotten: it
    starts from what the leader has learned, with its own lam in place of the leader's.

    *The guarantee.* A sleeper counts as predicting what the mixture predicts. So against an expert that never sleeps, as the guard, the
    regret is at most ln(N) - n ln(1 - share), whoever else sleeps; with `sleep=False` and `share=0` the loss is at most that of the best
    expert + ln(N). Examples of weight above 1, and those before a change of the scale, are outside these statements.

    *Large inputs.* A posterior for which an example would use up double precision lets it pass; the others learn it.

    Examples
    --------
    >>> from mixable.datasets import load_vehicle
    >>> from mixable.losses import log_loss
    >>> X, y, _ = load_vehicle()
    >>> order = np.random.default_rng(0).permutation(len(y))
    >>> X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])[order]
    >>> f = AutoGAF(n_features=19, n_classes=4)
    >>> round(float(log_loss(f.run(X, y[order]), y[order]).mean()), 2)
    0.53
    >>> f.experts[int(f.weights.argmax())].alpha
    4.0
    """

    grid = Parameter["tuple[tuple[float, float, float], ...]"]()
    alphas = Parameter["tuple[float, ...]"]()
    guard = Parameter["float | None"]()
    mu = Parameter[float]()
    integrator = Parameter["integrals.Integrator | str | None"]()
    seed = Parameter[int]()

    GRID = (
        (1.0, 1.0, 0.0),
        (0.1, 1.0, 0.0),
        (0.01, 1.0, 0.0),
        (1e-3, 1.0, 0.0),
        (1e-5, 1.0, 0.0),
        (0.1, 1.0, 1e-4),
        (0.1, 1.0, 1e-3),
        (0.1, 0.3, 1e-3),
        (0.1, 1.0, 0.01),
        (0.01, 1.0, 0.1),
    )

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        grid: Iterable[tuple[float, float, float]] = GRID,
        alphas: Iterable[float] = (1.0, 4.0, 16.0, math.inf),
        views: Iterable[int] | None = None,
        guard: float | None = 10.0,
        share: float = 1e-3,
        sleep: bool = True,
        threads: int = 1,
        scale: float | None = None,
        mu: float = 1e-6,
        integrator: integrals.Integrator | str | None = None,
        seed: int = 0,
    ) -> None:
        self._parameters = {
            "n_features": _validate.count(n_features, "n_features"),
            "n_classes": _validate.count(n_classes, "n_classes", least=2),
            "grid": _checked_grid(grid, ("lam", "beta", "drift")),
            "alphas": tuple(_validate.real(alpha, "alphas", above=0, infinite=True) for alpha in _list(alphas, "alphas")),
            "guard": None if guard is None else _validate.scale(guard, "guard"),
            **_checked_options(views, share, sleep, threads, scale),
            "mu": _validate.real(mu, "mu", least=0, most=0.5),
            "integrator": integrator,
            "seed": _validate.count(seed, "seed", least=0),
        }
        _check_experts(self.grid, self.views, self.alphas, "alphas")
        d, K = self.n_features, self.n_classes
        refuse_if_too_large(self, K - 1, K - 1, *[drift for *_, drift in self.grid], *[0.0] * (self.guard is not None))
        self._core = _core.AutoGAF(
            d,
            K,
            self._plans(self.grid),
            list(self.alphas),
            () if self.guard is None else (float(d), Logistic(K).constants(self.guard, 1.0).beta),
            self.mu,
            self.scale or 0.0,
            self.share,
            self.sleep,
            self.threads,
            integrals.ladder(integrator, K, self.seed),
            self._n_views,
        )

    @classmethod
    def from_theory(
        cls,
        n_features: int,
        n_classes: int,
        *,
        bound: float,
        max_radius: float,
        constants: str = "paper",
        threads: int = 1,
        integrator: integrals.Integrator | str | None = None,
    ) -> AutoGAF:
        """Return the mixture of the paper's forecasters for doubling radii, so that nobody needs to know the comparator's norm.

        For inputs of norm at most `bound`, its regret to every comparator of norm B <= `max_radius` is at most the least of Theorem 1's
        bounds for a radius of at least B, + ln N: `bounds.adaptive`, up to the integrator's error. The paper's own bound needs B in
        advance. No share, no sleep, no guard. Classes added later keep the parameters that were made for fewer.

        >>> f = AutoGAF.from_theory(18, 4, bound=1.0, max_radius=8.0)
        >>> [round(beta, 3) for _, beta, _ in f.grid], f.alphas
        ([0.456, 0.371, 0.271, 0.176, 0.103], (1.0,))
        """
        d, K = _validate.count(n_features, "n_features"), _validate.count(n_classes, "n_classes", least=2)
        dim = d * (K if constants == "paper" else K - 1)
        values = [Logistic(K).constants(radius, bound, kind=constants) for radius in doubling_radii(max_radius, bound)]
        grid = [(theory_lam(dim, value) / bound**2, value.beta, 0.0) for value in values]
        return cls(
            d,
            K,
            grid=grid,
            alphas=(1.0,),
            guard=None,
            share=0.0,
            sleep=False,
            threads=threads,
            scale=bound**2,
            mu=0.0,
            integrator=integrator,
        )

    @property
    def experts(self) -> list[Expert]:
        """The experts, in the order of `weights`: each setting of the grid at each hedge width, then the guard."""
        out = [Expert("GAF", lam, beta, drift, alpha) for lam, beta, drift in self.grid for alpha in self.alphas]
        if self.guard is not None:
            out.append(Expert("guard", float(self.n_features), Logistic(self.n_classes).constants(self.guard, 1.0).beta, 0.0, math.nan))
        return out

    def report(self) -> str:
        """What it has settled on, in words and numbers.

        >>> f = AutoGAF(2, 2)
        >>> _ = f.run(np.random.default_rng(0).normal(size=(600, 2)), [0, 1] * 300)
        >>> print(f.report())  # doctest: +ELLIPSIS
        AutoGAF after 600 examples of 2 features: ... experts are awake.
        ...
        """
        lines = self._head_of_report("log")
        trust = self.weights * self.awake
        trust = trust / trust.sum()
        experts = self.experts
        drifting = sum(w for w, expert in zip(trust, experts, strict=True) if expert.drift > 0)
        guard = trust[-1] if self.guard is not None else 0.0
        bare = sum(w for w, expert in zip(trust, experts, strict=True) if expert.alpha == math.inf)
        lines.append(
            "The stream looks "
            + (
                "stationary"
                if drifting < 0.1
                else "as if it changed"
                if drifting > 0.9
                else "undecided between standing still and changing"
            )
            + f": {drifting:.0%} of the trust is in experts that expect drift."
        )
        lines.append(f"Hedging: {bare:.0%} of the trust is in the plain plug-in, {guard:.0%} in the guard, the rest in hedged forecasts.")
        return "\n".join(lines)


class AutoRidge(Ensemble):
    """Linear regression with nothing to tune: mean, standard deviation and intervals, one example at a time.

    Bayesian linear regressions over regularisation, drift and noise variance, mixed by Gaussian log loss with fixed share: the regression
    twin of AutoGAF. A posterior is shared by all noise variances, which are multiples of the size that its own misses have had (their
    geometric mean, over the last 1,000 or so). Sleep (of posteriors) and scale are as in AutoGAF. The unit of the targets does not matter.

    Parameters
    ----------
    n_features
        Size d. There is no intercept: add a column of ones if you want one.
    grid
        The posteriors, (lam, drift) each, in units of the inputs' mean square and of its inverse (drift also of the noise variance).
    noises
        The noise variances, as multiples of the size of the posterior's misses.
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

    grid = Parameter["tuple[tuple[float, float], ...]"]()
    noises = Parameter["tuple[float, ...]"]()

    GRID = ((1.0, 0.0), (0.1, 0.0), (0.01, 0.0), (1e-3, 0.0), (1e-5, 0.0), (0.1, 1e-4), (0.1, 1e-3), (0.1, 0.01), (0.01, 0.1))
    NOISES = tuple(2.0**exponent for exponent in np.arange(-8.0, 8.5, 0.5))

    def __init__(
        self,
        n_features: int,
        *,
        grid: Iterable[tuple[float, float]] = GRID,
        noises: Iterable[float] = NOISES,
        views: Iterable[int] | None = None,
        share: float = 1e-3,
        sleep: bool = True,
        threads: int = 1,
        scale: float | None = None,
    ) -> None:
        self._parameters = {
            "n_features": _validate.count(n_features, "n_features"),
            "grid": _checked_grid(grid, ("lam", "drift")),
            "noises": tuple(_validate.scale(noise, "noises") for noise in _list(noises, "noises")),
            **_checked_options(views, share, sleep, threads, scale),
        }
        _check_experts(self.grid, self.views, self.noises, "noises")
        refuse_if_too_large(self, 1, 1, *[drift for _, drift in self.grid])
        self._core = _core.AutoRidge(
            self.n_features,
            self._plans(self.grid),
            list(self.noises),
            self.scale or 0.0,
            self.share,
            self.sleep,
            self.threads,
            self._n_views,
        )

    @property
    def experts(self) -> list[NoiseExpert]:
        """The experts, in the order of `weights`: each setting of the grid at each noise variance."""
        return [NoiseExpert(lam, drift, noise) for lam, drift in self.grid for noise in self.noises]

    def predict(self, x: ArrayLike) -> float | Array:
        """The forecast's mean for one input (n_features,), a float; for a table (n, n_features), an array (n,), from the present state."""
        return self._moment(x, 0)

    def std(self, x: ArrayLike) -> float | Array:
        """The standard deviation of the forecast, as `predict`: of a target to come, noise and all.

        Mean and standard deviation leave out experts that owe their trust to the share alone: a huge noise variance, trusted to one in a
        million, would otherwise be all there is to see. `interval` and `log_density` are the mixture's own.
        """
        return self._moment(x, 1)

    def _moment(self, x: ArrayLike, which: int) -> float | Array:
        values = self._core.predict(x)
        return float(values[which]) if values.ndim == 1 else np.ascontiguousarray(values[:, which])

    def interval(self, x: ArrayLike, level: float = 0.9) -> tuple[float | Array, float | Array]:
        """The central interval that holds the target with probability `level` under the mixture: its lower and upper ends, as `predict`."""
        level = _validate.real(level, "level", above=0, most=1 - 1e-12)
        values = _validate.inputs(x, self._row_length)
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        ends = np.vstack([_quantiles(*self._components(piece), tails) for piece in _pieces(values)])
        return (ends[:, 0], ends[:, 1]) if values.ndim == 2 else (float(ends[0, 0]), float(ends[0, 1]))

    def log_density(self, x: ArrayLike, y: ArrayLike) -> float | Array:
        """The log of the forecast's density at y, for scoring: one number for one input, or one for each row."""
        from scipy.special import logsumexp

        values = _validate.inputs(x, self._row_length)
        targets = _validate.targets(np.atleast_1d(np.asarray(y, dtype=object)), len(values) if values.ndim == 2 else 1)
        out: list[Array] = []
        for piece in _pieces(values):
            weight, mean, sd = self._components(piece)
            miss = targets[sum(map(len, out)) :][: len(mean), None] - mean
            out.append(logsumexp(np.log(weight) - np.log(sd) - 0.5 * (miss / sd) ** 2, axis=1) - 0.5 * math.log(2 * math.pi))
        return np.concatenate(out) if values.ndim == 2 else float(out[0][0])

    def learn(self, x: ArrayLike, y: float, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), target y, its loss multiplied by `weight`."""
        self._core.learn(x, y, weight)

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Means (n,) of the forecasts of each row of X (n, n_features), made before its target y (n,) is learned; all is checked first."""
        return self.run_with_std(X, y, weight)[0]

    def run_with_std(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> tuple[Array, Array]:
        """The same, and the standard deviations (n,)."""
        X = _validate.table(X, self._row_length)
        out = self._core.run(X, _validate.targets(y, len(X)), _validate.weights(weight, len(X)))
        return np.ascontiguousarray(out[:, 0]), np.ascontiguousarray(out[:, 1])

    @property
    def coef(self) -> Array:
        """The mean of the weights (n_features,) under the mixture."""
        return np.asarray(self._core.mean()[0])

    def report(self) -> str:
        """What it has settled on, in words and numbers."""
        return "\n".join(self._head_of_report("Gaussian log"))

    def _components(self, rows: Array) -> tuple[Array, Array, Array]:
        """Weights (experts awake,), means and standard deviations (n, experts awake) of the mixture that forecasts each row."""
        each = np.array([self._core.components(row) for row in rows])
        return each[0, :, 0], each[:, :, 1], np.sqrt(each[:, :, 2])


def _pieces(values: Array) -> Iterator[Array]:
    """Return a table in pieces small enough to hold all experts' forecasts."""
    rows = np.atleast_2d(values)
    return (rows[start : start + 256] for start in range(0, len(rows), 256))


def _quantiles(weight: Array, mean: Array, sd: Array, q: Array) -> Array:
    """Return quantiles (n, len(q)) of mixtures of normal distributions, by bisection between the outermost of the components' own."""
    from scipy.special import ndtr, ndtri

    if not sd.all():  # before anything has been missed
        return np.repeat(mean[:, :1], len(q), axis=1)
    heavy = weight > 1e-9 * weight.max()
    weight, mean, sd = weight[heavy] / weight[heavy].sum(), mean[:, heavy], sd[:, heavy]
    out = np.empty((len(mean), len(q)))
    for column, tail in enumerate(q):
        each = mean + sd * ndtri(tail)
        low, high = each.min(axis=1), each.max(axis=1)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = ndtr((middle[:, None] - mean) / sd) @ weight < tail
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        out[:, column] = 0.5 * (low + high)
    return out


def _in_words(expert: NamedTuple) -> str:
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else str(value) for name, value in expert._asdict().items() if value == value
    )


def _list(items: Iterable[Any], name: str) -> Iterable[Any]:
    if not isinstance(items, Iterable) or isinstance(items, str):
        raise TypeError(f"{name} must be a list, got {items!r:.80}")
    return items


def _check_experts(grid: Sequence[object], views: Sequence[int] | None, readouts: Sequence[object], name: str) -> None:
    if not readouts:
        raise ValueError(f"{name} is empty")
    if views is not None and len(views) != len(grid):
        raise ValueError(f"views must have one entry for each of the {len(grid)} settings of the grid, got {len(views)}")


def _checked_grid(grid: Iterable[Sequence[float]], names: tuple[str, ...]) -> tuple[tuple[float, ...], ...]:
    try:
        settings = tuple(tuple(setting) for setting in grid)
    except TypeError:
        raise TypeError(f"grid must be a list of ({', '.join(names)}), got {grid!r:.80}") from None
    for position, setting in enumerate(settings):
        if len(setting) != len(names):
            raise ValueError(f"grid[{position}] must be ({', '.join(names)}), got {setting!r}")
    if not settings:
        raise ValueError("grid is empty")
    return tuple(
        tuple(
            _validate.real(value, f"grid[{position}]: drift", least=0, most=1e3)
            if name == "drift"
            else _validate.real(value, f"grid[{position}]: {name}", least=1e-10, most=1e10)
            for name, value in zip(names, setting, strict=True)
        )
        for position, setting in enumerate(settings)
    )


def _checked_options(views: Iterable[int] | None, share: float, sleep: bool, threads: int, scale: float | None) -> dict[str, object]:
    return {
        "views": None if views is None else tuple(_validate.count(view, "views", least=0) for view in _list(views, "views")),
        "share": _validate.real(share, "share", least=0, most=0.5),
        "sleep": _validate.flag(sleep, "sleep"),
        "threads": _validate.count(threads, "threads"),
        "scale": None if scale is None else _validate.scale(scale, "scale"),
    }
