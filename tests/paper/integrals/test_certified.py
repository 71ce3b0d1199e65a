"""Certified expectations: never off by more than they say, where another lattice would be."""

import math

import numpy as np
import pytest
from streams import LABELS, play

from mixable import GAF, bounds, regret
from mixable.integrals import Certified, Sobol, expectation, helmert, proved_error, softmax
from mixable.paper.integrals.certified import (
    WIDTHS,
    Lattice,
    aliasing,
    lattice_rung,
    shells,
    smallest_lattice,
)


def by_brute_force(mean, S, step=0.16, most=13.0):
    """The trapezoid rule with far more points than any lattice here."""
    k = len(mean)
    x = np.arange(-most, most, step)
    weight = np.exp(-0.5 * x * x)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*[x] * k)])
    weights = np.prod(np.stack([w.ravel() for w in np.meshgrid(*[weight] * k)]), axis=0)
    values, vectors = np.linalg.eigh(S)
    root = vectors * np.sqrt(np.maximum(values, 0))
    p = softmax(helmert(k + 1) @ (mean[:, None] + root @ grid))
    return p @ weights / weights.sum()


def gaussians(k, width, rng):
    """Means far and near, covariances of norm `width`: along one difference of logits, and any."""
    line = helmert(k + 1).T @ np.eye(k + 1)[0] - helmert(k + 1).T @ np.eye(k + 1)[1]
    for scale in (0.0, 6.0):
        root = rng.normal(size=(k, k))
        for S in (np.outer(line, line), root @ root.T):
            yield scale * rng.normal(size=k), width * S / np.linalg.norm(S)


@pytest.mark.parametrize(("K", "tolerance"), [(3, 1e-3), (3, 1e-5), (4, 1e-3)])
def test_no_label_loses_more_than_the_tolerance(K, tolerance):
    rng, ladder = np.random.default_rng(0), Certified(tolerance).rungs(K - 1, 0)
    brute = {"step": 0.16, "most": 13.0} if K == 3 else {"step": 0.3, "most": 7.5}
    for width in WIDTHS if K == 3 else (0.1, 1.0):
        for mean, S in gaussians(K - 1, width * (1 - 1e-9), rng):
            exact = by_brute_force(mean, S, **brute)
            assert np.log(exact / expectation(mean, S, ladder)).max() <= tolerance


def worst(lattice, width):
    rng, rung = np.random.default_rng(1), lattice_rung(2, lattice, math.inf)
    pairs = [(by_brute_force(m, S), expectation(m, S, [rung])) for m, S in gaussians(2, width, rng)]
    return max(np.log(exact / p).max() for exact, p in pairs)


@pytest.mark.parametrize("width", [0.1, 1.0])
def test_a_wider_step_or_a_shorter_distance_would_lose_more(width):
    good = smallest_lattice(2, width, 1e-4)
    assert worst(good, width) <= 1e-4
    for step, most in ((1.6 * good.step, 1.6 * good.most), (good.step, 0.6 * good.most)):
        square, _, count, _ = shells(2, step, 1.0)
        pairs = round(float(count[square <= most**2].sum()) / 2)
        assert worst(Lattice(step, most, pairs), width) > 1e-4


def test_the_error_along_an_axis_is_below_its_bound_and_within_a_hundred_of_it():
    """One dimension, where the label's logit moves alone: sigmoid(m + s z)."""
    for width in (0.3, 3.0):
        s = math.sqrt(2 * width)
        for step in (0.9, 1.4) if width < 1 else (0.5, 0.7):
            z, fine = step * (np.arange(-80, 80) + 0.5), 0.05 * np.arange(-400, 401)
            found = []
            for m in np.linspace(-12, 3, 31):
                sums = [
                    h * (np.exp(-0.5 * x * x) / (1 + np.exp(-m - s * x))).sum()
                    for x, h in ((z, step), (fine, 0.05))
                ]
                found.append(abs(sums[0] / sums[1] - 1))
            assert max(found) <= aliasing(step, width) <= 100 * max(found)


def test_regret_is_below_the_certificate_of_what_ran():
    """Three classes: what is proved covers the expectations that the forecaster took."""
    rng, B = np.random.default_rng(1), 2.0
    f = GAF.from_theory(2, 3, radius=B, bound=1.0, horizon=300, constants="sharp")
    assert f.integrator == Certified()
    X = rng.normal(size=(300, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y, total = play(f, X, LABELS["adversary"], rng)
    proof = f.certificate(bound=1.0)
    assert proof.is_exact
    assert proof.error == 1e-5
    best = regret.best_in_hindsight(X, y, B, n_classes=3).loss
    assert total - best <= proof.regret(B) < bounds.gaf(300, 2, 3, B, 1.0) / 4


def test_beyond_its_reach_nothing_is_proved():
    assert proved_error(Certified(), 4, width=Certified().reach(4)) == 1e-5
    assert proved_error(Certified(), 4, width=1.01 * Certified().reach(4)) is None
    assert proved_error(Sobol(), 4, width=0.01) is None
    f = GAF(2, 4, lam=1e-3, beta=0.3, integrator=Certified())
    assert not f.certificate(bound=1.0).is_exact
    with pytest.raises(ValueError, match="too many points for 9 classes"):
        GAF(2, 9, integrator=Certified())
