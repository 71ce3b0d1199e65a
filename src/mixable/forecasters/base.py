"""What the compiled multiclass forecasters share: the three verbs, parameters that cannot change in mid-stream, copying and pickling."""

from __future__ import annotations

from typing import Any, Generic, SupportsIndex, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable import _core, _validate, integrals

Array = NDArray[np.float64]
T = TypeVar("T")


class Parameter(Generic[T]):
    """A constructor argument that can be read and not changed: the posterior depends on it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Parameter[T]: ...
    @overload
    def __get__(self, instance: CompiledForecaster, owner: type) -> T: ...
    def __get__(self, instance: CompiledForecaster | None, owner: type) -> T | Parameter[T]:
        return self if instance is None else instance._parameters[self.name]

    def __set__(self, instance: CompiledForecaster, value: T) -> None:
        raise AttributeError(f"{self.name} is fixed when the forecaster is made")


class CompiledForecaster:
    """A multiclass forecaster whose posterior lives in the compiled core, in K - 1 coordinates."""

    n_features = Parameter[int]()
    n_classes = Parameter[int]()
    lam = Parameter[float]()
    drift = Parameter[float]()

    _parameters: dict[str, Any]
    _core: _core.GAF

    def predict(self, x: ArrayLike) -> Array:
        """Probabilities (n_classes,) of one input (n_features,); of a table (n, n_features), a table, each row from the present state.

        Pure and deterministic: it changes nothing, and the same input gives the same bits.
        """
        return self._core.predict(x)

    def learn(self, x: ArrayLike, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: input x (n_features,), label y in 0..n_classes-1, as if seen `weight` times."""
        self._core.learn(x, y, weight)

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Probabilities (n, n_classes) of each row of X (n, n_features), made before its label y (n,) is learned.

        The same as a loop of `predict` and `learn`, faster. Everything is checked first: if it raises ValueError or TypeError,
        nothing was learned. Ctrl-C stops between two rows; the rows before it are then learned.
        """
        X = _validate.table(X, self.n_features)
        labels = _validate.labels(y, self.n_classes, len(X))
        return self._core.run(X, labels, _validate.weights(weight, len(X)))

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._core.steps

    @property
    def coef(self) -> Array:
        """Weights theta (n_classes, n_features) of the current leader; they sum to zero over classes."""
        return np.asarray(integrals.helmert(self.n_classes) @ self._core.mean())

    def precision(self) -> Array:
        """The paper's A_t (K d, K d), class-major: half the Hessian of the surrogate objective.

        With drift = 0 it is what was accumulated; with drift, the inverse of A^-1, whose part along (1, ..., 1) is 1/lam + drift t.
        """
        K, d = self.n_classes, self.n_features
        reduced = np.linalg.inv(self._core.covariance()) if self.drift else self._core.precision()
        Q = np.kron(integrals.helmert(K), np.eye(d))
        along_ones = 1.0 / (1.0 / self.lam + self.drift * self.steps)
        return np.asarray(Q @ reduced @ Q.T + np.kron(np.full((K, K), along_ones / K), np.eye(d)))

    def __getstate__(self) -> dict[str, Any]:
        return {"parameters": self._parameters, "state": self._core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["parameters"])  # type: ignore[misc]  # the parameters are those of the subclass's own __init__
        self._core.restore(state["state"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._parameters.items())})"
