"""Many features, few of them in each row: words, categories, their crosses.

Duchi, J., Hazan, E. and Singer, Y. (2011). Adaptive subgradient methods for online learning and
stochastic optimization. JMLR 12: a rate for each feature.
Kivinen, J. and Warmuth, M. (1997). Exponentiated gradient versus gradient descent for linear
predictors. Information and Computation 132: implicit steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from mixable import _core, _renamed, _sparse, _validate
from mixable._natural import Change, combined_weights
from mixable._sparse import Keys, SparseRow, SparseTable
from mixable._types import Array
from mixable.experts import slots
from mixable.experts.base import MulticlassForecaster, Parameter
from mixable.experts.ensemble import as_list

if TYPE_CHECKING:
    from typing_extensions import Self

GRID = (
    (0.001, 0.03),
    (0.01, 0.1),
    (0.1, 0.3),
    (1.0, 0.03),
    (1.0, 1.0),
    (10.0, 3.0),
    (10.0, 0.0),
    (40.0, 0.0),
)
ALPHAS = (2.0, 16.0, math.inf)
MOST_SETTINGS = 64
MOST_FEATURES = 2**31 - 1


class SparseExpert(NamedTuple):
    """A setting, read at one width."""

    lam: float
    b: float
    alpha: float


def checked_grid(grid: Any, name: str) -> tuple[tuple[float, float], ...]:
    """The settings: lam and b of each."""
    out = []
    for i, setting in enumerate(as_list(grid, name)):
        if not isinstance(setting, (tuple, list)) or len(setting) != 2:
            raise ValueError(f"{name}[{i}] must be (lam, b), got {setting!r:.80}")
        lam = _validate.real(setting[0], f"{name}[{i}]: lam", least=1e-6, most=1e9)
        out.append((lam, _validate.real(setting[1], f"{name}[{i}]: b", least=0, most=1e9)))
    if not 0 < len(out) <= MOST_SETTINGS:
        raise ValueError(f"{name} must have 1 to {MOST_SETTINGS} settings, got {len(out)}")
    return tuple(out)


def checked_alphas(alphas: Any, name: str) -> tuple[float, ...]:
    """The widths."""
    out = tuple(
        _validate.real(alpha, name, least=1e-6, infinite=True) for alpha in as_list(alphas, name)
    )
    if not 0 < len(out) <= MOST_SETTINGS:
        raise ValueError(f"{name} must have 1 to {MOST_SETTINGS} widths, got {len(out)}")
    return out


class SparseGAF(MulticlassForecaster):
    """Softmax regression on sparse rows, for millions of features and no learning rate.

    A row is a scipy.sparse row, a dictionary of values by key, or a list of (key, value). Keys are
    integers, and need not be announced: each new one is a new feature. Absent features are 0. A
    step costs as much as the row has entries. An intercept is part of it.

    Each feature j keeps one accumulator acc_j and a weight for each class and setting (lam, b). The
    setting's precision a_j = lam + b acc_j^(3/4) stands between that of a Gaussian posterior and
    that of AdaGrad. A step is implicit: u = m - (g / 2) (softmax(u) - e_y) for m = W x and
    g = sum_j x_j^2 / a_j, as in Eq. (2) of the paper. All settings, each read at several widths,
    are mixed by their losses.

    Parameters
    ----------
    n_classes
        Number of classes K. Labels are 0..K-1.
    max_features
        Features that have weights of their own. Those that come later share the weights of others;
        `collisions` counts how often. None: as many as take about 1 GB, at most 10^8 weights in
        all: 12.5 million for two classes, 4.1 million for three, 625,000 for 20. Memory grows with
        the features that come, and no further.
    grid
        The settings (lam, b), for values of mean square 1. With b = 0 the steps stay as large as
        they were, which follows a change; only features that are active forget.
    alphas
        The widths: the read-out is softmax(m_0 + (m - m_0) / sqrt(1 + (pi/8) g / alpha) + o), m_0
        the intercept and o offsets of the classes, by the misses of the last 5,000 examples.
    share
        The share of the weight that is spread evenly at each step, in one of the two vectors of
        weights (see `mixable.AutoGAF`).

    Notes
    -----
    Values are measured by the mean square of the first row's values that are not 0. Multiplying
    all of them by a constant changes nothing. (Should the median of the first rows, up to 16, be
    10,000 times larger or smaller, that is taken instead, and learning starts over.) A value of
    more than a million of these units counts as a million.

    Weights are float32. Everything else is float64.

    Examples
    --------
    >>> f = SparseGAF(n_classes=2)
    >>> for _ in range(20):
    ...     f.learn({7: 1.0, 10**15: 2.0}, 1)
    ...     f.learn([(7, 1.0), (8, 1.0)], 0)
    >>> f.predict({8: 1.0}).argmax(), f.n_features
    (np.int64(0), 3)

    A table is a matrix of scipy.sparse, or a list of rows:

    >>> from scipy.sparse import csr_array
    >>> p = f.run(csr_array([[0.0, 0.0, 3.0], [1.0, 0.0, 0.0]]), [0, 1])
    >>> p.shape, f.steps
    ((2, 2), 42)
    """

    grid = Parameter(checked_grid)
    alphas = Parameter(checked_alphas)
    share = Parameter(_validate.real, least=0, most=0.5)
    max_features = Parameter(_validate.optional(_validate.count), most=MOST_FEATURES)

    _core: _core.Sparse
    _lost: slots.Lost | None = None

    def __init__(
        self,
        n_classes: int,
        *,
        max_features: int | None = None,
        grid: Iterable[tuple[float, float]] = GRID,
        alphas: Iterable[float] = ALPHAS,
        share: float = 1e-3,
    ) -> None:
        self._keep(locals())
        numbers = self.n_classes * _lanes(len(self.grid)) * (8.0 + len(self.alphas))
        _validate.claim(8 * numbers, f"SparseGAF with {self.n_classes} classes")
        self._core = _core.Sparse(
            self.n_classes, list(self.grid), list(self.alphas), self.share, self.max_features or 0
        )

    def predict(self, x: SparseRow | SparseTable) -> Array:
        """Probabilities (n_classes,) of a row; of a two-dimensional matrix or a list of rows, each.

        Pure and deterministic: it changes nothing, and the same call gives the same bits.
        """
        if _sparse.is_table(x):
            return self._core.predict_many(*_sparse.rows(x, "x"))
        return self._core.predict(*_sparse.row(x))

    def learn(self, x: SparseRow, y: SupportsIndex, weight: float = 1.0) -> None:
        """Learn one example: a row, its label y in 0..n_classes-1, and a weight."""
        row = _sparse.row(x)
        self._core.learn(*row, _validate.label(y, self.n_classes), _validate.weight(weight))

    def run(self, X: SparseTable, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Probabilities (n, n_classes) of each row of X, made before its label in y is learned.

        The same as a loop of `predict` and `learn`, faster. All arguments are checked first: if one
        is refused, nothing was learned. Ctrl-C, and a weight above 10^12, stop between two rows;
        the rows before are then learned.
        """
        rows = _sparse.rows(X)
        n = len(rows.start) - 1
        labels = _validate.labels(y, self.n_classes, n)
        return self._core.run(*rows, labels, _validate.weights(weight, n))

    @property
    def steps(self) -> int:
        """Number of examples learned."""
        return self._core.steps

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Features that have weights of their own, so far."""
        return self._core.features

    def add_features(self, k: int) -> None:
        """Change nothing: features need not be announced."""
        _validate.count(k, "k")

    @property
    def most_features(self) -> int:
        """How many features can have weights of their own: `max_features`, if it is given."""
        return self._core.most_features

    @property
    def collisions(self) -> int:
        """How often an example was learned with a feature that shares the weights of another."""
        return self._core.collisions

    @property
    def memory(self) -> int:
        """Bytes that weights and keys take."""
        return int(self._core.bytes)

    @property
    def input_scale(self) -> float:
        """The mean square that values are measured by; 0 before the first row."""
        return self._core.scale

    @property
    def keys(self) -> Keys:
        """The keys of the features that have weights of their own, in the order they came in."""
        return self._core.keys()

    @property
    def intercept(self) -> Array:
        """The mean of the intercepts (n_classes,) under the mixture; it sums to zero."""
        return np.asarray(self._core.intercept()[0])

    def coef_of(self, keys: Iterable[int]) -> Array:
        """The mean of the weights (n_classes, len(keys)) of some features under the mixture.

        They sum to zero over the classes. Unknown features have weights 0.
        """
        return np.ascontiguousarray(self._coefficients(keys)[0].T)

    def coef_std_of(self, keys: Iterable[int]) -> Array:
        """The standard deviations that belong to `coef_of`: within the experts and between them."""
        return np.ascontiguousarray(self._coefficients(keys)[1].T)

    def _coefficients(self, keys: Iterable[int]) -> Array:
        checked = [_sparse.key(key, "the features") for key in as_list(keys, "keys")]
        return self._core.coefficients(np.array(checked, dtype=np.uint64))

    @property
    def experts(self) -> list[SparseExpert]:
        """The experts, by `expert_weights`: all settings at one width, then at the next."""
        return [SparseExpert(lam, b, alpha) for alpha in self.alphas for lam, b in self.grid]

    trust = _renamed.attribute("trust", "expert_weights")

    @property
    def expert_weights(self) -> Array:
        """The weight of each expert; all together 1."""
        return self._core.expert_weights()

    def report(self) -> str:
        """What it has chosen, in words and numbers.

        >>> f = SparseGAF(2)
        >>> f.learn({3: 1.0}, 1)
        >>> print(f.report())  # doctest: +ELLIPSIS
        SparseGAF after 1 examples: 1 features have weights of their own (of at most 12500000).
        ...
        """
        shares, experts = self.expert_weights, self.experts
        forgetting = sum(t for t, each in zip(shares, experts, strict=True) if each.b == 0)
        lines = [
            f"SparseGAF after {self.steps} examples: {self.n_features} features have weights of "
            f"their own (of at most {self.most_features}).",
            f"They take {self.memory / 1e6:.1f} MB. Features shared the weights of others "
            f"{self.collisions} times.",
            f"Values are measured by a mean square of {self.input_scale:.4g}. {forgetting:.0%} of "
            "the weight is in experts that forget.",
            "weight  expert",
        ]
        for i in np.argsort(-shares, kind="stable")[:5]:
            lam, b, alpha = experts[i]
            lines.append(f"{shares[i]:5.1%}  lam {lam:g}, b {b:g}, alpha {alpha:g}")
        return "\n".join(lines)

    def _grow(self, **sizes: int) -> None:
        larger = type(self)(**{**self._parameters, **sizes})
        larger._core.adopt(self._core)
        self._parameters, self._core = larger._parameters, larger._core

    def _fresh(self) -> Self:
        return type(self)(**self._parameters)

    def _combine(
        self, others: Sequence[Self], base: Self | None, changes: Sequence[Change]
    ) -> Self:
        # This model and the base have lost what they lost: the others began with what was left.
        start, before = (each._core.state() for each in (self, base or self._fresh()))
        states = [other.__getstate__()["state"] for other in others]
        grown = [state["steps"] - before["steps"] for state in states]
        merged = slots.combine(start, states, before, changes, self.grid, self.most_features)
        merged.update(combined_weights(start, states, before, grown, self.share))
        made = object.__new__(type(self))
        made.__setstate__({"parameters": self._parameters, "state": merged})
        return made

    def __getstate__(self) -> dict[str, Any]:
        state = slots.with_lost(self._core.state(), self._lost)
        return {"parameters": self._parameters, "state": state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        parameters = state["parameters"]
        known, lost = slots.taken(state["state"])
        K = _validate.count(parameters["n_classes"], "n_classes", least=2)
        with_weights = 1 if K == 2 else K
        width = 1 + with_weights * _lanes(len(checked_grid(parameters["grid"], "grid")))
        if known["slots"].shape != (len(known["keys"]) + 1, width):
            raise ValueError("the saved slots do not go with the saved keys and n_classes")
        self.__init__(**parameters)  # type: ignore[misc]
        self._lost = lost
        for name in [name for name, value in known.items() if isinstance(value, np.ndarray)]:
            known[name] = np.array(known[name])  # joblib may have mapped it into memory
        none = np.zeros((1, K))  # files from before there were offsets go on without
        self._core.restore({"corrects": 0, "offsets": none, "spread": none, **known})


def _lanes(settings: int) -> int:
    """Weights of a feature for one class: settings lie side by side in eights."""
    return -(-settings // 8) * 8
