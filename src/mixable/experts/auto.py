"""GAF without knobs: a grid of settings at once, mixed by their loss; see `ensemble`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _core, _renamed, _validate
from mixable._types import Array
from mixable.experts import settings
from mixable.experts.base import Parameter, logits, mixed_draws, repeated
from mixable.experts.compiled import CompiledMulticlassForecaster, with_structure
from mixable.experts.ensemble import Ensemble, check_experts
from mixable.experts.settings import Expert
from mixable.experts.structure import in_mixture, refuse_if_too_large
from mixable.paper import integrals


class AutoGAF(Ensemble, CompiledMulticlassForecaster):
    """GAF with nothing to tune: a mixture over regularisation, curvature, hedge width and drift.

    Log loss is mixable, so mixing N experts costs at most ln(2 N) nats in all (see Notes). The
    posteriors of the grid run in one compiled loop, each read at several hedge widths. There are
    two vectors of weights over the same experts. In one, a small share of the weight moves on at
    each step, so that another expert may lead when the stream changes; the other follows Bayes'
    rule. A judge mixes the two, by Bayes' rule again.

    Parameters
    ----------
    n_features, n_classes
        Numbers of features d and of classes K >= 2. There is no intercept: add a column of ones if
        you want one.
    grid
        The posteriors, (lam, beta, drift) each; lam in units of the inputs' mean square, drift in
        units of its inverse.
    structure
        What the posteriors keep, as in GAF, or "growing" (shared, of features that are 0 at first):
        one word, or one for each of the grid. None chooses by size; see docs: No tuning.
    views
        Which view each posterior of the grid sees: inputs may consist of several descriptions of
        n_features numbers each, one after the other. None: there is one.
    alphas
        The hedge widths at which each posterior is read; an averaged one at a quarter of them.
    surrogate
        "averaged": of the default grid one full posterior is averaged, two if there are two
        classes; see docs: No tuning. "tangent": none. None: for two classes only.
    fallback
        The product B R that the fallback stands for: an expert with the constants of theory, always
        active, which gives AutoGAF its bound. A number is a Folklore expert, "auto" the same for
        B R = 10, or gradient descent where that would be slow; see `fallback_kind`. Beside it is
        an expert that only counts the classes. None: neither.
    share
        The share of the weight that is spread evenly at each step, in the first of the two vectors
        of weights. With 0 they are equal.
    sleep
        Whether posteriors with negligible weight are put to sleep, to save time; see Notes. None:
        only those that cost much.
    threads
        Threads that share tables of `run`. None: as many as OpenBLAS has, up to four, if it pays.
    scale
        The mean square of the inputs. None: that of the non-zero entries of the first input that is
        not zero. Multiplying all inputs by a constant then changes nothing. (Should the median of
        the first few, up to 16, be 10,000 times larger or smaller, that is taken instead, and those
        few are learned again. For later changes, see Notes.)
    mu, integrator, seed
        As in GAF.

    Notes
    -----
    *Sleep.* A posterior costs much if a step takes more than 100,000 multiplications, or if it is
    full beside others. Small full ones are computed together, and sleep together. Nobody sleeps in
    the first 16 D steps, D the weights of a posterior (at least 512, at most 2,048). Then, at a
    review every 64 steps, posteriors with less than 2% of the weight go to sleep unless they are
    catching up; so do, whatever their weight, all but four, and from step 4,096 on all but the
    leader. Never: the fallback, the heaviest one that does not drift, and a drift expert that does.
    Of
    a sleepy posterior's read-outs, all but the best two rest. One sleeper in turn wakes every 1,024
    steps, for 512. It starts from what the heaviest of its kind has learned, with its own lam.

    *Change.* When a posterior that drifts more leads at two reviews in a row, everyone wakes, and
    those with less than 2% of the weight start again in the same way.

    *The guarantee.* A sleeper counts as predicting what the mixture predicts. So at every step the
    loss in all is at most ln(2 N) above that of the best expert that is always active or starts
    again,
    whoever else does; with `sleep=False`, that is every expert. It is also at most ln 2 above that
    of the weights with share, hence at most that of the best sequence of experts with k switches,
    plus ln(2 N) + k ln(N / share) - (n - k - 1) ln(1 - share + share / N). The judge weighs either
    vector to at least 1e-10, so that it can change quickly; that costs at most 1e-10 nats an
    example more. Examples of weight above 1, and those before a change of the scale, are outside
    these statements.

    *Inputs that change their size.* If they become 10,000 times larger or smaller in mean square,
    all posteriors start afresh in the new unit, except the fallback, the leader, and those that
    know
    such inputs. One does not learn inputs a million times above its unit, so it still knows what it
    knew when they come back. Not with `sleep=False` or a given `scale`.

    *Large inputs.* A posterior for which an example would use up double precision lets it pass; the
    others learn it.

    Examples
    --------
    >>> import numpy as np
    >>> from mixable.datasets import load_vehicle
    >>> from mixable.losses import log_loss
    >>> X, y, _ = load_vehicle()
    >>> order = np.random.default_rng(0).permutation(len(y))
    >>> X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])[order]
    >>> f = AutoGAF(n_features=19, n_classes=4)
    >>> round(float(log_loss(f.run(X, y[order]), y[order]).mean()), 2)
    0.52
    >>> f.experts[int(f.weights.argmax())].alpha
    16.0
    """

    grid = Parameter(settings.checked_grid)
    structure = Parameter(settings.as_given)
    alphas = Parameter(settings.checked_alphas)
    fallback = Parameter(settings.checked_fallback)
    mu = Parameter(_validate.real, least=0, most=0.5)
    integrator = Parameter["integrals.Integrator | str | None"]()
    seed = Parameter(_validate.seed)
    surrogate = Parameter(settings.checked_surrogate)

    _core: _core.AutoGAF
    _settings: tuple[tuple[float, float, float], ...]
    _saved_choice: settings.Choice | None = None

    GRID = settings.GRID

    guard = _renamed.attribute("guard", "fallback")
    guard_kind = _renamed.attribute("guard_kind", "fallback_kind")

    @_renamed.arguments(guard="fallback")
    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        grid: Iterable[tuple[float, float, float]] = GRID,
        structure: str | Iterable[str] | None = None,
        alphas: Iterable[float] = (4.0, 16.0, math.inf),
        views: Iterable[int] | None = None,
        fallback: float | str | None = "auto",
        share: float = 1e-3,
        sleep: bool | None = None,
        threads: int | None = None,
        scale: float | None = None,
        mu: float = 1e-6,
        integrator: integrals.Integrator | str | None = None,
        seed: int | None = 0,
        surrogate: str | None = None,
    ) -> None:
        self._keep(locals())
        check_experts(self.grid, self.views, readouts=self.alphas, name="alphas")
        d, K = self.n_features, self.n_classes
        self._choice = settings.choose(self._parameters, self._saved_choice)
        self._averaged = settings.averaged(self._parameters, self.structures)
        self._settings = settings.as_run(self.grid, self._averaged)
        beside = ["rates"] * self._choice.frequencies + (
            [self.fallback_kind] if self.fallback_kind else []
        )
        self._kinds, self._readouts = (*self.structures, *beside), len(self.alphas)
        posteriors = [
            (in_mixture(each, K), drift)
            for i, (each, (*_, drift)) in enumerate(zip(self.structures, self.grid, strict=True))
            if i not in self._inactive
        ]
        if self.fallback_kind == "folklore":
            posteriors.append(("full", 0.0))
        refuse_if_too_large(self, K, posteriors)
        self._claim_memory(K)
        plans = zip(self._plans(self._settings), self.structures, self._averaged, strict=True)
        self._core = _core.AutoGAF(
            d,
            K,
            [(*plan, structure, lam is not None) for plan, structure, lam in plans],
            list(self.alphas),
            self._fallback_plan,
            self.mu,
            self.scale or 0.0,
            self.share,
            self.sleep,
            self.threads or 0,
            integrals.ladder(integrator or integrals.Pairwise(), K, self.seed),
            self._n_views,
            self._choice.frequencies,
        )
        self._say_if_slow()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "chosen": settings.saved_choice(self._choice)}

    def _with(self, parameters: dict[str, Any]) -> AutoGAF:
        larger = type(self).__new__(type(self))
        larger._saved_choice = settings.grown(self._choice, self.n_classes, parameters)
        larger.__init__(**parameters)  # type: ignore[misc]
        return larger

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._saved_choice = settings.checked_choice(state.get("chosen"))
        saved = {"surrogate": "tangent", **state["parameters"]}  # if it has none
        if "guard" in saved:  # up to version 0.2
            saved["fallback"] = saved.pop("guard")
        state["parameters"] = saved
        try:
            super().__setstate__(with_structure(state))
        finally:
            del self._saved_choice

    def _saved_posteriors(
        self, parameters: dict[str, Any], state: dict[str, Any]
    ) -> dict[str, str]:
        structures, fallback, frequencies = settings.choose(parameters, self._saved_choice)
        K = parameters["n_classes"]
        kept = {f"{i}.": in_mixture(each, K) for i, each in enumerate(structures)}
        if frequencies:
            kept[f"{len(kept)}."] = "rates"
        kept[f"{len(kept)}."] = "none" if fallback == "gradient" else "full"
        members = super()._saved_posteriors(parameters, state)
        return {member: kept[member] for member in members}

    def sample(self, x: ArrayLike, n: int = 1, random_state: Any = None) -> Array:
        """Draws (n, n_classes) of the logits of an input, as `GAF.sample`.

        A draw takes an expert by its weight, and its weights theta from its posterior. Class
        frequencies and fallback give their logits.
        """
        rows = _validate.inputs(x, self._row_length)
        members, table, first = self._members(), np.atleast_2d(rows), len(self.grid)

        def draw(expert: int, count: int) -> Array:
            is_beside = expert >= first * self._readouts
            i = expert - first * (self._readouts - 1) if is_beside else expert // self._readouts
            if members.kinds[i] == "rates":
                frequencies = members.own(i)["counts"] + 0.5
                return repeated(np.repeat(frequencies, len(table), axis=0), count)
            known, width = (
                members.gaussian(i),
                0.0 if is_beside else 0.5 / self.experts[expert].alpha,
            )
            assert known is not None
            return logits(known.draws(count, width, rng), self._view(table, i), self.n_classes)

        count, rng = _validate.count(n, "n"), np.random.default_rng(random_state)
        out = mixed_draws(self.expert_weights, draw, count, rng)
        return out if rows.ndim == 2 else out[:, 0]

    @property
    def structures(self) -> tuple[str, ...]:
        """The structure of each posterior of the grid, as given or by size."""
        return self._choice.structures

    @property
    def fallback_kind(self) -> str | None:
        """Which forecaster fallbacks it: "folklore" (`bounds.auto_gaf`), "gradient" or None.

        "gradient" is online gradient descent; its bound is `bounds.auto_gaf_wide`.
        """
        return self._choice.fallback

    @property
    def _fallback_plan(self) -> tuple[str, float, float] | tuple[()]:
        return settings.fallback_plan(
            self.fallback_kind, self.fallback, self.n_features, self.n_classes
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
        threads: int | None = None,
        integrator: integrals.Integrator | str | None = None,
    ) -> AutoGAF:
        """Return the mixture of the paper's forecasters for doubling radii of the comparator.

        For inputs of norm at most `bound`, its regret to every comparator of norm B <= `max_radius`
        is at most the least of Theorem 1's bounds for a radius of at least B, + ln N:
        `bounds.adaptive`, and what expectations cost (from five classes on, `bounds.envelope`). No
        share, no sleep, no fallback. Classes added later keep the parameters made for fewer.
        >>> f = AutoGAF.from_theory(18, 4, bound=1.0, max_radius=8.0)
        >>> [round(beta, 3) for _, beta, _ in f.grid], f.alphas
        ([0.456, 0.371, 0.271, 0.176, 0.103], (1.0,))
        """
        d = _validate.count(n_features, "n_features")
        K = _validate.count(n_classes, "n_classes", least=2)
        return cls(
            d,
            K,
            grid=settings.theory_grid(d, K, bound, max_radius, constants),
            alphas=(1.0,),
            fallback=None,
            share=0.0,
            sleep=False,
            threads=threads,
            scale=bound**2,
            mu=0.0,
            structure="full",
            integrator=integrals.choose_proved(integrator, K),
        )

    @property
    def coef(self) -> Array:
        """The mean of the weights (n_classes, n_features) under the mixture; it sums to zero."""
        return self._core.mean()

    def feature_covariances(self) -> Array:
        """The covariances (n_features, K, K) of the weights of each feature under the mixture."""
        return self._core.feature_covariances()

    @property
    def experts(self) -> list[Expert]:
        """The experts, by `weights`: settings at each width, class frequencies, fallback."""
        kept = self._fallback_plan, self._averaged
        return settings.experts(
            self._settings, self.alphas, *kept, frequencies=self._choice.frequencies
        )

    def report(self) -> str:
        """What it has chosen, in words and numbers."""
        words = settings.verdict(self.experts, self.expert_weights.tolist())
        return "\n".join(self._head_of_report("log") + words)
