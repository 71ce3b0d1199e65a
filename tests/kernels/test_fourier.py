"""Fourier features: orthogonal frequencies, and the kernel that they stand for."""

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler

from mixable.kernels import Fourier, rbf


@pytest.mark.parametrize(("d", "m"), [(30, 10), (30, 100), (4, 9), (0, 4)])
def test_frequencies_are_orthogonal_in_blocks(d, m):
    frequencies = Fourier(d, m, gamma=0.5).frequencies
    assert frequencies.shape == (d, m)
    for begin in range(0, (m + 1) // 2, max(d, 1)):
        block = frequencies[:, begin : min(begin + d, (m + 1) // 2)]
        np.testing.assert_allclose(block.T @ block, np.diag((block**2).sum(axis=0)), atol=1e-10)


def test_frequencies_have_the_lengths_of_normal_vectors():
    for d in (5, 200):  # in whole blocks, and in a part of one
        squares = [
            (Fourier(d, 40, gamma=0.5, seed=seed).frequencies[:, :20] ** 2).sum(axis=0)
            for seed in range(50)
        ]
        assert np.mean(squares) == pytest.approx(d, rel=0.05)


def test_fourier_features_have_norm_1_and_are_closer_to_the_kernel_than_independent_ones(rng):
    Z = rng.normal(size=(200, 8))
    exact = rbf(Z, Z, 0.1)
    own, theirs = [], []
    for seed in range(10):
        phi = Fourier(8, 64, gamma=0.1, seed=seed).transform(Z)
        np.testing.assert_allclose((phi**2).sum(axis=1), 1, atol=1e-12)
        own.append(np.mean((phi @ phi.T - exact) ** 2))
        phi = RBFSampler(gamma=0.1, n_components=64, random_state=seed).fit_transform(Z)
        theirs.append(np.mean((phi @ phi.T - exact) ** 2))
    assert np.mean(own) < 0.5 * np.mean(theirs)


def test_an_odd_number_of_fourier_features_is_unbiased_too(rng):
    Z = rng.normal(size=(20, 2))
    each = [Fourier(2, 3, gamma=0.5, seed=seed).transform(Z) for seed in range(2000)]
    np.testing.assert_allclose(
        np.mean([phi @ phi.T for phi in each], axis=0), rbf(Z, Z, 0.5), atol=0.06
    )
