"""Each class against the rest: bounds from above of E softmax, and what their sum may be."""

import json
import math

import numpy as np
import pytest
from saved_files import rewritten
from streams import share

from mixable import GAF, AutoGAF, GenericGAF, bounds, dumps, loads
from mixable.integrals import Envelope, envelope, expectation, helmert, proved_error, softmax
from mixable.losses import Logistic

X = 0.05 * (np.arange(200) + 0.5)  # a fine rule for N(0, 1)
RULE = X, np.exp(-0.5 * X**2) / (2 * np.exp(-0.5 * X**2).sum())


def gaussians(K, width, rng):
    """Means far and near; one logit moves alone, or all do."""
    for scale in (0.0, 3.0):
        mean, root = scale * rng.normal(size=K), rng.normal(size=(K, K))
        yield mean, width * np.outer(np.eye(K)[0], np.eye(K)[0])
        yield mean, width * root @ root.T / np.linalg.norm(root @ root.T)


def for_three_classes(mean, S, step=0.16, most=13.0):
    """E softmax by the trapezoid rule in three dimensions."""
    x = np.arange(-most, most, step)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(x, x)])
    weights = np.exp(-0.5 * (grid**2).sum(axis=0))
    Q = helmert(3)
    values, vectors = np.linalg.eigh(Q.T @ S @ Q)
    root = Q @ vectors * np.sqrt(np.maximum(values, 0))
    return softmax(mean[:, None] + root @ grid) @ weights / weights.sum()


@pytest.mark.parametrize("width", [0.1, 1.0, 10.0])
def test_no_label_of_three_classes_has_more(width):
    """And with half of the variance, some have."""
    broken = []
    for mean, S in gaussians(3, width, np.random.default_rng(0)):
        exact = for_three_classes(mean, S)
        assert (envelope(mean, S, *RULE) >= exact * (1 - 1e-9)).all()
        broken.append((envelope(mean, S / 2, *RULE) < exact * (1 - 1e-6)).any())
    assert any(broken)


@pytest.mark.parametrize("K", [7, 10, 26])
def test_no_label_of_more_classes_has_more(K):
    """By 50,000 random points: none is above by five deviations. With half of the variance some
    are.
    """
    rng = np.random.default_rng(1)
    broken = []
    for mean, S in gaussians(K, 4.0, rng):
        values, vectors = np.linalg.eigh(S)
        root = vectors * np.sqrt(np.maximum(values, 0))
        p = softmax(mean[:, None] + root @ rng.normal(size=(K, 50_000)))
        least = p.mean(axis=1) - 5 * p.std(axis=1) / math.sqrt(50_000)
        assert (envelope(mean, S, *RULE) >= least).all()
        broken.append((envelope(mean, S / 2, *RULE) < least).any())
    assert any(broken)


def test_it_is_exact_where_one_logit_moves_alone_and_for_two_classes():
    rng = np.random.default_rng(2)
    mean = np.array([0.3, -1.0, 2.0])
    S = 2.0 * np.outer(np.eye(3)[0], np.eye(3)[0])
    assert envelope(mean, S, *RULE)[0] == pytest.approx(for_three_classes(mean, S)[0], rel=1e-9)
    for m, v in rng.normal(size=(5, 2)):
        two = envelope(np.array([m, 0.0]), np.diag([v * v, 0.0]), *RULE)
        assert two.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("K", [3, 7, 26])
def test_the_sum_of_the_bounds_is_at_most_what_the_proof_says_and_no_less_than_half(K):
    """log sum U <= sum p (exp(v/2) - 1), v the variance of a logit less the mean logit under p."""
    rng, shares = np.random.default_rng(3), []
    behind = np.eye(K)[1] - np.eye(K)[2]  # two of those that do not lead
    for width in (0.01, 0.3, 3.0):
        led = 3 * np.eye(K)[0], width * np.outer(behind, behind)
        for mean, S in [led, *gaussians(K, width, rng)]:
            p = softmax(mean)
            g = np.eye(K) - p
            v = np.einsum("ca,ab,cb->c", g, S, g)
            price, most = math.log(envelope(mean, S, *RULE).sum()), p @ np.expm1(v / 2)
            assert -1e-12 <= price <= most
            shares.append(price / most)
    assert max(shares) > 0.7


@pytest.mark.parametrize("K", [2, 3, 10])
def test_its_points_are_as_good_as_it_says(K):
    """Against a fine rule, up to its reach; and half as many points are not."""
    rng, ladder = np.random.default_rng(4), Envelope(1e-5).rungs(K - 1, 0)
    Q, worse = helmert(K), []
    for width in (0.01, 0.3, 3.0, 0.999 * Envelope().reach):
        for mean, S in gaussians(K, width, rng):
            S = Q.T @ S @ Q
            S *= width / max(np.linalg.norm(S), 1e-300)
            exact = envelope(Q @ Q.T @ mean, Q @ S @ Q.T, *RULE)
            rung = next(rung for rung in ladder if width <= rung.reach)
            found = envelope(Q @ Q.T @ mean, Q @ S @ Q.T, rung.points[0], rung.weights)
            assert np.abs(np.log(found / exact)).max() <= 1e-5
            np.testing.assert_allclose(expectation(Q.T @ mean, S, ladder), found / found.sum())
            weights = rung.weights[::2] / (2 * rung.weights[::2].sum())
            fewer = envelope(Q @ Q.T @ mean, Q @ S @ Q.T, rung.points[0][::2], weights)
            worse.append(np.abs(np.log(fewer / exact)).max() > 1e-5)
    assert share(worse) > 0.25


@pytest.mark.parametrize("K", [2, 3, 7, 26])
def test_the_core_and_the_reference_agree(K):
    rng = np.random.default_rng(5)
    inputs, labels = 3 * rng.normal(size=(60, 3)), rng.integers(K, size=60)
    inputs[30] *= 100  # sure of itself
    f = GAF(3, K, lam=0.5, mu=0.0, alpha=1.0, integrator=Envelope())
    g = GenericGAF(Logistic(K, integrator=Envelope()), 3, lam=0.5, beta=f.beta, alpha=1.0)
    np.testing.assert_allclose(f.run(inputs, labels), g.run(inputs, labels), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("K", [3, 8])
def test_a_class_may_be_ahead_by_any_number_of_nats(K):
    """exp(-745) is 0: what the first class stands against must not be lost with it."""
    f = GAF(2, K, lam=1e-3, integrator=Envelope())
    for _ in range(20):
        f.learn([30.0, 1.0], 0)
    logits = f.coef @ [3e4, 1.0]
    assert logits[0] - logits[1:].max() > 745
    p = f.predict([3e4, 1.0])
    assert p.argmax() == 0
    np.testing.assert_allclose(p.sum(), 1.0)


def test_what_is_proved_and_how_far():
    reach = Envelope().reach
    assert proved_error(Envelope(1e-4), 26, width=reach) == pytest.approx(3e-4)
    assert proved_error("envelope", 7, width=1.01 * reach) is None
    for K in (5, 7, 26):
        f = GAF.from_theory(2, K, radius=2.0, bound=1.0, horizon=100)
        assert f.integrator == Envelope()
        assert f.certificate(bound=1.0).enveloped
    mixture = AutoGAF.from_theory(2, 7, bound=1.0, max_radius=2.0)
    assert mixture.integrator == Envelope()
    assert mixture.run(np.eye(2), [0, 1]).sum(axis=1) == pytest.approx(1.0)
    for tolerance in (1e-9, 0.1):
        assert GAF(2, 3, integrator=Envelope(tolerance)).predict([1.0, 0.0]) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="tolerance"):
        Envelope(1.0)
    assert bounds.widening(1e-4, 0.5, 1.0) == math.inf


def test_it_is_saved_and_a_forged_tolerance_is_refused():
    f = GAF.from_theory(2, 7, radius=2.0, bound=1.0, horizon=100)
    f.run(np.eye(2), [0, 6])
    data = dumps(f)
    g = loads(data)
    assert g.integrator == Envelope()
    np.testing.assert_array_equal(g.predict([1.0, 0.5]), f.predict([1.0, 0.5]))
    size = int.from_bytes(data[:8], "little")
    model = json.loads(data[8 : 8 + size])["__metadata__"]["model"]
    assert model.count("1e-06") == 1
    for wrong in ("1e-99", "false", "99999"):
        with pytest.raises((ValueError, TypeError), match="tolerance"):
            loads(rewritten(data, model=model.replace("1e-06", wrong)))
