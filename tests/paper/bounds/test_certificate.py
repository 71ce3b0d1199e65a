"""Certificates: regret proved after the fact, and the bound that needs no (A2)."""

import copy
import dataclasses
import math

import numpy as np
import pytest
from streams import LABELS, play

import mixable as mx
from mixable import GAF, GenericGAF, KernelGAF, bounds, regret
from mixable.integrals import Envelope, Sobol, envelope, helmert
from mixable.losses import Logistic, log_loss


def directions(n, d, rng):
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def well_specified(n, d, K, B, rng):
    X, W = directions(n, d, rng), rng.normal(size=(K, d))
    W -= W.mean(axis=0)
    W *= B / np.linalg.norm(W)
    return X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


def excess_loss(f, X, y, B):
    losses = log_loss(f.run(X, y), y).sum()
    return float(losses - regret.best_in_hindsight(X, y, B, n_classes=f.n_classes).loss)


@pytest.mark.parametrize("label", list(LABELS))
@pytest.mark.parametrize(("d", "B", "lam"), [(1, 0.5, 3.0), (1, 8.0, 0.4), (3, 1.0, 2.5)])
def test_regret_is_below_the_certificate_whoever_chooses_the_labels(label, d, B, lam):
    rng, n = np.random.default_rng(0), 400
    X = directions(n, d, rng)
    X[: n // 2, 1:] = 0  # bursts
    f = GAF(d, 2, lam=lam, beta=bounds.largest_beta(2, B), mu=1e-3)
    y, total = play(f, X, LABELS[label], rng)
    proof = f.certificate(bound=1.0)
    for radius in (0.1 * B, 0.5 * B, B):
        best = regret.best_in_hindsight(X, y, radius, n_classes=2).loss
        assert total - best <= proof.regret(radius)


@pytest.mark.parametrize("label", ["adversary", "fair"])
@pytest.mark.parametrize("K", [3, 7, 10, 26])
def test_regret_is_below_the_certificate_for_more_classes(K, label):
    """In closed form, which is proved for each number of classes."""
    rng, B = np.random.default_rng(1), 2.0
    f = GAF.from_theory(
        2, K, radius=B, bound=1.0, horizon=300, constants="sharp", integrator=Envelope()
    )
    if label == "adversary":
        X = directions(300, 2, rng)
        y, total = play(f, X, LABELS["adversary"], rng)
    else:
        X, y = well_specified(300, 2, K, B, rng)
        total = log_loss(f.run(X, y), y).sum()
    best = regret.best_in_hindsight(X, y, B, n_classes=K).loss
    proof = f.certificate(bound=1.0)
    assert proof.is_exact
    assert proof.enveloped
    assert total - best <= proof.regret(B) < bounds.gaf(300, 2, K, B, 1.0) / 2


def price(f, X, y):
    """The sum of log sum U_c along a run, and of each step what it adds to `mixing`."""
    x = 0.05 * (np.arange(200) + 0.5)
    w = np.exp(-0.5 * x * x)
    found, before = [], 0.0
    for each, label in zip(X, y, strict=True):
        Phi = np.kron(np.eye(f.n_classes), each[:, None])
        S = Phi.T @ np.linalg.solve(f.precision(), Phi) / (2 * f.alpha)
        paid = math.log(envelope(f.coef @ each, S, x, w / (2 * w.sum())).sum())
        f.learn(each, int(label))
        mixing = f.certificate(bound=1.0).mixing
        found.append((paid, mixing - before))
        before = mixing
    return np.array(found)


@pytest.mark.parametrize("label", ["adversary", "fair"])
@pytest.mark.parametrize("K", [3, 7, 10, 26])
def test_the_price_of_the_envelope_is_below_its_bound_and_above_half_of_it(K, label):
    """In each single step; it is nearly all paid where lam is large and classes are many."""
    rng = np.random.default_rng(2)
    for lam, alpha in ((0.3, 1.0), (2.0, 0.5), (30.0, 1.0)):
        X = directions(25, 2, rng)
        y = rng.integers(K, size=25)
        f = GAF(2, K, lam=lam, beta=0.3, alpha=alpha, mu=0.0, integrator=Envelope())
        if label == "adversary":
            y, _ = play(f, X, LABELS["adversary"], rng)
            f = GAF(2, K, lam=lam, beta=0.3, alpha=alpha, mu=0.0, integrator=Envelope())
        paid, mixing = price(f, X, y).T
        most = bounds.widening(lam, 0.3, 1.0, alpha) * mixing
        assert (paid <= most * (1 + 1e-9)).all()
        expectations = f.certificate(bound=1.0).expectations
        assert expectations == pytest.approx(most.sum())
        if lam == 30.0 and K > 3:
            assert paid.sum() > 0.75 * expectations


def test_no_part_of_the_certificate_can_be_halved():
    """Labels that are truly logistic: mixing and comparator are nearly all paid."""
    rng = np.random.default_rng(0)
    d, B, n = 5, 0.3, 2000
    f = GAF(d, 2, lam=bounds.sharp(n, d, 2, B, 1.0).lam, beta=bounds.largest_beta(2, B), mu=0.0)
    X, y = well_specified(n, d, 2, B, rng)
    paid, proof = excess_loss(f, X, y, B), f.certificate(bound=1.0)
    assert paid <= proof.regret(B)
    assert paid > proof.regret(B) - 0.5 * proof.mixing
    assert paid > proof.regret(B) - 0.5 * proof.comparator(B)


@pytest.mark.parametrize("K", [2, 5])
def test_smoothing_is_all_paid_where_forecasts_are_sure(K):
    """-log(1 - mu (1 - 1/K)); of two classes alone, 1 - mu / K would do."""
    n, mu = 400, 0.1
    sure, smooth = (GAF(1, K, lam=1e-3, mu=share, integrator=Sobol(128)) for share in (0.0, mu))
    X, y = np.ones((n, 1)), np.zeros(n, dtype=int)
    more = log_loss(smooth.run(X, y), y).sum() - log_loss(sure.run(X, y), y).sum()
    smoothing = smooth.certificate(bound=1.0).smoothing
    assert 0.9 * smoothing < more <= smoothing


def omega(f, X, y, m=4001):
    """The sum of Omega_t = -log E exp(-(loss - surrogate)), two classes, by the trapezoid rule."""
    q, total, loss = helmert(2)[:, 0], 0.0, Logistic(2)
    w = np.linspace(-9, 9, m)
    for x, label in zip(X, y, strict=True):
        f.learn(x, int(label))
        z = f.coef @ x
        Phi = np.kron(np.eye(2), x[:, None]) @ q
        step = w * math.sqrt(Phi @ np.linalg.solve(f.precision(), Phi) / 2)
        at = z[:, None] + q[:, None] * step
        true = np.logaddexp.reduce(at, axis=0) - at[label]
        g, H = q @ loss.gradient(z, label), q @ loss.hessian(z, label) @ q
        surrogate = loss.value(z, label) + g * step + f.beta / 2 * H * step**2
        mass = np.exp(-0.5 * w * w) / math.sqrt(2 * math.pi) * (w[1] - w[0])
        total -= math.log((mass * np.exp(surrogate - true)).sum())
    return total


def test_the_price_of_the_surrogates_is_below_its_bound_and_above_half_of_it():
    """The label is always the less likely one of a confident posterior: curvature grows around the
    mean.
    """
    n, lam, beta = 12, 1.0, 0.05
    X = np.ones((n, 1))
    y = np.zeros(n, dtype=int)
    f = GAF(1, 2, lam=lam, beta=beta, mu=0.0)
    paid, proof = omega(f, X, y), f.certificate(bound=1.0)
    assert 0.5 * proof.surrogates < paid <= proof.surrogates


def test_it_is_far_below_what_was_known_in_advance():
    """Inputs of two directions in fifty dimensions, known only afterwards."""
    rng = np.random.default_rng(2)
    n, d, B = 1000, 50, 3.0
    X, y = well_specified(n, 2, 2, B, rng)
    X = X @ np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    f = GAF.from_theory(d, 2, radius=B, bound=1.0, horizon=n, constants="sharp")
    paid, proof = excess_loss(f, X, y, B), f.certificate(bound=1.0).regret(B)
    known = bounds.sharp(n, d, 2, B, 1.0)
    assert known < bounds.gaf(n, d, 2, B, 1.0) / 5
    assert paid <= proof + 0 < 0.6 * known


@pytest.mark.parametrize(("K", "d"), [(2, 3), (3, 2)])
def test_the_three_forecasters_agree(K, d):
    rng = np.random.default_rng(3)
    X, y = well_specified(40, d, K, 2.0, rng)
    options = {"lam": 0.7, "beta": 0.4}
    proofs = []
    for f in (
        GAF(d, K, **options, mu=0.0),
        GenericGAF(Logistic(K), d, **options),
        KernelGAF(Logistic(K), d, gamma=None, **options),
    ):
        f.run(X, y)
        proofs.append(f.certificate(bound=1.0))
    first = dataclasses.asdict(proofs[0])
    for proof in proofs[1:]:
        assert dataclasses.asdict(proof) == pytest.approx(first, rel=1e-8)


def test_the_parts_add_up_and_say_for_whom():
    f = GAF(1, 2, lam=2.0, beta=0.4, alpha=0.5, mu=0.01)
    f.run(np.ones((10, 1)), np.arange(10) % 2)
    proof = f.certificate(bound=1.0)
    assert proof.is_exact
    assert proof.log_determinant == pytest.approx(
        math.log(f.precision()[0, 0] - f.precision()[0, 1]) - math.log(2.0)
    )
    kappa = math.expm1(0.5) / 0.5
    assert proof.mixing + proof.surrogates == pytest.approx(kappa / 0.4 * proof.log_determinant)
    assert proof.smoothing == pytest.approx(-10 * math.log(0.995), abs=1e-7)
    assert proof.expectations == 0.0
    whole = proof.comparator(1.0) + proof.mixing + proof.surrogates + proof.smoothing
    assert proof.regret(1.0) == whole
    limit = proof.radius_limit
    assert proof.regret(limit) < proof.regret(1.001 * limit) == math.inf
    assert bounds.largest_beta(2, limit) == pytest.approx(0.4, rel=1e-5)
    assert GAF(1, 3).certificate(bound=1.0).radius_limit == 0.0
    fresh = GAF(1, 2, lam=2.0, beta=0.4, mu=0.0).certificate(bound=1.0)
    assert fresh.regret(1.0) == 2.0
    for wrong in ({"structure": "blocks"}, {"drift": 0.1}, {"alpha": 2.0}):
        with pytest.raises(ValueError, match="a certificate needs"):
            GAF(1, 2, **wrong).certificate(bound=1.0)
    with pytest.raises(ValueError, match="bound"):
        f.certificate(bound=-1.0)


@pytest.mark.parametrize(
    "sizes", [(20_000, 2, 3, 2.0, 1.0), (1000, 5, 2, 0.1, 3.0), (9, 1, 2, 20.0, 0.5)]
)
def test_the_least_sharp_bound_is_above_none_on_a_grid(sizes):
    n, d, K, B, R = sizes
    best, beta = bounds.sharp(*sizes), bounds.largest_beta(K, B * R)
    for lam in np.geomspace(1e-3 * R**2, 1e6 * R**2, 400):
        s = R * R / (2 * lam)
        log_det = (K - 1) * d * math.log1p(n * beta * R * R / (2 * lam * K * d))
        value = lam * B * B + math.expm1(s) / s / (2 * beta) * log_det if s < 700 else math.inf
        assert bounds.sharp(*sizes, lam=lam) == pytest.approx(value, rel=1e-9)
        assert best <= value * (1 + 1e-9)
    f = GAF.from_theory(d, K, radius=B, bound=R, horizon=n, constants="sharp")
    assert (f.lam, f.beta) == (best.lam, beta)
    assert bounds.gaf(*sizes, "sharp") == best


def test_the_determinant_known_in_advance_is_above_any():
    """Uniform forecasts and inputs in all directions come close to it."""
    n, d, K, lam = 60, 3, 4, 100.0
    X = np.tile(np.eye(d), (n // d, 1))
    f = GAF(d, K, lam=lam, beta=0.9, mu=0.0)
    f.run(X, np.arange(n) // d % K)
    most = (K - 1) * d * math.log1p(n * 0.9 / (2 * lam * K * d))
    assert 0.98 * most < f.certificate(bound=1.0).log_determinant <= most


def kinds(d, K, **options):
    generic = {name: value for name, value in options.items() if name != "mu"}
    return (
        GAF(d, K, **options),
        GenericGAF(Logistic(K), d, **generic),
        KernelGAF(Logistic(K), d, gamma=None, **generic),
    )


@pytest.mark.parametrize("which", range(3), ids=["GAF", "GenericGAF", "KernelGAF"])
def test_it_is_infinite_beyond_what_was_assumed(which):
    """Longer inputs than the bound, and weights above 1, whatever the way they came in."""
    options = {"lam": 2.0, "beta": 0.4}

    def learned(X, weight=None):
        f = kinds(2, 2, **options)[which]
        f.run(X, np.arange(len(X)) % 2, weight)
        return f

    X = directions(20, 2, np.random.default_rng(0))
    f = learned(X, np.full(20, 0.5))
    proof = f.certificate(bound=1.0)
    assert (proof.largest_norm, proof.largest_weight) == (pytest.approx(1.0), 0.5)
    assert 0 < proof.regret(0.5) < math.inf
    f.learn(3 * X[0], 1, 0.1)
    assert f.certificate(bound=2.9).regret(0.1) == math.inf
    assert f.certificate(bound=3.0).regret(0.1) < math.inf
    f.learn(X[0], 1, 1.5)
    assert f.certificate(bound=3.0).largest_weight == 1.5
    assert f.certificate(bound=3.0).regret(0.1) == math.inf
    long, heavy = X.copy(), np.ones(20)
    long[7] *= 1.01
    heavy[7] = 1.01
    assert learned(long).certificate(bound=1.0).regret(0.1) == math.inf
    assert learned(X, heavy).certificate(bound=1.0).regret(0.1) == math.inf
    assert learned(X, np.ones(20)).certificate(bound=1.0).regret(0.1) < math.inf


@pytest.mark.parametrize("which", range(3), ids=["GAF", "GenericGAF", "KernelGAF"])
def test_what_was_met_is_saved_copied_merged_and_unknown_of_old_files(which, tmp_path):
    one, two = (kinds(1, 2, lam=2.0, beta=0.4)[which] for _ in range(2))
    one.learn([0.5], 1, 0.25)
    two.learn([0.25], 1, 1.0)

    def met(f):
        proof = f.certificate(bound=1.0)
        return proof.largest_norm, proof.largest_weight

    assert met(one) == (0.5, 0.25)
    mx.save(one, tmp_path / "one.safetensors")
    assert met(mx.load(tmp_path / "one.safetensors")) == met(copy.deepcopy(one)) == (0.5, 0.25)
    state = one.__getstate__()
    inner = state["state"] if which == 0 else state
    old = {name: value for name, value in inner.items() if "largest" not in name}
    before = object.__new__(type(one))
    before.__setstate__({**state, "state": old} if which == 0 else old)
    before.learn([0.1], 0)
    assert met(before) == (None, None)
    assert before.certificate(bound=1.0).regret(0.1) == math.inf
    for name in (name for name in inner if "largest" in name):
        for wrong in (-0.5, math.inf, math.nan):
            forged = {**inner, name: wrong}
            victim = object.__new__(type(one))
            with pytest.raises(ValueError, match=r"do not fit|largest|finite"):
                victim.__setstate__({**state, "state": forged} if which == 0 else forged)
    if which < 2:  # a kernel's cannot be merged
        assert met(mx.merge([one, two])) == (0.5, 1.0)
        assert met(mx.merge([before, two])) == (None, None)


def test_nothing_is_proved_of_a_run_in_which_a_class_came():
    f = GAF(1, 2, lam=2.0, beta=0.2)
    f.add_class()
    assert f.certificate(bound=1.0).holds  # nothing was learned before
    f.learn([1.0], 2)
    f.add_features(1)
    assert f.certificate(bound=1.0).holds
    f.add_class()
    assert not f.certificate(bound=1.0).holds


def test_the_width_that_is_proved_counts_all_classes():
    """|S| is at most sqrt(K - 1) R^2 / (2 alpha lam), and it is all that before the first label."""
    K, R, alpha = 5, 2.0, 0.5
    reach = Envelope().reach
    for factor, is_exact in ((1.001, True), (0.999, False)):
        lam = factor * math.sqrt(K - 1) * R**2 / (2 * alpha * reach)
        f = GAF(1, K, lam=lam, beta=0.1, alpha=alpha, integrator=Envelope())
        assert f.certificate(bound=R).is_exact is is_exact
        S = R**2 / (2 * alpha) * np.linalg.inv(f._core.precision())
        assert bool(np.linalg.norm(S) <= reach) is is_exact


def test_the_limit_of_the_radius_is_in_units_of_the_inputs():
    """B R is what counts: inputs twice as long, half the radius."""
    f = GAF(1, 2, lam=2.0, beta=0.4)
    limits = [f.certificate(bound=R).radius_limit for R in (0.5, 1.0, 4.0)]
    assert np.array(limits) * [0.5, 1.0, 4.0] == pytest.approx(limits[1], rel=1e-5)
    proof = f.certificate(bound=4.0)
    assert proof.regret(0.999 * limits[2]) < proof.regret(1.001 * limits[2]) == math.inf
