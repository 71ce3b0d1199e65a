"""Any forecasters, combined by Vovk's aggregating algorithm: never much worse than the best.

Vovk, V. (1990). Aggregating strategies. COLT. Vovk, V. (2001). Competitive on-line statistics.
International Statistical Review 69.
Herbster, M. and Warmuth, M. (1998). Tracking the best expert. Machine Learning 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._natural import Change, normalised
from mixable._types import Array
from mixable.experts.base import draws_of, mixed_draws
from mixable.experts.combined import CombinedExperts, saved_experts


class Mixture(CombinedExperts):
    """Experts with the same output, weighed by their past losses.

    N experts of probabilities are averaged, with weights proportional to exp(-their log loss): the
    loss in all is at most that of the best expert + ln N. Experts of numbers (those without
    `n_classes`) are combined for the squared loss; targets must then be at most `target_bound` = Y
    in size, and the price is 2 Y^2 ln N. With a share s, the loss is at most that of the best
    sequence of experts with k switches, + ln N + k ln((N - 1) / s) - (n - k - 1) ln(1 - s), times 2
    Y^2 for squared loss. (For examples of weight at most 1.)

    The experts learn as they would by themselves. They belong to the mixture from now on: don't
    teach them apart from it. (Should an expert refuse an example on grounds of its own, say a
    weight of 1e300, those before it have learned it; not in `run`.) An expert whose forecast is not
    a distribution, or no number, is refused by name, before anyone has learned the example.

    Parameters
    ----------
    experts
        Forecasters with `predict` and `learn`, of the same number of features and classes.
    share
        The share of the weight that moves on, evenly to the other experts, at each step. 0 is
        Bayes' rule.
    target_bound
        Y, for experts of numbers. Their predictions are clipped to it.
    history
        Whether to keep all past weights, for `weight_history`.

    Examples
    --------
    >>> from mixable import GAF, Folklore
    >>> f = Mixture([GAF(2, 3), GAF(2, 3, alpha=np.inf), Folklore(2, 3)])
    >>> p = f.run([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0, 1, 0])
    >>> p.shape, float(f.weights.sum().round(12))
    ((3, 3), 1.0)
    """

    def __init__(
        self,
        experts: Sequence[Any],
        share: float = 0.0,
        *,
        target_bound: float | None = None,
        history: bool = False,
    ) -> None:
        super().__init__(experts, "mixture")
        self.share = _validate.real(share, "share", least=0, most=0.5)
        self._check_same("n_classes", "n_features")
        if target_bound is not None:
            target_bound = _validate.scale(target_bound, "target_bound")
        self.target_bound = target_bound
        if self.n_classes is None and target_bound is None:
            raise ValueError("experts of numbers need a target_bound")
        if self.n_classes is not None and target_bound is not None:
            raise ValueError("experts of probabilities need no target_bound")
        self._log_weights = np.full(len(self.experts), -np.log(len(self.experts)))
        self._history = [self.weights] if history else None
        self._steps = 0

    def __setstate__(self, state: dict[str, Any]) -> None:
        experts, history = saved_experts(state, "mixture"), state["_history"]
        options = {"target_bound": state["target_bound"], "history": history is not None}
        self.__init__(experts, state["share"], **options)  # type: ignore[misc]
        N = len(experts)
        steps = _validate.count(state["_steps"], "steps", least=0, most=_validate.MOST_STEPS)
        log_weights = _validate.saved(state["_log_weights"], (N,), "weights")
        if abs(float(_log_sum(log_weights))) > 1e-6:
            raise ValueError("the saved weights do not sum to 1")
        if history is not None:
            for weights in history:
                _validate.saved(weights, (N,), "history", most=1 + 1e-6)
            if len(history) != steps + 1:
                raise ValueError(
                    f"the saved mixture has {steps} steps and {len(history)} past weights"
                )
            self._history = list(history)
        self._log_weights, self._steps = log_weights, steps

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._steps

    @property
    def weights(self) -> Array:
        """The current weights of the experts; they sum to 1."""
        return np.asarray(np.exp(self._log_weights - _log_sum(self._log_weights)))

    @property
    def weight_history(self) -> Array:
        """Weights (steps + 1, experts) from before the first step on; needs `history=True`."""
        if self._history is None:
            raise ValueError("past weights are kept only with history=True")
        return np.array(self._history)

    @property
    def _judge(self) -> tuple[Array, int, list[Array] | None]:
        return self._log_weights, self._steps, self._history and list(self._history)

    @_judge.setter
    def _judge(self, before: tuple[Array, int, list[Array] | None]) -> None:
        self._log_weights, self._steps, self._history = before

    def sample(self, x: ArrayLike, n: int = 1, random_state: Any = None) -> Array:
        """Draws (n, n_classes) of the logits of an input; experts of numbers have means (n,).

        A draw takes an expert by its weight, then from its posterior (`GAF.sample`). An expert that
        has none gives its logits, or its number.
        """
        row, rng = _validate.inputs(x, self.n_features), np.random.default_rng(random_state)
        experts, count = self.experts, _validate.count(n, "n")
        return mixed_draws(self.weights, lambda i, m: draws_of(experts[i], row, m, rng), count, rng)

    def _fresh(self) -> Mixture:
        experts = [expert._fresh() for expert in self.experts]
        return Mixture(experts, self.share, target_bound=self.target_bound)

    def _shared(self) -> dict[str, Any]:
        return self._shared_with_experts("share", "target_bound")

    def _combine(
        self, others: Sequence[Mixture], base: Mixture | None, changes: Sequence[Change]
    ) -> Mixture:
        if any(other._history is not None for other in others):
            raise ValueError(
                "mixtures with history=True cannot be merged: past weights have no order"
            )
        out, before = self._fresh(), base or self._fresh()
        out.experts = self._combined_experts(
            others, base, [[c] * len(out.experts) for c in changes]
        )
        logs = [np.log(each.weights) for each in (self, before, *others)]
        out._log_weights = np.log(normalised(logs[0] + sum(each - logs[1] for each in logs[2:])))
        out._steps = self._steps + sum(other._steps - before._steps for other in others)
        return out

    def __repr__(self) -> str:
        bound = "" if self.target_bound is None else f", target_bound={self.target_bound!r}"
        return f"Mixture({self.experts!r}, share={self.share!r}{bound})"

    @property
    def _rate(self) -> float:
        """The rate at which the loss is mixable: 1 for log loss, 1 / (2 Y^2) for squared loss."""
        return 1.0 if self.target_bound is None else 1.0 / (2.0 * self.target_bound**2)

    def _outcome(self, y: Any) -> Any:
        if self.n_classes is not None:
            return super()._outcome(y)
        target = _validate.target(y)
        self._check_size(np.array(target))
        return target

    def _outcomes(self, y: ArrayLike, n: int) -> Any:
        if self.n_classes is not None:
            return super()._outcomes(y, n)
        targets = _validate.targets(y, n)
        self._check_size(targets)
        return targets

    def _check_size(self, targets: Array) -> None:
        why = f"targets are at most target_bound = {self.target_bound:g} in size"
        _validate.refuse(np.abs(targets) > self.target_bound, targets, "y", why)

    def _combined(self, forecasts: Array) -> Any:
        """The mean; for squared loss (g(-Y) - g(Y)) / (4 Y), g(y) the mixture's loss at y."""
        if self.target_bound is None:
            return np.tensordot(self.weights, forecasts, axes=1)
        Y, rate = self.target_bound, self._rate
        log_weights = self._log_weights.reshape(-1, *[1] * (forecasts.ndim - 1))
        low, high = (
            -_log_sum(log_weights - rate * (end - np.clip(forecasts, -Y, Y)) ** 2) / rate
            for end in (-Y, Y)
        )
        mixed = np.asarray((low - high) / (4 * Y))
        return float(mixed) if mixed.ndim == 0 else mixed

    def _judged(self, forecasts: Array, y: Any, weight: float) -> None:
        if self.target_bound is None:
            losses = -np.log(np.maximum(forecasts[:, y], np.finfo(float).tiny))
        else:
            losses = (y - np.clip(forecasts, -self.target_bound, self.target_bound)) ** 2
        # What all lose alike is left out: times a weight of 1e12 its rounding would be what counts.
        log_weights = self._log_weights - weight * self._rate * (losses - losses.min())
        log_weights = log_weights - _log_sum(log_weights)
        others = len(self.experts) - 1
        if self.share > 0 and others:
            weights = np.exp(log_weights)
            log_weights = np.log((1 - self.share) * weights + self.share / others * (1 - weights))
        self._log_weights = log_weights
        self._steps += 1
        if self._history is not None:
            self._history.append(self.weights)

    def _run_judge(self, forecasts: Array, outcomes: Any, weights: Array | None) -> Array:
        out = np.empty(forecasts.shape[1:])
        for t, y in enumerate(outcomes):
            out[t] = self._combined(forecasts[:, t])
            self._judged(forecasts[:, t], y, 1.0 if weights is None else float(weights[t]))
        return out


def _log_sum(logs: Array) -> Array:
    """The log of the sum of exp over the first axis."""
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=0)))
