"""Regret against functions of a kernel's space: no dimension, the kernel matrix in its place."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array
from mixable.paper.bounds.beta import largest_beta
from mixable.paper.bounds.certificate import excess
from mixable.paper.bounds.common import Bound, check, least


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
