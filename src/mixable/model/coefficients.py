"""What a learner knows of each column: weights and their deviations, in the caller's units."""

from __future__ import annotations

import numpy as np

from mixable._types import Array
from mixable.model.kernel_inputs import KernelInputs
from mixable.model.learner import Learner
from mixable.model.outcomes import Targets


def coefficients(learner: Learner) -> tuple[Array, Array]:
    """Slopes (K, d) and intercepts (K,), or (1, d) and (1,) for numbers.

    In the units of the caller's columns where scaling is linear.
    """
    _refuse_kernels(learner)
    first = 1 if learner.design.intercept else 0
    theta = np.atleast_2d(learner.forecaster.coef)
    slopes = theta[:, first:] * _per_unit(learner)
    bias = theta[:, 0] if first else np.zeros(len(theta))
    offset = learner.outcomes.offset if isinstance(learner.outcomes, Targets) else 0.0
    return slopes, bias - slopes @ learner.inputs.moments()[0] + offset


def deviations(learner: Learner, contrasts: Array) -> Array:
    """Posterior standard deviations (c, d) of combinations (c, K) of the classes' slopes.

    For numbers, (1, d) with contrasts [[1]].
    """
    _refuse_kernels(learner)
    forecaster = learner.forecaster
    first = 1 if learner.design.intercept else 0
    if not hasattr(forecaster, "feature_covariances"):
        kind = type(forecaster).__name__
        raise AttributeError(f"{kind} keeps no posterior: its weights have no deviations")
    each: Array = forecaster.feature_covariances()[first:]
    variances = np.einsum("cj,ljm,cm->cl", contrasts, each, contrasts)
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)) * _per_unit(learner))


def kernel_widths(learner: Learner) -> list[tuple[float | None, float]]:
    """The gamma of each view (None for the linear one), and the weight of those that see it."""
    inputs, forecaster = learner.inputs, learner.forecaster
    assert isinstance(inputs, KernelInputs)
    gammas: list[float | None] = [None] if inputs.plan.linear else []
    gammas += [each.gamma for each in inputs.maps]
    if len(gammas) == 1:
        return [(gammas[0], 1.0)]
    shares = forecaster.expert_weights.reshape(len(forecaster.views), -1).sum(axis=1)
    shares = np.bincount(forecaster.views, shares, minlength=len(gammas))
    return list(zip(gammas, shares.tolist(), strict=True))


def _refuse_kernels(learner: Learner) -> None:
    if not learner.design.is_linear:
        raise AttributeError(
            "coef_, intercept_ and coef_std_ are of linear models only: with a kernel there is no "
            "weight per column; kernel=None is linear"
        )


def _per_unit(learner: Learner) -> Array:
    sd = learner.inputs.moments()[1]
    return np.asarray(np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0))
