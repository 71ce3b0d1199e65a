"""What the estimators of scikit-learn and river share: labels of any kind, causal scaling, an intercept, new classes and new features.

It knows neither library. Inputs are plain float64 tables here; NaN stands for a missing entry.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable.forecasters import GAF, AutoGAF, AutoRidge
from mixable.forecasters.base import MulticlassForecaster
from mixable.kernels import KernelPlan, KernelScaler

Array = NDArray[np.float64]

SQUASHED_LAMS = (0.1, 0.01)
"""The mixture's settings without drift and with these lam are in it once more, for inputs that are squashed beyond one deviation."""

KERNEL_GRID = (
    (0.03, 1.0, 0.0, None),
    (1e-3, 1.0, 0.0, None),
    (1e-5, 1.0, 0.0, None),
    (0.1, 1.0, 0.01, None),
    (0.03, 1.0, 0.0, 0.125),
    (1e-3, 1.0, 0.0, 0.125),
    (0.03, 1.0, 0.0, 1.0),
    (1e-3, 1.0, 0.0, 1.0),
    (0.1, 1.0, 1e-3, 1.0),
    (0.03, 1.0, 0.0, 16.0),
    (1e-3, 1.0, 0.0, 16.0),
)
"""The mixture over kernels: (lam, beta, drift, bandwidth), None for one that sees linear features only. Few, since each is large.

The linear ones go to as small a lam as AutoGAF.GRID, so that little is lost to it where classes can be separated by a plane.
"""


MOST_NUMBERS = 2**21
"""Tables are scaled in pieces of at most this many numbers: with a kernel they are many times as wide as they were."""


LARGEST_WEIGHT = 1e12
LARGEST_TARGET = 1e99


def check_weights(weight: Array) -> None:
    """Refuse weights that cannot be learned in double precision."""
    if (weight > LARGEST_WEIGHT).any():
        raise ValueError(f"sample_weight must be at most {LARGEST_WEIGHT:g}: more cannot be learned in double precision")


def check_targets(y: Array) -> None:
    """Refuse numbers that cannot be learned in double precision."""
    if (np.abs(y) > LARGEST_TARGET).any():
        raise ValueError(f"y must be at most {LARGEST_TARGET:g} in size: more cannot be learned in double precision")


class Design:
    """The forecaster that an estimator's parameters ask for, for sizes not known yet, and how its inputs are to be scaled."""

    kernel: KernelPlan | None = None  # also of designs that were saved before there were kernels

    def __init__(
        self, kind: type, parameters: dict[str, Any], *, standardize: bool, intercept: bool, kernel: KernelPlan | None = None
    ) -> None:
        self.kind, self.parameters, self.kernel = kind, parameters, kernel
        self.standardize = _validate.flag(standardize, "standardize")
        self.intercept = _validate.flag(intercept, "fit_intercept")

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind, parameters = state["kind"], state["parameters"]
        if not (isinstance(kind, type) and (kind is AutoRidge or issubclass(kind, MulticlassForecaster))):
            raise TypeError(f"a design must be of a forecaster, got {kind!r:.80}")
        if not (isinstance(parameters, dict) and parameters.keys() <= inspect.signature(kind).parameters.keys()):
            raise TypeError(f"{kind.__name__} does not have the parameters {parameters!r:.80}")
        kernel = state.get("kernel")
        if not (kernel is None or isinstance(kernel, KernelPlan)):
            raise TypeError(f"kernel must be None or a KernelPlan, got {kernel!r:.80}")
        flags = {"standardize": state["standardize"], "intercept": state["intercept"]}
        self.__init__(kind, parameters, kernel=kernel, **flags)  # type: ignore[misc]

    @property
    def views(self) -> int:
        """How many descriptions of an input the forecaster is given, without a kernel."""
        return 2 if "views" in self.parameters else 1

    def forecaster(self, n_features: int, n_classes: int | None) -> Any:
        """Return a new forecaster."""
        width = self.width(n_features)
        return self.kind(width, **self.parameters) if n_classes is None else self.kind(width, n_classes, **self.parameters)

    def fits(self, forecaster: Any, n_features: int) -> bool:
        """Whether a forecaster is of this kind, and takes what the scaler makes of a row."""
        views, width = self.kernel.views if self.kernel else self.views, self.width(n_features)
        kind: type = type(forecaster)
        return bool(kind is self.kind and forecaster.n_features == width and forecaster._row_length == views * width)

    def width(self, n_features: int) -> int:
        """Numbers in each description of an input."""
        return n_features + self.intercept + (self.kernel.n_components if self.kernel else 0)

    def scaler(self, n_features: int) -> Any:
        """Return a new scaler, which with a kernel also makes its features."""
        if self.kernel is not None:
            return KernelScaler(self.kernel, n_features, self.intercept, self.standardize)
        return _core.Scaler(n_features, self.intercept, self.standardize, self.views)

    def larger_scaler(self, scaler: Any, n_features: int) -> Any:
        """Return a scaler for more features that has learned what `scaler` has."""
        if self.kernel is not None:
            return scaler.with_features(n_features)
        larger = self.scaler(n_features)
        larger.adopt(scaler)
        return larger

    @classmethod
    def for_classes(
        cls,
        kind: type | None,
        fixed: dict[str, float | None],
        standardize: bool,
        intercept: bool,
        threads: int,
        kernel: KernelPlan | None = None,
    ) -> Design:
        """Mix over whatever is None of lam, beta, alpha, drift and the kernel's gamma.

        With nothing left to mix over, or another kind, take that forecaster; it sees one view, of bandwidth 1 if gamma is None.
        """
        given = {name: value for name, value in fixed.items() if value is not None}
        if kind is not None:
            _check_kind(kind, given)
        if kind is not None or (len(given) == len(fixed) and (kernel is None or kernel.gamma is not None)):
            return cls(kind or GAF, given, standardize=standardize, intercept=intercept, kernel=kernel)
        names = ("lam", "beta", "drift")
        parameters: dict[str, Any]
        if kernel is None:
            parameters = _grid(AutoGAF.GRID, names, given, standardize)
        else:
            kernel, parameters = _kernel_grid(kernel, names, given)
            parameters["guard"] = None
        if "alpha" in given:
            parameters["alphas"] = (given["alpha"],)
        return cls(AutoGAF, {**parameters, "threads": threads}, standardize=standardize, intercept=intercept, kernel=kernel)

    @classmethod
    def for_numbers(
        cls, fixed: dict[str, float | None], standardize: bool, intercept: bool, threads: int, kernel: KernelPlan | None = None
    ) -> Design:
        """Mix over whatever is None of lam, drift and the kernel's gamma."""
        given, names = {name: value for name, value in fixed.items() if value is not None}, ("lam", "drift")
        if kernel is None:
            parameters = _grid(AutoRidge.GRID, names, given, standardize)
        else:
            kernel, parameters = _kernel_grid(kernel, names, given)
        return cls(AutoRidge, {**parameters, "threads": threads}, standardize=standardize, intercept=intercept, kernel=kernel)


def _check_kind(kind: object, given: dict[str, float]) -> None:
    """Refuse what is not a class of multiclass forecasters, or does not have the parameters."""
    if not (isinstance(kind, type) and issubclass(kind, MulticlassForecaster)):
        raise TypeError(f"forecaster must be a multiclass forecaster class of mixable, say mixable.ONS, got {kind!r:.80}")
    takes = inspect.signature(kind).parameters
    if "n_classes" not in takes:
        raise TypeError(f"forecaster must take any number of classes, and {kind.__name__} does not")
    for name in given:
        if name not in takes:
            raise TypeError(f"{kind.__name__} has no parameter {name}; leave it at None")


def _grid(grid: Sequence[tuple[float, ...]], names: tuple[str, ...], given: dict[str, float], standardize: bool) -> dict[str, Any]:
    """Return a grid in which the given parameters are fixed, in absolute units, and its views."""

    def settings(rows: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
        return list(dict.fromkeys(tuple(given.get(name, value) for name, value in zip(names, row, strict=True)) for row in rows))

    plain = settings(grid)
    out: dict[str, Any] = {"grid": plain}
    if standardize:
        squashed = settings([row for row in grid if row[-1] == 0 and row[0] in SQUASHED_LAMS])
        out = {"grid": plain + squashed, "views": [0] * len(plain) + [1] * len(squashed)}
    if given:
        out["scale"] = 1.0
    return out


def _kernel_grid(kernel: KernelPlan, names: tuple[str, ...], given: dict[str, float]) -> tuple[KernelPlan, dict[str, Any]]:
    """Return the kernel's views and the settings that see them, the given parameters fixed; all in absolute units."""
    bandwidths = tuple(dict.fromkeys(width for *_, width in KERNEL_GRID if width is not None))
    rows: dict[tuple[Any, ...], None] = {}
    for lam, beta, drift, width in KERNEL_GRID:
        setting = {"lam": lam, "beta": beta, "drift": drift, **given}
        # The first view is linear. With gamma given there is one more.
        view = 0 if width is None else 1 + (bandwidths.index(width) if kernel.gamma is None else 0)
        rows[tuple(setting[name] for name in names), view] = None
    return kernel.mixed(bandwidths), {"grid": [row for row, _ in rows], "views": [view for _, view in rows], "scale": 1.0}


class Engine:
    """A scaler, a forecaster, and the labels it has met; labels None for a forecaster of numbers."""

    def __init__(
        self, design: Design, n_features: int, labels: Sequence[Hashable] | None, *, closed: bool = False, forecaster: Any = None
    ) -> None:
        self.design, self.n_features, self.closed = design, n_features, closed
        self.labels: list[Hashable] | None = None if labels is None else list(labels)
        self.codes: dict[Hashable, int] = {label: code for code, label in enumerate(self.labels or ())}
        # With less than two classes there is a place kept for those to come.
        self.forecaster = forecaster or design.forecaster(n_features, None if labels is None else max(2, len(self.labels or ())))
        self.scaler = design.scaler(n_features)  # after the forecaster, which refuses to be too large
        self.origin: float | None = None  # what numbers are measured from, once the first has come

    def add_features(self, k: int) -> None:
        """Take in `k` more features, at the end."""
        scaler = self.design.larger_scaler(self.scaler, self.n_features + k)
        self.forecaster.add_features(k)
        self.scaler, self.n_features = scaler, self.n_features + k

    def add_label(self, label: Hashable) -> None:
        """Take in a class that was not there, all or nothing."""
        assert self.labels is not None
        self.codes[label] = len(self.labels)
        self.labels.append(label)
        try:
            if len(self.labels) > 2:
                self.forecaster.add_class()
        finally:
            if self.forecaster.n_classes < len(self.labels):
                del self.codes[self.labels.pop()]

    def new_labels(self, y: Sequence[Hashable]) -> list[Hashable]:
        """Labels among y that have not been met, in the order in which they appear."""
        return list(dict.fromkeys(label for label in y if label not in self.codes))

    def look(self, X: Array) -> Any:
        """The forecast of one row or of each row of a table; probabilities in the order of `labels`."""
        p = self._in_pieces(self.forecaster.predict, X)
        return p + self.offset if self.labels is None else self._known(p)

    def interval(self, X: Array, level: float) -> tuple[Any, Any]:
        """The interval that holds the number of one row, or of each row of a table, with probability `level`."""
        low, high = self._in_pieces(lambda Z: np.array(self.forecaster.interval(Z, level)).T, X).T
        return low + self.offset, high + self.offset

    def deviation(self, X: Array) -> Any:
        """The standard deviation of the forecast of one row or of each row of a table of numbers."""
        return self._in_pieces(self.forecaster.std, X)

    def learn(self, X: Array, y: Sequence[Hashable] | Array, weight: Array | None = None) -> None:
        """Learn the rows of a table."""
        if len(X) == 1:
            self.learn_row(X[0], y[0], 1.0 if weight is None else float(weight[0]))
        else:
            self.run(X, y, weight)

    def learn_row(self, x: Array, y: Any, weight: float = 1.0) -> None:
        """Learn one row; one of weight 0 only says that there is such a label."""
        origin, steps, added = self.origin, self.forecaster.steps, None
        z, take_in = self._ahead(x)
        try:
            if self.labels is None:
                self._set_origin(y, weight)
                y = y - self.offset
            elif y not in self.codes:
                self.forecaster.predict(z)  # refuses what cannot be learned, before the class is taken in
                added = dict(vars(self.forecaster))
                self.add_label(y)
            self.forecaster.learn(z, y if self.labels is None else self.codes[y], weight)
        finally:  # also Ctrl-C, which may come when the row has been learned
            if self.forecaster.steps == steps:
                self.origin = origin
                if added is not None and y in self.codes:  # as it was before the class was taken in
                    self.labels.remove(y)  # type: ignore[union-attr]
                    del self.codes[y]
                    vars(self.forecaster).update(added)
            elif weight > 0:
                take_in()

    def _ahead(self, x: Array) -> tuple[Array, Callable[[], object]]:
        """Return a scaled row, and what lets the scaler learn it: that takes no time, so that Ctrl-C hardly ever finds it at work."""
        if self.design.kernel is not None:
            z, take_in = self.scaler.ahead(x)
            return z, take_in
        return self.scaler.look(x), lambda: self.scaler.learn(x)

    def run(self, X: Array, y: Sequence[Hashable] | Array, weight: Array | None) -> Any:
        """Learn the rows of a table; return the forecasts made before each.

        Those are probabilities, 0 for classes that had not been met yet; for numbers, means and standard deviations.
        """
        if len(X) > self._most_rows:
            self._refuse_too_large(X)
            parts = [self.run(X[part], y[part], None if weight is None else weight[part]) for part in self._parts(X)]
            return self._stacked(parts) if self.labels is not None else tuple(map(np.concatenate, zip(*parts, strict=True)))
        with _InStep(self, X, weight):
            Z = self.scaler.learn(X, weight)
            return self._run_numbers(Z, np.asarray(y), weight) if self.labels is None else self._run_labels(Z, y, weight)

    def _run_numbers(self, Z: Array, y: Array, weight: Array | None) -> tuple[Array, Array]:
        before = len(Z) if self.origin is None else 0  # rows forecast before there was an origin
        if self.origin is None:
            counts = np.flatnonzero(np.ones(len(y)) if weight is None else weight)
            if len(counts):
                before = int(counts[0]) + 1
                self._set_origin(float(y[counts[0]]), 1.0)
        mean, std = self.forecaster.run_with_std(Z, y - self.offset, weight)
        mean[before:] += self.offset
        return mean, std

    @property
    def offset(self) -> float:
        """What is added to the forecaster's numbers."""
        return self.origin or 0.0

    def _set_origin(self, y: float, weight: float) -> None:
        """Measure targets from the first that counts, so that a large offset is not something to be learned."""
        if self.origin is None and weight > 0:
            self.origin = float(y) if self.design.intercept else 0.0

    def _run_labels(self, Z: Array, y: Any, weight: Array | None) -> Array:
        assert self.labels is not None
        pieces, begin, newcomers = [], 0, self.new_labels(y)
        if newcomers:  # the pieces are checked one by one: refuse what any of them would, before the first is learned
            _validate.size(Z, self.forecaster._largest_square(), "X")
        for label in newcomers:
            first = next(t for t in range(begin, len(Z)) if y[t] == label)
            pieces += self._pieces(Z, y, weight, begin, first)
            pieces.append(self._known(self.forecaster.predict(Z[first]))[None, :])
            self.add_label(label)
            self.forecaster.learn(Z[first], self.codes[label], 1.0 if weight is None else float(weight[first]))
            begin = first + 1
        pieces += self._pieces(Z, y, weight, begin, len(Z))
        return self._stacked(pieces)

    def _stacked(self, pieces: list[Array]) -> Array:
        """Forecasts one below the other, 0 for classes that came later."""
        out = np.zeros((sum(map(len, pieces)), len(self.labels or ())))
        at = 0
        for piece in pieces:
            out[at : at + len(piece), : piece.shape[1]] = piece
            at += len(piece)
        return out

    def _refuse_too_large(self, X: Array) -> None:
        """Refuse raw rows that are too large before the first piece of a table is learned; scaled ones are within 10 deviations."""
        if not self.design.standardize:
            with np.errstate(over="ignore"):
                largest = int(np.nansum(X * X, axis=1).argmax())
            _validate.size(self.scaler.look(X[largest]), self.forecaster._largest_square(), f"X[{largest}]")

    @property
    def _most_rows(self) -> int:
        return max(MOST_NUMBERS // int(self.forecaster._row_length), 1)

    def _parts(self, X: Array) -> list[slice]:
        return [slice(at, at + self._most_rows) for at in range(0, len(X), self._most_rows)]

    def _in_pieces(self, forecast: Callable[[Array], Any], X: Array) -> Any:
        """What a forecaster says of one row, or of the rows of a table."""
        if X.ndim == 1 or len(X) <= self._most_rows:
            return forecast(self.scaler.look(X))
        return np.concatenate([forecast(self.scaler.look(X[part])) for part in self._parts(X)], axis=0)

    def _pieces(self, Z: Array, y: Any, weight: Array | None, begin: int, end: int) -> list[Array]:
        """Run over rows whose labels are all known."""
        if begin == end:
            return []
        codes = np.fromiter((self.codes[label] for label in y[begin:end]), dtype=np.int_, count=end - begin)
        return [self._known(self.forecaster.run(Z[begin:end], codes, None if weight is None else weight[begin:end]))]

    def _known(self, p: Array) -> Array:
        """Leave out the place kept for a class to come."""
        known = len(self.labels or ())
        return p if known == p.shape[-1] else np.ones((*p.shape[:-1], min(known, 1)))

    def coefficients(self) -> tuple[Array, Array]:
        """Slopes (K, d) and intercepts (K,), (1, d) and (1,) for numbers, in the units of the caller's columns where scaling is linear."""
        self._refuse_with_kernel()
        theta = np.atleast_2d(self.forecaster.coef)
        slopes = theta[:, self.design.intercept :] * self._per_unit()
        bias = theta[:, 0] if self.design.intercept else np.zeros(len(theta))
        return slopes, bias - slopes @ self.scaler.moments()[0] + self.offset

    def spread(self, contrasts: Array) -> Array:
        """Posterior standard deviations (c, d) of combinations (c, K) of the classes' slopes, or (1, d) for numbers and contrasts [[1]]."""
        self._refuse_with_kernel()
        k = contrasts.shape[1]
        if not hasattr(getattr(self.forecaster, "_core", None), "covariance"):
            raise AttributeError(f"{type(self.forecaster).__name__} keeps no posterior, so its weights have no standard deviations")
        ensemble = isinstance(self.forecaster, (AutoGAF, AutoRidge))
        covariance: Array = self.forecaster._core.covariance() * (1.0 if ensemble else 0.5)
        width = self.n_features + self.design.intercept
        each = np.einsum("jlml->ljm", covariance.reshape(k, width, k, width))[self.design.intercept :]
        return np.asarray(np.sqrt(np.maximum(np.einsum("cj,ljm,cm->cl", contrasts, each, contrasts), 0.0)) * self._per_unit())

    def widths(self) -> list[tuple[float | None, float]]:
        """The gamma of each kernel view (None for the linear one) and the trust in the posteriors that see it."""
        gammas: list[float | None] = [None] if self.design.kernel and self.design.kernel.linear else []
        gammas += [each.gamma for each in self.scaler.maps]
        if len(gammas) == 1:
            return [(gammas[0], 1.0)]
        trust = self.forecaster.trust.reshape(len(self.forecaster.grid), -1).sum(axis=1)
        shares = np.bincount(self.forecaster.views, trust, minlength=len(gammas))
        return list(zip(gammas, shares.tolist(), strict=True))

    def _refuse_with_kernel(self) -> None:
        if self.design.kernel is not None:
            raise AttributeError("coef_, intercept_ and coef_std_ are of linear models only: with a kernel there is no weight per column")

    def _per_unit(self) -> Array:
        sd = self.scaler.moments()[1]
        return np.asarray(np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "scaler": self.scaler.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        design, forecaster, labels, saved = state["design"], state["forecaster"], state["labels"], state["scaler"]
        if not isinstance(design, Design):
            raise TypeError(f"an engine needs a design, got {design!r:.80}")
        n_features = _validate.count(state["n_features"], "n_features", least=0)
        if not all(isinstance(values, np.ndarray) for values in saved.values()) or saved["count"].shape != (1, n_features):
            raise ValueError(f"the saved statistics are not those of {n_features} features")
        if not design.fits(forecaster, n_features):
            raise ValueError("labels, inputs and forecaster do not go together")
        origin = state.get("origin", 0.0)  # the first models that were saved had none
        if origin is not None:
            _validate.real(origin, "origin", least=-LARGEST_TARGET, most=LARGEST_TARGET)
        _validate.flag(state["closed"], "closed")
        if labels is None:
            sound = design.kind is AutoRidge
        else:
            _validate.claim(4.0 * len(labels) * max((len(y) for y in labels if isinstance(y, str)), default=0), "labels")
            sound = design.kind is not AutoRidge and forecaster.n_classes == max(2, len(labels))
            sound = sound and all(y is not None and y == y for y in labels)
            sound = sound and list(state["codes"].items()) == [(y, i) for i, y in enumerate(labels)]
        if not sound:
            raise ValueError("labels, inputs and forecaster do not go together")
        self.__init__(design, n_features, labels, closed=state["closed"], forecaster=forecaster)  # type: ignore[misc]
        self.scaler.restore({name: np.array(values) for name, values in saved.items()})
        self.origin = origin


class _InStep:
    """Sees to it that a scaler has learned the same rows as its forecaster, if what follows stops half-way."""

    def __init__(self, engine: Engine, X: Array, weight: Array | None) -> None:
        self.engine, self.X, self.weight = engine, X, weight
        self.scaler, self.origin, self.steps = engine.scaler.state(), engine.origin, engine.forecaster.steps

    def __enter__(self) -> None:
        pass

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            return
        self.engine.scaler.restore(self.scaler)
        learned = slice(self.engine.forecaster.steps - self.steps)
        weight = None if self.weight is None else self.weight[learned]
        if len(self.X[learned]):
            self.engine.scaler.learn(self.X[learned], weight)
        if not len(self.X[learned]) or (weight is not None and not weight.any()):
            self.engine.origin = self.origin
