"""The logistic loss: its lemmas, its constants, its arguments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mixable.integrals import softmax
from mixable.losses import Logistic, check_assumptions, log_loss


@pytest.mark.parametrize("gap", [0.0, 5.0, 50.0, 300.0])
def test_the_hessian_is_semidefinite_when_one_class_is_certain(gap):
    H = Logistic(3).hessian(np.array([gap, 0.0, 0.5]), 0)
    scales = np.sqrt(np.diag(H))
    assert (scales > 0).all()
    assert np.linalg.eigvalsh(H / np.outer(scales, scales))[0] > -1e-12
    np.testing.assert_allclose(H.sum(axis=0), 0, atol=1e-15 * H.max())


def test_logistic_value_has_no_overflow_and_no_cancellation():
    loss = Logistic(3)
    assert loss.value(np.array([800.0, 0.0, 0.0]), 1) == pytest.approx(800.0)
    assert loss.value(np.array([40.0, 0.0, 0.0]), 0) == pytest.approx(2 * np.exp(-40.0), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "beta", "gamma", "zeta"),
    [
        ("paper", 1 / (np.log(4) / 2 + 7), 9.0, 36.0),
        ("tight", 1 / (np.log(4) / 2 + 6 / 2**0.5 + 1), 4.5, 1.278),
    ],
)
def test_logistic_constants(kind, beta, gamma, zeta):
    assert Logistic(4).constants(radius=2.0, bound=3.0, kind=kind) == pytest.approx(
        (1.0, beta, gamma, zeta)
    )


KINDS = ["paper", "tight"]
logits = st.integers(2, 6).flatmap(
    lambda K: st.tuples(
        arrays(float, K, elements=st.floats(-1, 1)), arrays(float, K, elements=st.floats(-12, 12))
    )
)


@settings(max_examples=300, deadline=None)
@given(points=logits, reach=st.floats(0.01, 20), kind=st.sampled_from(KINDS))
def test_lemma_4_quadratic_lower_bound(points, reach, kind):
    """(A3) for z1 = W x with |W| <= B, |x| = R: |z1| <= B R = reach, z2 free."""
    direction, z2 = points
    norm = np.linalg.norm(direction)
    z1 = direction * reach / norm if norm > 0.1 else direction
    loss = Logistic(len(z2))
    beta = loss.constants(reach, 1.0, kind=kind).beta
    dz = z1 - z2
    lower = loss.value(z2, 0) + loss.gradient(z2, 0) @ dz + beta / 2 * dz @ loss.hessian(z2, 0) @ dz
    assert loss.value(z1, 0) >= lower - 1e-9 * (1 + abs(lower))


@settings(max_examples=300, deadline=None)
@given(points=logits)
def test_lemma_5_softmax_mean(points):
    _, b = points
    assert softmax(b) @ b >= b.max() - np.log(len(b)) - 1e-12


@settings(max_examples=300, deadline=None)
@given(points=logits, scale=st.floats(0.01, 10), kind=st.sampled_from(KINDS))
def test_lemma_6_self_concordance(points, scale, kind):
    """(A2) with R = 1, in the worst case |theta_1 - theta_2| = |z1 - z2|."""
    direction, z2 = points
    loss = Logistic(len(z2))
    zeta = loss.constants(1.0, 1.0, kind=kind).zeta
    dz = scale * direction
    p = softmax(z2)
    upper = np.exp(min(zeta * dz @ dz, 700)) * (
        p @ (dz - p @ dz) ** 2
    )  # the Hessian's form, without cancellation
    gap = loss.value(z2 + dz, 0) - loss.value(z2, 0) - loss.gradient(z2, 0) @ dz
    assert gap <= upper + 1e-9 * (1 + abs(gap))


def test_zeta_is_what_the_proof_of_lemma_6_leaves():
    """psi(t) <= exp(c t^2) with c = 0.0708; so 0.283 R^2 for the coefficient 2 R, and 0.142 R^2 for
    sqrt(2) R, which holds.
    """
    t = np.linspace(0.5, 20, 20_001)
    c = (np.log((np.expm1(t) - t) / t**2) / t**2).max()
    assert (round(c, 4), round(4 * c, 3), round(2 * c, 3)) == (0.0708, 0.283, 0.142)
    zeta = Logistic(3).constants(1.0, 3.0, kind="tight").zeta
    assert 2 * c <= zeta / 9 < 2 * c * 1.01
    rng = np.random.default_rng(0)
    ratios = []
    for p in rng.dirichlet(np.full(3, 0.1), size=2000):
        h, k = rng.normal(size=(2, 3))
        h, k = h - h.mean(), k - p @ k
        ratios.append(abs(p @ ((h - p @ h) * k**2)) / max(p @ k**2, 1e-300) / np.linalg.norm(h))
    assert 1.3 < max(ratios) <= np.sqrt(2) * (1 + 1e-9)


@settings(max_examples=200, deadline=None)
@given(points=logits, kind=st.sampled_from(KINDS))
def test_smoothness(points, kind):
    """(A4) with R = 1."""
    _, z = points
    loss = Logistic(len(z))
    assert (
        np.linalg.eigvalsh(loss.hessian(z, 0))[-1]
        <= loss.constants(1.0, 1.0, kind=kind).gamma + 1e-12
    )


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 6))
def test_lemma_7_trace(seed, d):
    rng = np.random.default_rng(seed)
    low, B = (rng.normal(size=(d, d + 1)) for _ in range(2))
    A_minus_B, B = low @ low.T + 1e-3 * np.eye(d), B @ B.T
    A = A_minus_B + B
    assert (
        np.trace(np.linalg.solve(A, B))
        <= np.linalg.slogdet(A)[1] - np.linalg.slogdet(A_minus_B)[1] + 1e-9
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("K", "radius", "bound"),
    [
        (2, 3.0, 1.0),
        (2, 15.0, 1.0),
        (3, 2.0, 1.0),
        (3, 100.0, 1.0),
        (3, 20.0, 0.05),
        (5, 1.0, 4.0),
        (10, 6.0, 0.5),
    ],
)
def test_logistic_constants_survive_the_search(K, radius, bound, kind):
    report = check_assumptions(Logistic(K), radius, bound, constants=kind, points=100)
    assert report.holds, report.violation
    assert report.constants == Logistic(K).constants(radius, bound, kind=kind)


def test_log_loss_checks_its_arguments():
    p = [[0.5, 0.5], [0.9, 0.1]]
    for y, message in [
        ([0], "shape"),
        ([0, -1], r"y\[1\] is -1"),
        ([0, 2], r"y\[1\] is 2"),
        ([0.0, 1.0], "integer"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            log_loss(p, y)
    assert log_loss([[1.0, 0.0]], [1])[0] == np.inf
