"""Expectations of a softmax under a Gaussian, by brute force."""

import numpy as np

from mixable.integrals import helmert, softmax


def brute_force(mean, covariance):
    """E softmax(Q z) by the trapezoid rule on a tensor grid, for up to three dimensions."""
    k = len(mean)
    z = np.linspace(-8.0, 8.0, 161 if k < 3 else 81)
    grid = np.array(np.meshgrid(*[z] * k)).reshape(k, -1)
    density = np.exp(-0.5 * (grid**2).sum(axis=0))
    values, vectors = np.linalg.eigh(covariance)
    p = softmax(helmert(k + 1) @ (mean[:, None] + (vectors * np.sqrt(values)) @ grid))
    return p @ density / density.sum()


def random_gaussian(rng, k, width):
    basis, _ = np.linalg.qr(rng.normal(size=(k, k)))
    eigenvalues = width * np.append(1.0, rng.uniform(0.05, 1, k - 1))
    return 1.5 * rng.normal(size=k), (basis * eigenvalues) @ basis.T


def log_error(p, q):
    return np.abs(np.log(p) - np.log(q)).max()
