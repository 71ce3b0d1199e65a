"""Experts that err in different places, pooled by GAF: better than the best of them.

Pooled are the logarithms of their probabilities, p proportional to exp(sum_e w_e log p_e), with one
weight for each expert. That is logistic regression in the general form of the paper (Section 2):
f_w(x) = Phi(x)^T w, Phi(x) in R^{N x K} with entries log p_e(c). So GAF learns w.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _core, _renamed, _validate
from mixable._natural import Change, Gaussian, State, combine, combined_weights
from mixable._types import Array, Truths
from mixable.experts.base import draws_of, mixed_draws
from mixable.experts.combined import CombinedExperts, saved_experts

MOST_EXPERTS = 64
DRIFT = 1e-4  # of the pool that forgets
SMOOTHING = 1e-3  # of experts' forecasts, before their logarithms


class Pool(CombinedExperts):
    """Forecasters of the same labels, combined by weights on their logarithms.

    A mixture finds the best expert. A pool can be better than all of them: it gives more weight to
    those
    that are too cautious, discounts those that repeat each other, and corrects those that are too
    bold. Two pools, of which one forgets, are mixed with the experts themselves by their losses, so
    the loss in all is at most ln(2 (N + 4)) above that of the best of these, N the number of
    experts. Each pool is read as it is and hedged.

    The experts learn as they would by themselves. They belong to the pool from now on: don't teach
    them apart from it. An expert whose forecast is not a distribution is refused by name, before
    anyone has learned the example.

    Parameters
    ----------
    experts
        Forecasters of labels with `predict` and `learn`, of the same number of classes and
        features.
    lam
        How strongly the weights are held at 1/N at first.
    share
        The share of the weight that moves on at each step, in one of the two mixtures of pools and
        experts (see `mixable.AutoGAF`).
    apart
        Whether an input consists of one part for each expert, one after the other; then they may
        have different numbers of features.

    Examples
    --------
    >>> from mixable import GAF, Pool
    >>> f = Pool([GAF(2, 3, lam=0.1), GAF(2, 3, structure="diagonal")])
    >>> p = f.run([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 1, 0])
    >>> p.shape, f.weights.round(1).tolist()
    ((3, 3), [0.7, 0.7])
    """

    def __init__(
        self, experts: Sequence[Any], *, lam: float = 1.0, share: float = 1e-3, apart: bool = False
    ) -> None:
        super().__init__(experts, "pool")
        # The input predicted last, what they said of it, and after how many steps.
        self._last: tuple[Array, Array, int] | None = None
        self.lam = _validate.real(lam, "lam", least=1e-6, most=1e6)
        self.share = _validate.real(share, "share", least=0, most=0.5)
        self.apart = _validate.flag(apart, "apart")
        if len(self.experts) > MOST_EXPERTS:
            raise ValueError(f"a pool has at most {MOST_EXPERTS} experts, got {len(self.experts)}")
        if self.n_classes is None:
            raise ValueError("a pool needs experts with probabilities: these predict numbers")
        self._check_same("n_classes", *([] if self.apart else ["n_features"]))
        self._core = self._new_core()

    def _new_core(self) -> _core.Judge:
        N, K = len(self.experts), int(self.experts[0].n_classes)
        ends = [0, *np.cumsum([_length(expert) for expert in self.experts]).tolist()]
        self._parts = [slice(0, ends[1])] * N  # what each expert sees of an input
        if self.apart:
            self._parts = [slice(*pair) for pair in pairwise(ends)]
        return _core.Judge(N, K, self.lam, DRIFT, SMOOTHING, self.share, -math.inf)

    def __getstate__(self) -> dict[str, Any]:
        parameters = {name: getattr(self, name) for name in ("lam", "share", "apart")}
        return {"experts": self.experts, "parameters": parameters, "state": self._core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(saved_experts(state, "pool"), **state["parameters"])  # type: ignore[misc]
        known = {
            name: np.array(value) if isinstance(value, np.ndarray) else value
            for name, value in state["state"].items()
        }
        self._core.restore(judge_state(known, len(self.experts)))
        if len(self._core.active) < len(self.experts):
            raise ValueError("the experts of a pool are always active")

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._core.steps

    @property
    def weights(self) -> Array:
        """The weight of each expert's logarithm in the pool that forgets nothing."""
        return np.asarray(self._core.mean()[0])

    trust = _renamed.attribute("trust", "expert_weights")

    @property
    def expert_weights(self) -> Array:
        """The weight of the pool, in the pool that forgets, and in each expert; together 1."""
        shares = self._core.expert_weights()
        return np.concatenate([[shares[:2].sum(), shares[2:4].sum()], shares[4:]])

    @property
    def coef(self) -> Array:
        """The experts' coefficients, added up by their weights in the pool.

        If they are linear and predict without a hedge, these are the pool's. Not with `apart`.
        """
        if self.apart:
            raise AttributeError("experts that see different inputs have no coefficients together")
        return super().coef

    def report(self) -> str:
        """What it has chosen, in words."""
        pool, forgetting, *each = self.expert_weights
        names = [type(expert).__name__ for expert in self.experts]
        weights = ", ".join(f"{name} {w:.2f}" for name, w in zip(names, self.weights, strict=True))
        alone = ", ".join(f"{name} {t:.0%}" for name, t in zip(names, each, strict=True))
        return (
            f"Pool of {len(each)} experts after {self.steps} examples.\n"
            f"Weights of their logarithms: {weights}.\n"
            f"Weight: pool {pool:.0%}, the pool that forgets {forgetting:.0%}; alone {alone}."
        )

    @property
    def _row_length(self) -> int:
        """Numbers in an input."""
        return int(self._parts[-1].stop)

    def _largest_square(self) -> float:
        checked = [expert for expert in self.experts if hasattr(expert, "_largest_square")]
        return min((expert._largest_square() for expert in checked), default=np.inf)

    def _seen(self, x: Array, place: int) -> Array:
        return np.ascontiguousarray(x[..., self._parts[place]])

    def _forecasts(self, x: Array) -> Array:
        last = self._last
        if last is not None and last[2] == self.steps and np.array_equal(last[0], x):
            return last[1]
        said = super()._forecasts(x)
        if x.ndim == 1:
            self._last = x.copy(), said, self.steps
        return said

    def _learn(self, row: Array, forecasts: Array, outcome: Any, weight: float) -> None:
        self._last = None
        super()._learn(row, forecasts, outcome, weight)

    @property
    def _judge(self) -> dict[str, Any]:
        return self._core.state()

    @_judge.setter
    def _judge(self, before: dict[str, Any]) -> None:
        self._last = None
        self._core.restore(before)

    def _combined(self, forecasts: Array) -> Array:
        return self._core.predict(_side_by_side(forecasts))

    def _judged(self, forecasts: Array, outcome: Any, weight: float) -> None:
        self._core.learn(_side_by_side(forecasts), outcome, weight)

    def _run_judge(self, forecasts: Array, outcomes: Any, weights: Array | None) -> Array:
        return self._core.run(_side_by_side(forecasts), outcomes, weights)

    def _grow(self, how: str, *arguments: int) -> None:
        super()._grow(how, *arguments)
        self._last = None
        core = self._new_core()
        core.adopt(self._core)
        self._core = core

    def sample(self, x: ArrayLike, n: int = 1, random_state: Any = None) -> Array:
        """Draws (n, n_classes) of the logits of an input, as `GAF.sample`.

        A draw takes an expert by its weight, in the pool and alone, then from its posterior. An
        expert that has none gives its logits.
        """
        row, rng = _validate.inputs(x, self._row_length), np.random.default_rng(random_state)

        def draw(i: int, count: int) -> Array:
            own = np.ascontiguousarray(row[..., self._parts[i]])
            return draws_of(self.experts[i], own, count, rng)

        return mixed_draws(expert_weights(self), draw, _validate.count(n, "n"), rng)

    def _fresh(self) -> Pool:
        flags = {name: getattr(self, name) for name in ("lam", "share", "apart")}
        return Pool([expert._fresh() for expert in self.experts], **flags)

    def _shared(self) -> dict[str, Any]:
        return self._shared_with_experts("lam", "share", "apart")

    def _combine(
        self, others: Sequence[Pool], base: Pool | None, changes: Sequence[Change]
    ) -> Pool:
        each = [[change] * len(self.experts) for change in changes]
        cores, before = [other._core for other in others], (base or self._fresh())._core
        lams, weight = (self.lam, self.lam), changes[0].weight
        state = combined_judge(
            self._core, cores, before, lams=lams, share=self.share, weight=weight
        )
        made = object.__new__(Pool)
        experts = self._combined_experts(others, base, each)
        made.__setstate__({**self.__getstate__(), "experts": experts, "state": state})
        return made

    def __repr__(self) -> str:
        apart = ", apart=True" if self.apart else ""
        return f"Pool({self.experts!r}, lam={self.lam!r}, share={self.share!r}{apart})"


def _side_by_side(forecasts: Array) -> Array:
    """The experts' forecasts (N, ..., K) as rows (..., N K)."""
    said = np.moveaxis(forecasts, 0, -2)
    return np.ascontiguousarray(said.reshape(*said.shape[:-2], -1))


def _length(expert: Any) -> int:
    """Numbers in an input of an expert."""
    return int(getattr(expert, "_row_length", expert.n_features))


def expert_weights(pool: Any) -> Array:
    """How much of the forecast is due to each expert: its weights in the pools, and its weight."""
    pooled, forgetting, *alone = pool.expert_weights
    weights = np.maximum(pool.weights, 0.0)
    share = weights / weights.sum() if weights.any() else np.full(len(weights), 1 / len(weights))
    return np.asarray((pooled + forgetting) * share + alone)


def combined_judge(
    start: _core.Judge,
    others: Sequence[_core.Judge],
    base: _core.Judge,
    *,
    lams: tuple[float, float],
    share: float,
    weight: float = 1.0,
) -> State:
    """start + the sum of (other - base), as a state: weights, and two Gaussians over them.

    Experts are inactive in the combined pool if they are in all, for as long as in the one that
    tries them first. Those that are inactive in some begin anew. Steps that the first expert made
    alone are counted apart.
    """
    every: list[State] = [{**judge.state()} for judge in (start, base, *others)]
    apart = np.any([state["activity.left"][0] > 0 for state in every], axis=0)
    begin, before, *states = every
    grown = [state["steps"] - before["steps"] for state in states]
    out: State = {"steps": begin["steps"] + sum(grown)}
    out.update(combined_weights(begin, states, before, grown, share))

    def weights(state: State, i: int) -> Gaussian:
        w, A = _set_apart(state[f"{i}.w"], state[f"{i}.A"], apart, lams[i])
        options: dict[str, Any] = {"lam": lams[i], "drift": (0.0, DRIFT)[i], "sizes": (1, len(A))}
        return Gaussian(kind="blocks", A=A[None], mean=w, steps=state["steps"], **options)

    for i in (0, 1):
        first, last, *known = (weights(state, i) for state in (begin, before, *states))
        merged = combine(first, known, last, [Change(weight=weight)] * len(known))
        A, w = merged.A[0], merged.mean
        total = first.A[0] + weight * sum(each.A[0] - last.A[0] for each in known)
        missing = lams[i] - float(np.linalg.eigvalsh(total)[0])
        if i == 0 and missing > 0.5 * lams[i]:  # files with a smaller lam, where little was learned
            w = np.mean([each.mean for each in known], axis=0)
            A = total + missing * np.eye(len(total))
        S = np.linalg.inv(A)
        out.update({f"{i}.w": w, f"{i}.A": A, f"{i}.S": 0.5 * (S + S.T)})
    return {**out, **combined_activity(begin, states, before)}


def combined_activity(start: State, terms: Sequence[State], base: State) -> State:
    """Who is active in start + the sum of (term - base), of states of judges."""
    out: State = {}
    key = "activity.alone"
    out[key] = start[key] + sum(term[key] - base[key] for term in terms)
    for key in ("activity.left", "activity.level"):
        out[key] = np.min([term[key] for term in terms], axis=0)
    # What the pool can do without is found out anew.
    none = np.zeros_like(start["activity.cost"])
    out |= {"activity.loss": 0.0, "activity.recent": 0.0, "activity.reviews": 0}
    out["activity.trial"] = 0
    return {**out, "activity.cost": none, "activity.order": none - 1}


def _set_apart(w: Array, A: Array, apart: Truths, lam: float) -> tuple[Array, Array]:
    """Mean and precision with some weights held at 0, as those yet to be learned; others follow."""
    if not apart.any():
        return w, A
    rest, out = ~apart, np.zeros_like(w)
    out[0, rest] = w[0, rest] + np.linalg.solve(A[rest][:, rest], A[rest][:, apart] @ w[0, apart])
    alone = np.where(np.outer(rest, rest), A, 0.0) + lam * np.diag(apart.astype(float))
    return out, alone


def judge_state(state: State, n_experts: int) -> State:
    """The state of a judge, where all but the first expert were active together up to 0.2."""
    state = {"activity.trial": 0, **state}
    if "rest.left" not in state:
        return state
    left = _validate.count(state["rest.left"], "rest.left", least=0)
    none = np.zeros((1, n_experts))
    is_inactive = np.array([[0.0, *[1.0] * (n_experts - 1)]])
    known: dict[str, Any] = {"cost": none, "order": none - 1, "level": 1e9 * is_inactive}
    known |= {"left": min(left, 256) * is_inactive, "alone": state["rest.alone"]}
    known |= {"loss": 0.0, "recent": 0.0, "reviews": 0}
    old = {name: each for name, each in state.items() if not name.startswith("rest.")}
    return {**old, **{f"activity.{name}": each for name, each in known.items()}}
