"""Forecasters whose state and verbs are in the compiled core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from mixable import _core, _validate
from mixable._natural import SAME, Change, Gaussian, Natural, combine
from mixable._types import Array
from mixable.experts.base import Forecaster, MulticlassForecaster, Parameter
from mixable.experts.structure import MET, UNKNOWN, checked_structure, gaussian, saved, shapes
from mixable.paper import integrals

if TYPE_CHECKING:
    from typing_extensions import Self


PosteriorCore = (
    _core.GAF | _core.Folklore | _core.ONS | _core.StructuredGAF | _core.StructuredFolklore
)
MulticlassCore = (
    PosteriorCore | _core.AIOLI | _core.OGD | _core.AutoGAF | _core.NaiveBayes | _core.RecentLabels
)


class Core(Protocol):
    """What every forecaster of the compiled core has."""

    @property
    def steps(self) -> int:
        """Number of examples learned."""

    @property
    def largest_square(self) -> float:
        """The largest |x|^2 that can be learned in double precision."""

    def adopt(self, other: Self) -> None:
        """Take what a smaller one has learned."""

    def state(self) -> dict[str, int | float | Array]:
        """All that was learned."""

    def restore(self, state: dict[str, int | float | Array]) -> None:
        """Go on from a state; ValueError if it is not sound."""


class CompiledForecaster(Forecaster):
    """A forecaster whose state lives in the compiled core: copying and pickling."""

    _core: Core

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._core.steps

    def _largest_square(self) -> float:
        return self._core.largest_square

    def _grow(self, **sizes: int) -> None:
        """Let a larger core adopt what was learned, then become that forecaster."""
        larger = self._with({**self._parameters, **sizes})
        larger._core.adopt(self._core)
        vars(self).update(vars(larger))

    def _with(self, parameters: dict[str, Any]) -> Self:
        """A new one with these parameters."""
        return type(self)(**parameters)

    def _fresh(self) -> Self:
        return self._with(self._parameters)

    def _gaussian(self) -> Gaussian:
        """The posterior, in the coordinates in which it is kept."""
        lam, drift = (self._parameters.get(name, 0.0) for name in ("lam", "drift"))
        return gaussian(self._core.state(), lam, drift)

    def _combine(
        self, others: Sequence[Self], base: Self | None, changes: Sequence[Change]
    ) -> Self:
        start, before = (
            each._gaussian() if each is not None and each.steps else None for each in (self, base)
        )
        merged = combine(start, [other._gaussian() for other in others], before, changes)
        state = saved(merged)
        given = [each for each in (self, base, *others) if each is not None and each.steps]
        if merged.kind == "full" and all(change == SAME for change in changes):
            for name in MET:
                each = [float(model._core.state()[name]) for model in given]
                state[name] = max(each) if min(each) >= 0 else UNKNOWN
        return self._restored(state)

    def _restored(self, state: dict[str, Any]) -> Self:
        """A new one with another state."""
        made = object.__new__(type(self))
        made.__setstate__({**self.__getstate__(), "state": state})
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {"parameters": self._parameters, "state": self._core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters, known = state["parameters"], dict(state["state"])
        sizes = parameters["n_features"], parameters.get("n_classes", 2)
        posteriors = self._saved_posteriors(parameters, known)
        for prefix, structure in posteriors.items():  # before anything of these sizes is made
            for name, shape in shapes(*sizes, structure).items():
                array = known[prefix + name]
                if array.shape != shape:
                    raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
        if not posteriors:
            raise ValueError("the state has no posterior")
        # The parameters are those of the subclass's own __init__.
        self.__init__(**parameters)  # type: ignore[misc]
        for name in MET:  # not in files of version 0.2.0 and before; full posteriors have them
            known.setdefault(name, 0.0 if known["steps"] == 0 else UNKNOWN)
        # Plain copies: joblib may have mapped the arrays into memory.
        for name, value in known.items():
            known[name] = np.array(value) if isinstance(value, np.ndarray) else value
        self._core.restore(known)

    def _saved_posteriors(
        self, parameters: dict[str, Any], state: dict[str, Any]
    ) -> dict[str, str]:
        """The structure of each posterior of a saved state, by what its names begin with."""
        return {"": parameters.get("structure", "full")}


def with_structure(state: dict[str, Any]) -> dict[str, Any]:
    """A saved state of GAF or AutoGAF; in version 0.1.0 all was full, and points were others."""
    parameters = state["parameters"]
    if "structure" in parameters:
        return state
    integrator = parameters["integrator"]
    if integrator is None:
        integrator = integrals.Quadrature() if parameters["n_classes"] == 2 else integrals.Sobol()
    return {**state, "parameters": {**parameters, "structure": "full", "integrator": integrator}}


class CompiledMulticlassForecaster(CompiledForecaster, MulticlassForecaster):
    """A multiclass forecaster whose verbs are compiled."""

    _core: MulticlassCore

    def predict(self, x: ArrayLike) -> Array:
        """Probabilities (n_classes,) of an input (n_features,); of a table, a row each.

        Pure and deterministic: it changes nothing, and the same call gives the same bits.
        """
        return self._core.predict(x)

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, and a weight."""
        self._core.learn(x, y, weight)

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Probabilities (n, n_classes) of each row of X, made before its label in y is learned.

        The same as a loop of `predict` and `learn`, faster. All arguments are checked first: if one
        is refused, nothing was learned. Ctrl-C, and an example found to be beyond double precision
        on the way (a weight of 1e300), stop between two rows; the rows before are then learned.
        """
        X = _validate.table(X, self._row_length)
        labels = _validate.labels(y, self.n_classes, len(X))
        return self._core.run(X, labels, _validate.weights(weight, len(X)))

    @property
    def coef(self) -> Array:
        """Weights theta (n_classes, n_features); they sum to zero over classes."""
        return np.asarray(integrals.helmert(self.n_classes) @ self._core.mean())


def is_all_compiled(forecaster: object) -> bool:
    """Whether `predict` and `learn` are those of the core, and Python adds nothing to them."""
    kind = type(forecaster)
    if not isinstance(forecaster, CompiledMulticlassForecaster):
        return False
    core = type(forecaster._core)
    return core.learn is _core.LabelModel.learn and all(
        getattr(kind, verb) is getattr(CompiledMulticlassForecaster, verb)
        for verb in ("predict", "learn")
    )


class PosteriorForecaster(CompiledMulticlassForecaster):
    """A compiled forecaster that keeps a Gaussian over the weights.

    The full one is kept in K - 1 coordinates, one with structure in those of the classes.
    """

    lam = Parameter(_validate.regulariser)
    structure = Parameter(checked_structure)

    _core: PosteriorCore

    @property
    def coef(self) -> Array:
        """Weights theta (n_classes, n_features); they sum to zero over classes."""
        if self.structure == "full":
            return super().coef
        W = self._core.mean()
        return np.asarray(W - W.mean(axis=0))

    def precision(self) -> Array:
        """A_t (K d, K d), class-major: half the Hessian of the quadratic it keeps.

        With drift = 0 it is what was accumulated; with drift, the inverse of A^-1, whose part along
        (1, ..., 1) is 1/lam + drift t. With structure, what is kept of A_t: a block (d, d) for each
        class (K, d, d), the one block (d, d), or the diagonal (K, d).
        """
        A, K, d = self._gaussian().A, self.n_classes, self.n_features
        if self.structure != "full":
            return A.reshape(
                {"blocks": (K, d, d), "shared": (d, d), "diagonal": (K, d)}[self.structure]
            )
        Q = np.kron(integrals.helmert(K), np.eye(d))
        along_ones = 1.0 / (1.0 / self.lam + self._parameters.get("drift", 0.0) * self.steps)
        return np.asarray(Q @ A[0] @ Q.T + np.kron(np.full((K, K), along_ones / K), np.eye(d)))

    def natural(self) -> Natural:
        """Precision A, shift A theta and number of examples; what examples add, adds up.

        The precision is as `precision` has it, the shift is (K, d). For drift = 0 they are those of
        the prior (lam I, 0) plus a sum over examples.
        """
        known = self._gaussian()
        shift = known.shift.reshape(known.sizes)
        if self.structure == "full":
            shift = integrals.helmert(self.n_classes) @ shift
        return Natural(self.precision(), shift, self.steps)

    def feature_covariances(self) -> Array:
        """The covariances (n_features, K, K) of the weights of each feature, for alpha = 1."""
        each = 0.5 * self._core.feature_covariances()
        if self.structure != "full":
            return np.asarray(each)
        Q = integrals.helmert(self.n_classes)
        return np.asarray(Q @ each @ Q.T)
