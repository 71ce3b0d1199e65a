"""What a loss brings, and the constants of assumptions (A1)-(A4)."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from mixable._types import Array

KINDS = ("paper", "tight")  # the sets of constants that are proved


class Constants(NamedTuple):
    """The constants of assumptions (A1)-(A4)."""

    alpha: float  # (A1) mixability
    beta: float  # (A3) quadratic lower bound
    gamma: float  # (A4) smoothness
    zeta: float  # (A2) self-concordance


@runtime_checkable
class Loss(Protocol):
    """What `GenericGAF` asks of a loss; z is (n_outputs,)."""

    @property
    def n_outputs(self) -> int:
        """Number of linear predictions."""

    def outcome(self, y: Any) -> Any:
        """Return y, checked, in the form of the other methods; raise ValueError or TypeError."""

    def draw_outcome(self, rng: np.random.Generator) -> Any:
        """Return a random outcome, for `check_assumptions`."""

    def value(self, z: Array, y: Any) -> float:
        """Return the loss of the linear predictions z."""

    def gradient(self, z: Array, y: Any) -> Array:
        """Return its gradient in z (n_outputs,)."""

    def hessian(self, z: Array, y: Any) -> Array:
        """Return its Hessian in z (n_outputs, n_outputs)."""

    def constants(
        self, radius: float, bound: float, n_features: int = 1, kind: str = "paper"
    ) -> Constants:
        """Return the constants for comparators of norm `radius` and inputs of norm `bound`."""

    def substitute(self, mean: Array, covariance: Array, alpha: float, step: int = 0) -> Array:
        """Return a prediction that satisfies Eq. (4) for z ~ N(mean, covariance).

        `step` seeds what is random in it.
        """

    def score(self, prediction: Array, y: Any) -> float:
        """Return the loss of a prediction that `substitute` made."""


def check_kind(kind: str) -> None:
    """Raise ValueError unless `kind` names a set of constants."""
    if kind not in KINDS:
        raise ValueError(f'constants must be "paper" or "tight", got {kind!r}')


def check_loss(loss: object, name: str = "loss") -> Loss:
    """Return a loss; raise TypeError unless it has the methods of one."""
    if isinstance(loss, type):
        raise TypeError(f"{name} must be a loss, got the class: make one, {loss.__name__}()")
    if not isinstance(loss, Loss):
        kind = type(loss).__name__
        raise TypeError(f"{name} must have the methods of mixable.losses.Loss, got {kind}")
    return loss
