"""The largest beta of (A3): valid everywhere, and no larger one is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixable import bounds
from mixable.losses import Logistic
from mixable.paper.bounds.common import largest_log_odds

SIZES = [(2, 0.01), (2, 0.3), (2, 8.0), (3, 2.0), (3, 0.1), (7, 5.0), (40, 1.0)]


def inverse_needed(a, b):
    """``Var_p(log p/q) / (2 KL(p, q))``, q = softmax(a), p = softmax(b), in extended precision."""
    a, b = np.asarray(a, np.longdouble), np.asarray(b, np.longdouble)
    log_q, log_p = a - np.logaddexp.reduce(a), b - np.logaddexp.reduce(b)
    p, x = np.exp(log_p), log_p - log_q
    divergence = (p * x).sum()
    return float((p * (x - divergence) ** 2).sum() / (2 * divergence))


def in_ball(a, product):
    a = np.asarray(a, dtype=float) - np.mean(a)
    return a * min(1.0, product / max(np.linalg.norm(a), 1e-300))


@given(
    size=st.sampled_from(SIZES),
    seed=st.integers(0, 2**32 - 1),
    spread=st.floats(0.1, 20),
    edge=st.booleans(),
)
def test_it_is_valid_at_points_of_all_kinds(size, seed, spread, edge):
    K, product = size
    rng = np.random.default_rng(seed)
    a = in_ball(rng.normal(size=K) * (100 * product if edge else product / K), product)
    b = spread * rng.normal(size=K)
    if np.abs(b - b.mean() - a).max() > 1e-3:
        assert inverse_needed(a, b) <= 1 / bounds.largest_beta(K, product)


@pytest.mark.parametrize(("K", "product"), SIZES)
def test_a_beta_larger_by_some_ten_thousandths_break_it(K, product):
    """The comparator has the least q of a class, and all others share p in the proportions of q:
    the worst case of the proof, found here by plain search.
    """
    N = K - 1
    values = []
    for x in np.linspace(1 / N, 1, 2001) if N > 1 else [1.0]:
        s = np.full(N, (1 - x) / max(N - 1, 1))
        s[0] = x
        a = in_ball([-1.0, *s], math.inf)
        a *= product / np.linalg.norm(a)
        log_q = a - np.logaddexp.reduce(a)
        values.append((np.log(-np.expm1(log_q[0])) - log_q[0], tuple(a)))
    W, a = max(values)
    assert W * (1 - 1e-12) <= largest_log_odds(K, product) <= W * (1 + 1e-5)
    q = np.exp(a) / np.exp(a).sum()
    worst = 1.0
    for v in np.linspace(-W, W, 4001)[:-1]:
        P = 1 / (1 + math.exp(-v))  # of all classes but the first
        b = np.log(np.concatenate([[1 - P], P * q[1:] / q[1:].sum()]))
        if W - v > 1e-2:
            worst = max(worst, inverse_needed(a, b))
    found = 1 / bounds.largest_beta(K, product)
    assert worst <= found <= worst * (1 + 2e-4)


def test_it_improves_on_the_formulas_and_falls():
    for K in (2, 3, 10, 1000):
        products = np.geomspace(1e-3, 1e8, 25)
        betas = [bounds.largest_beta(K, product) for product in products]
        assert (np.diff(betas) < 1e-12).all()
        for product, beta in zip(products, betas, strict=True):
            tight = Logistic(K).constants(product, 1.0, kind="tight").beta
            assert beta >= tight * (1 - 2e-4)
    assert 1 / bounds.largest_beta(2, 8.0) == pytest.approx(4.6385, abs=1e-3)


@pytest.mark.parametrize(
    ("K", "product", "name"), [(1, 1.0, "n_classes"), (2, 0.0, "product"), (2, "1", "product")]
)
def test_bad_arguments_are_refused(K, product, name):
    with pytest.raises((ValueError, TypeError), match=name):
        bounds.largest_beta(K, product)


@pytest.mark.parametrize("K", [2, 10])
def test_beyond_log_odds_of_a_million_a_formula_takes_over(K):
    """It is valid there, goes on where the search ends, and has no more than 2e-5 to spare."""
    below, above = 0.999e6 / math.sqrt(2), 1.01e6 / math.sqrt(2)
    inverse = [1 / bounds.largest_beta(K, product) for product in (below, above)]
    W = largest_log_odds(K, above)
    assert largest_log_odds(K, below) < 1e6 < W
    assert inverse[1] / inverse[0] == pytest.approx(1.01 / 0.999, rel=2e-4)
    v = np.linspace(-30, 10, 20_001)  # the ratio of the proof, where KL has digits enough
    P, tail = 1 / (1 + np.exp(-v)), np.logaddexp(0, v)
    worst = (P * (1 - P) * (W - v) ** 2 / (2 * ((1 - P) * (W - v) - tail + v))).max()
    assert worst <= inverse[1] <= worst * (1 + 1e-3)
