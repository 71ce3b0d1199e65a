"""What the forecasters share: the three verbs, parameters that cannot change in mid-stream, copying
and pickling.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _core, _validate, integrals

Array = NDArray[np.float64]
T = TypeVar("T")


class Parameter(Generic[T]):
    """A constructor argument that can be read and not changed: what was learned depends on it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Parameter[T]: ...
    @overload
    def __get__(self, instance: Forecaster, owner: type) -> T: ...
    def __get__(self, instance: Forecaster | None, owner: type) -> T | Parameter[T]:
        return self if instance is None else instance._parameters[self.name]

    def __set__(self, instance: Forecaster, value: T) -> None:
        raise AttributeError(f"{self.name} is fixed when the forecaster is made")


def each(forecast: Callable[[Array], Array], inputs: Array) -> Array:
    """Forecasts of one input (d,), or of each row of a table (n, d)."""
    return np.array([forecast(x) for x in inputs]) if inputs.ndim == 2 else forecast(inputs)


class Forecaster:
    """Sizes, parameters and a readable representation. Subclasses set `_parameters` in their
    constructor.
    """

    n_features = Parameter[int]()

    _parameters: dict[str, Any]

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        raise NotImplementedError

    @property
    def _row_length(self) -> int:
        """Numbers in an input."""
        return self.n_features

    def _largest_square(self) -> float:
        """The largest |x|^2 that can be learned in double precision."""
        raise NotImplementedError

    def add_features(self, k: int) -> None:
        """Let inputs have `k` more features from now on, at the end; nothing learned is lost.

        Past examples say nothing of the newcomers (they count as having been 0), so their weights
        are 0, and as uncertain as at the start of a stream.
        """
        self._grow(n_features=self.n_features + _validate.count(k, "k"))

    def _grow(self, **sizes: int) -> None:
        """Let sizes be larger from now on, all or nothing."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._parameters.items())})"


class MulticlassForecaster(Forecaster):
    """A forecaster of labels 0..n_classes-1, whose `run` is the loop of the other two verbs."""

    n_classes = Parameter[int]()

    def predict(self, x: ArrayLike) -> Array:
        """Probabilities (n_classes,) of one input (n_features,); of a table (n, n_features), one
        row each, from the present state.

        Pure and deterministic: it changes nothing, and the same call gives the same bits.
        """
        raise NotImplementedError

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, its loss multiplied
        by `weight`.
        """
        raise NotImplementedError

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Probabilities (n, n_classes) of each row of X (n, n_features), made before its label y
        (n,) is learned.

        The same as a loop of `predict` and `learn`. All arguments are checked first: if one is
        refused, nothing was learned. Ctrl-C, and an example found to be beyond double precision on
        the way (a weight of 1e300), stop between two rows; the rows before are then learned.
        """
        X = _validate.table(X, self.n_features)
        _validate.size(X, self._largest_square(), "X")
        labels, weights = (
            _validate.labels(y, self.n_classes, len(X)),
            _validate.weights(weight, len(X)),
        )
        out = np.empty((len(X), self.n_classes))
        for t, x in enumerate(X):
            out[t] = self.predict(x)
            self.learn(x, int(labels[t]), 1.0 if weights is None else float(weights[t]))
        return out

    def add_class(self) -> None:
        """Let labels be one more from now on: n_classes grows by 1; nothing learned is lost.

        Means and covariances of the old classes' logit differences stay as they are. The newcomer's
        logit has the mean of the old ones, as uncertain as at the start of a stream. So a plug-in's
        probabilities, taken among the old classes, stay too; hedged ones move a little, since the
        expectation of softmax depends on all logits.
        """
        self._grow(n_classes=self.n_classes + 1)


class CompiledForecaster(Forecaster):
    """A forecaster whose state lives in the compiled core: copying and pickling."""

    _core: Any

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return int(self._core.steps)

    def _largest_square(self) -> float:
        return float(self._core.largest_square)

    def _grow(self, **sizes: int) -> None:
        """Take over a larger forecaster's parameters and core, once it has taken over what this one
        has learned.
        """
        larger = type(self)(**{**self._parameters, **sizes})
        larger._core.adopt(self._core)
        self._parameters, self._core = larger._parameters, larger._core

    def __getstate__(self) -> dict[str, Any]:
        return {"parameters": self._parameters, "state": self._core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters, known = state["parameters"], state["state"]
        k, d = parameters.get("n_classes", 2) - 1, parameters["n_features"]
        posteriors = self._saved_posteriors(known)
        for posterior in posteriors:  # before anything of these sizes is made
            for name, shape in (("V", (k, d)), ("A_inverse", (k * d, k * d))):
                if name in posterior and posterior[name].shape != shape:
                    raise ValueError(f"{name} must have shape {shape}, got {posterior[name].shape}")
        if not posteriors:
            raise ValueError("the state has no posterior")
        # The parameters are those of the subclass's own __init__.
        self.__init__(**parameters)  # type: ignore[misc]
        # Plain copies: joblib may have mapped the arrays into memory.
        self._core.restore(
            {
                name: np.array(value) if isinstance(value, np.ndarray) else value
                for name, value in state["state"].items()
            }
        )

    @classmethod
    def _saved_posteriors(cls, state: dict[str, Any]) -> list[dict[str, Any]]:
        """V, and A_inverse if there is one, of each posterior of a saved state."""
        return [{name: state[name] for name in ("V", "A_inverse") if name in state}]


class CompiledMulticlassForecaster(CompiledForecaster, MulticlassForecaster):
    """A multiclass forecaster whose verbs are compiled."""

    def predict(self, x: ArrayLike) -> Array:
        """Probabilities (n_classes,) of one input (n_features,); of a table (n, n_features), one
        row each, from the present state.

        Pure and deterministic: it changes nothing, and the same call gives the same bits.
        """
        p: Array = self._core.predict(x)
        return p

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, its loss multiplied
        by `weight`.
        """
        self._core.learn(x, y, weight)

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Probabilities (n, n_classes) of each row of X (n, n_features), made before its label y
        (n,) is learned.

        The same as a loop of `predict` and `learn`, faster. All arguments are checked first: if one
        is refused, nothing was learned. Ctrl-C, and an example found to be beyond double precision
        on the way (a weight of 1e300), stop between two rows; the rows before are then learned.
        """
        X = _validate.table(X, self._row_length)
        labels = _validate.labels(y, self.n_classes, len(X))
        p: Array = self._core.run(X, labels, _validate.weights(weight, len(X)))
        return p

    @property
    def coef(self) -> Array:
        """Weights theta (n_classes, n_features); they sum to zero over classes."""
        return np.asarray(integrals.helmert(self.n_classes) @ self._core.mean())


class PosteriorForecaster(CompiledMulticlassForecaster):
    """A compiled forecaster that keeps a quadratic over the weights, in K - 1 coordinates."""

    lam = Parameter[float]()

    def precision(self) -> Array:
        """A_t (K d, K d), class-major: half the Hessian of the quadratic it keeps.

        With drift = 0 it is what was accumulated; with drift, the inverse of A^-1, whose part along
        (1, ..., 1) is 1/lam + drift t.
        """
        K, d, drift = self.n_classes, self.n_features, self._parameters.get("drift", 0.0)
        reduced = np.linalg.inv(self._core.covariance()) if drift else self._core.precision()
        Q = np.kron(integrals.helmert(K), np.eye(d))
        along_ones = 1.0 / (1.0 / self.lam + drift * self.steps)
        return np.asarray(Q @ reduced @ Q.T + np.kron(np.full((K, K), along_ones / K), np.eye(d)))


def refuse_if_too_large(forecaster: Forecaster, k: int, rank: int, *drifts: float) -> None:
    """Raise MemoryError, with the number of bytes, if the matrices of posteriors with these drifts
    would not fit.
    """
    what = f"{type(forecaster).__name__} with {forecaster.n_features} features and {k + 1} classes"
    _validate.memory(
        8.0 * len(drifts) * (k * forecaster.n_features) ** 2, what
    )  # before the core, whose integers have limits
    _validate.memory(
        sum(_core.posterior_bytes(k, forecaster.n_features, rank, drift > 0) for drift in drifts),
        what,
    )
