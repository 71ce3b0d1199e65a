"""A regret bound for the logistic loss that needs no (A2), its form after the fact, and kernels.

For every lam > 0, 0 < alpha <= 1 and beta of (A3), GAF with exact expectations has regret at most
``lam B^2 + kappa / (2 alpha beta) log(|A_n| / |lam I|)``, ``kappa = (exp(s) - 1) / s``, ``s = R^2 /
(2 alpha lam)``. docs: Proofs has the proof. Against functions of a kernel's space there is no
dimension; the kernel matrix is in its place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array
from mixable.paper.bounds.common import Bound, check, largest_beta, least
from mixable.paper.integrals import EXACT, Envelope, Integrator, choose, proved_error


def excess(lam: float, bound: float, alpha: float = 1.0) -> float:
    """``kappa = (exp(s) - 1) / s >= 1`` with ``s = R^2 / (2 alpha lam)``.

    How much more the loss may curve under the posterior than at its mean: 1 for large lam.

    >>> round(excess(lam=0.5, bound=1.0), 4), round(excess(lam=50.0, bound=1.0), 4)
    (1.7183, 1.005)
    """
    s = bound**2 / (2 * alpha * lam)
    if s < 1e-8:
        return 1 + s  # above 1 + s/2 + ..., which would cancel
    return math.expm1(s) / s if s < 700 else math.inf


def sharp(
    n: int, n_features: int, n_classes: int, radius: float, bound: float, lam: float | None = None
) -> Bound:
    """``lam B^2 + kappa/(2 beta) D ln(1 + n beta R^2 / (2 lam K d))``, D = (K-1) d.

    With beta of `largest_beta` and kappa of `excess`, for any lam > 0; None takes the lam with the
    least bound. The forecaster is ``GAF.from_theory(..., horizon=n, constants="sharp")``, its
    expectations exact; its mu = 1/n costs 2 nats more.

    >>> from mixable.bounds import gaf
    >>> sharp(20_000, 2, 3, 2.0, 1.0), gaf(20_000, 2, 3, 2.0, 1.0)
    (Bound(29.15, lam=1.71, constants='sharp'), Bound(261, lam=10.7, constants='tight'))
    """
    check(n, n_features, n_classes, radius, bound)
    beta, D = largest_beta(n_classes, radius * bound), (n_classes - 1) * n_features
    c = n * beta * bound**2 / (2 * n_classes * n_features)

    def value(lam: float) -> float:
        return lam * radius**2 + excess(lam, bound) / (2 * beta) * D * math.log1p(c / lam)

    if lam is None:
        lam = least(value, bound**2 / 1000, max(bound**2, (1 + n) * D / radius**2))
    return Bound(value(_validate.real(lam, "lam", above=0)), lam, "sharp")


def widening(lam: float, beta: float, bound: float, alpha: float = 1.0) -> float:
    """``kappa / beta exp(R^2 / (4 lam)) X / log(1 + X)``, ``X = beta R^2 / (4 lam)``, >= 1.

    With `integrals.Envelope`, times ``log(|A_n| / |lam I|) / (2 alpha)``, a bound of what its
    forecasts lose against exact expectations in n examples.

    >>> round(widening(lam=2.0, beta=0.5, bound=1.0), 3), round(widening(50.0, 0.5, 1.0), 3)
    (2.654, 2.023)
    """
    grown = bound**2 / (4 * lam)
    X = beta * grown
    slope = X / math.log1p(X) if X > 1e-8 else 1 + X  # above 1 + X/2, which would cancel
    kappa = excess(lam, bound, alpha)
    return kappa / beta * math.exp(grown) * slope if grown < 700 else math.inf


def envelope(
    n: int, n_features: int, n_classes: int, lam: float, beta: float, bound: float
) -> float:
    """What `integrals.Envelope` may lose in n examples against exact expectations, at alpha = 1.

    ``widening / 2 D log(1 + n beta R^2 / (2 lam K d))``, D = (K-1) d. Any bound for exact
    expectations holds with this much more (and 3 n tolerance).

    >>> exact = sharp(20_000, 2, 10, 2.0, 1.0)
    >>> exact
    Bound(89.59, lam=5.11, constants='sharp')
    >>> round(envelope(20_000, 2, 10, exact.lam, beta=largest_beta(10, 2.0), bound=1.0), 2)
    73.61
    """
    check(n, n_features, n_classes, bound=bound)
    d, K = n_features, n_classes
    log_determinant = (K - 1) * d * math.log1p(n * beta * bound**2 / (2 * lam * K * d))
    return widening(lam, beta, bound) / 2 * log_determinant


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What a run of GAF has proved of its own regret, for every norm B of comparators at once.

    `regret(B)` bounds, for all weights of norm at most B, the loss of the forecasts less that of
    the weights. It is the sum of five parts: `comparator(B)`, `mixing`, `surrogates`,
    `expectations`, `smoothing`.

    Attributes
    ----------
    n_classes, lam, beta, alpha, mu, steps
        Of the forecaster.
    bound
        R: no input had a larger norm.
    largest_norm, largest_weight
        Of the inputs and the examples that were learned. None: not known, since the run began with
        version 0.2.0 or before, or the number of classes grew.
    log_determinant
        ``log(|A_n| / |lam I|)``, what the inputs have told.
    is_exact
        Whether the error of the forecaster's expectations is proved: two classes, by quadrature,
        or more with `integrals.Certified` or `integrals.Envelope`. If not, the certificate is for
        the same forecaster with exact ones.
    error
        That error: nats for each example.
    enveloped
        Whether the expectations are those of `integrals.Envelope`.
    """

    n_classes: int
    lam: float
    beta: float
    alpha: float
    mu: float
    steps: int
    bound: float
    largest_norm: float | None
    largest_weight: float | None
    log_determinant: float
    is_exact: bool
    error: float = EXACT
    enveloped: bool = False

    @property
    def mixing(self) -> float:
        """``log(|A_n| / |lam I|) / (2 alpha)``: the price of not knowing the best weights."""
        return self.log_determinant / (2 * self.alpha)

    @property
    def surrogates(self) -> float:
        """A bound of the sum of the Omega_t, the price of quadratics in place of losses."""
        kappa = excess(self.lam, self.bound, self.alpha)
        return (kappa / self.beta - 1) * self.mixing if self.mixing > 0 else 0.0

    @property
    def expectations(self) -> float:
        """What `integrals.Envelope` may have lost against exact expectations; else 0."""
        if not self.enveloped or self.mixing <= 0:
            return 0.0
        return widening(self.lam, self.beta, self.bound, self.alpha) * self.mixing

    @property
    def smoothing(self) -> float:
        """``-n log(1 - mu (1 - 1/K))``, and what the expectations may be wrong by, if proved."""
        most = -math.log1p(-self.mu * (1 - 1 / self.n_classes))
        return self.steps * (most + (self.error if self.is_exact else 0.0))

    def comparator(self, radius: float) -> float:
        """``lam B^2``: the regulariser of the best weights."""
        return self.lam * _validate.scale(radius, "radius") ** 2

    def regret(self, radius: float) -> float:
        """The bound for B = `radius`; infinite beyond `radius_limit`, and if not `holds`."""
        comparator = self.comparator(radius)
        if not self.holds or self.beta > largest_beta(self.n_classes, radius * self.bound):
            return math.inf
        return comparator + self.mixing + self.surrogates + self.expectations + self.smoothing

    @property
    def holds(self) -> bool:
        """Whether no input was longer than `bound`, and no example had a weight above 1."""
        if self.largest_norm is None or self.largest_weight is None:
            return False
        return self.largest_norm <= self.bound * (1 + 1e-9) and self.largest_weight <= 1

    @cached_property
    def radius_limit(self) -> float:
        """The largest B, to 1e-6 of it, for which beta is valid; 0 if it is for none."""
        low, high = 1e-6, 1e6  # of B R
        if self.beta > largest_beta(self.n_classes, low):
            return 0.0
        while high / low > 1 + 1e-6:
            middle = math.sqrt(low * high)
            if self.beta > largest_beta(self.n_classes, middle):
                high = middle
            else:
                low = middle
        return low / self.bound


def certified(
    integrator: Integrator | str | None,
    *,
    n_classes: int,
    lam: float,
    alpha: float,
    bound: float,
    beta: float,
    mu: float,
    steps: int,
    largest_norm: float,
    largest_weight: float,
    log_determinant: float,
) -> Certificate:
    """The certificate of a forecaster with this integrator; a largest one below 0 is not known."""
    R = _validate.scale(bound, "bound")
    width = math.sqrt(n_classes - 1) * R**2 / (2 * alpha * lam)  # the most that |S| can be
    error = proved_error(integrator, n_classes, width)
    return Certificate(
        n_classes=n_classes,
        lam=lam,
        beta=beta,
        alpha=alpha,
        mu=mu,
        steps=steps,
        bound=R,
        largest_norm=largest_norm if largest_norm >= 0 else None,
        largest_weight=largest_weight if largest_weight >= 0 else None,
        log_determinant=log_determinant,
        is_exact=error is not None,
        error=EXACT if error is None else error,
        enveloped=isinstance(choose(integrator, n_classes), Envelope),
    )


def log_determinant(gram: ArrayLike, scale: float) -> float:
    """``log |I + gram / scale|`` of a kernel matrix (n, n): what n inputs can tell.

    At most d_eff (1 + log(1 + |gram| / scale)), with the effective dimension d_eff = tr gram (gram
    + scale I)^-1 of `kernels.effective_dimension` and |gram| the largest eigenvalue.

    >>> round(log_determinant(np.eye(3), scale=1.0), 4), round(3 * math.log(2), 4)
    (2.0794, 2.0794)
    """
    eigenvalues = _eigenvalues(gram)
    return float(np.log1p(eigenvalues / _validate.scale(scale, "scale")).sum())


def kernel(
    gram: ArrayLike,
    n_classes: int,
    radius: float,
    lam: float | None = None,
    residuals: ArrayLike | None = None,
) -> Bound:
    """``lam B^2 + kappa/(2 beta) (K-1) log |I + beta gram / (4 lam)|``, for `KernelGAF`.

    With beta of `largest_beta`, kappa of `excess` and R^2 = max k(x, x): the regret to all
    functions f_1, ..., f_K of the kernel's space with sum |f_c|^2 <= B^2, `radius` being B, of a
    forecaster with that lam and beta. None takes the lam with the least bound.

    Nystroem's features leave a residual r_t = k(x_t, x_t) - |phi(x_t)|^2 of each input when it is
    predicted. A forecaster on such features has `gram` = phi phi^T, and to the same functions at
    most sqrt(2) B sum sqrt(r_t) more: `residuals` (n,).

    >>> from mixable.kernels import rbf
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> kernel(rbf(X, X, 1.0), n_classes=2, radius=2.0)
    Bound(13.92, lam=1.49, constants='sharp')
    """
    eigenvalues = _eigenvalues(gram)
    check(len(eigenvalues), 1, n_classes, radius, 1.0)
    left = np.asarray([] if residuals is None else residuals, dtype=np.float64)
    _validate.refuse(~(left >= 0), left, "residuals", "residuals must be at least 0")
    bound = math.sqrt(float(np.diag(np.asarray(gram)).max(initial=0.0)))
    if not bound > 0:
        raise ValueError("gram must have a diagonal entry above 0")
    beta = largest_beta(n_classes, radius * bound)

    def value(lam: float) -> float:
        log_det = float(np.log1p(beta / (4 * lam) * eigenvalues).sum())
        return lam * radius**2 + excess(lam, bound) / (2 * beta) * (n_classes - 1) * log_det

    if lam is None:
        most = max(bound**2, n_classes * float(eigenvalues.sum()) / radius**2)
        lam = least(value, bound**2 / 1000, most)
    more = math.sqrt(2) * radius * float(np.sqrt(left).sum())
    return Bound(value(_validate.real(lam, "lam", above=0)) + more, lam, "sharp")


def fourier(n: int, n_components: int, radius: float, together: int = 1) -> float:
    """``2 n B sqrt(t / m)``: what m random Fourier features may add to the regret, on average.

    m is `n_components`, B the `radius`. A function f of norm B of the kernel's space is a mean over
    frequencies. The mean over those drawn is linear in the features, with weights whose squared
    norm is B^2 on average over the draws, and its logits are off by B sqrt(2 / m) at most, in the
    root of the mean square. The loss changes by at most sqrt(2) times the change of the logits. So
    the mean regret, over the draws, to f is at most that to linear functions of the features, with
    B^2 for the mean of |theta|^2, and this more. A bound to linear functions needs a beta for the
    one that is drawn, whose norm may be larger than B.

    That is for frequencies that are independent, `together` = 1. `kernels.Fourier` draws t =
    n_features at a time, orthogonal to each other: each block counts at least as one of them.

    >>> fourier(1000, 10_000, radius=2.0), fourier(1000, 10_000, radius=2.0, together=4)
    (40.0, 80.0)
    """
    check(n, radius=radius)
    m = _validate.count(n_components, "n_components")
    t = _validate.count(together, "together")
    return 2 * n * radius * math.sqrt(t / m)


def _eigenvalues(gram: ArrayLike) -> Array:
    """Of a kernel matrix; rounding may leave some a little below 0."""
    matrix = _validate.as_floats(gram, "gram")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"gram must be a square matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T):
        raise ValueError("gram must be finite and symmetric")
    values = np.linalg.eigvalsh(matrix)
    if len(values) and values[0] < -1e-8 * max(float(values[-1]), 0.0) - 1e-300:
        raise ValueError(f"gram must have no negative eigenvalue, got {values[0]:.3g}")
    return np.asarray(np.maximum(values, 0.0))
