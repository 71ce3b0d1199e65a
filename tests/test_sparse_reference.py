"""The specification of SparseGAF: its parts by hand. tests/core/test_sparse.py compares."""

import math

import numpy as np
import pytest
from sparse_reference import SparseReference

from mixable.integrals import softmax


def test_the_first_step_by_hand():
    """One feature of unit size and an intercept: p = 1/2, so acc = 1/2 for both."""
    f = SparseReference(2, grid=[(0.1, 0.3)], alphas=[math.inf], share=0.0)
    np.testing.assert_allclose(f.predict({5: 3.0}), 0.5)
    f.learn({5: 3.0}, 1)
    assert f.scale == 9
    assert f.acc[5] == f.acc[None] == 0.5
    a = 0.1 + 0.3 * 0.5**0.75
    # u = m - (g / 2) (softmax(u) - e_y) with m = 0, g = 2 / a, and u = W x.
    u = 2 * f.W[5][0]
    np.testing.assert_allclose(u, -(softmax(u) - [0, 1]) / a, rtol=1e-9)
    np.testing.assert_allclose(f.W[5], f.W[None])


def test_a_hedge_divides_what_is_beyond_the_intercept():
    f = SparseReference(3, grid=[(2.0, 0.0)], alphas=[16.0, math.inf], share=0.0)
    f.learn({1: 1.0}, 2)
    f.offsets[:] = 0
    base = f.W[None][0]
    hedged, bare = (np.log(p) - base for p in f.experts({1: 1.0}))
    g = 2 / 2.0
    factor = math.sqrt(1 + math.pi / 4 * g / (2 * 16))
    np.testing.assert_allclose(factor * (hedged - hedged[0]), bare - bare[0])


def test_trust_follows_the_likelihood_and_share():
    f = SparseReference(2, grid=[(0.01, 0.1), (100.0, 0.0)], alphas=[math.inf], share=0.1)
    for _ in range(20):
        f.learn({1: 1.0}, 1)
    assert f.trusts[1, 0] > f.trusts[0, 0] > 0.85
    assert f.trusts[0, 1] >= 0.05
    np.testing.assert_allclose(f.trusts.sum(axis=1), 1)


@pytest.mark.parametrize("weight", [0.5, 3.0])
def test_a_weight_multiplies_the_loss(weight):
    f = SparseReference(2, grid=[(1.0, 0.0)], alphas=[math.inf], share=0.0)
    f.learn({1: 1.0}, 1, weight)
    u = 2 * f.W[1][0]
    np.testing.assert_allclose(u, -weight * (softmax(u) - [0, 1]) / 1.0, rtol=1e-9)
    assert f.acc[1] == weight * 0.5
