"""New classes and new features at run time lose nothing that was learned."""

import copy

import numpy as np
import pytest
from streams import logistic_stream

from mixable import AIOLI, FTRL, GAF, OGD, ONS, SMP, VAW, AutoGAF, AutoRidge, Folklore, Foster
from mixable.integrals import helmert

D, K, N = 4, 3, 137
X, Y = logistic_stream(N, D, K)

GROWING = {
    "GAF": lambda: GAF(D, K),
    "GAF drifting": lambda: GAF(D, K, drift=1e-2),
    "Folklore": lambda: Folklore(D, K),
    "ONS": lambda: ONS(D, K),
    "ONS projected": lambda: ONS(D, K, radius=2.0),
}


def logits(f, x, k):
    """Mean and covariance (in units of 1 / (2 alpha)) of the first k classes' logit differences to
    class 0.
    """
    differences = np.vstack([np.eye(f.n_classes)[1:k] - np.eye(f.n_classes)[0]])
    T = np.kron(differences @ helmert(f.n_classes), x)
    return differences @ f.coef @ x, T @ f._core.covariance() @ T.T


@pytest.mark.parametrize("name", GROWING)
@pytest.mark.parametrize("at", [0, 1, 30, N])
def test_logit_differences_of_the_old_classes_stay(name, at):
    f = GROWING[name]()
    if at:
        f.run(X[:at], Y[:at])
    x = X[-1]
    mean, covariance = logits(f, x, K)
    steps = f.steps
    f.add_class()
    f.add_features(2)
    assert (f.n_classes, f.n_features, f.steps) == (K + 1, D + 2, steps)
    grown_mean, grown = logits(f, np.r_[x, 0.0, 0.0], K)
    np.testing.assert_allclose(grown_mean, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(grown, covariance, rtol=1e-9, atol=1e-12)
    A = f.precision()
    np.testing.assert_allclose(A, A.T, rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(A).min() > 0


def test_newcomers_are_as_at_the_start():
    f = GAF(D, K, lam=0.5)
    f.run(X, Y)
    f.add_class()
    f.add_features(1)
    cov = f._core.covariance().reshape(K, D + 1, K, D + 1)
    np.testing.assert_allclose(
        cov[K - 1, :, K - 1, :], 2 * np.eye(D + 1), atol=1e-12
    )  # the new class
    np.testing.assert_allclose(cov[:, D, :, D], 2 * np.eye(K), atol=1e-12)  # the new feature
    assert not cov[: K - 1, :D, K - 1, :].any()
    assert not f.coef[:, D].any()


def test_a_plug_in_keeps_its_probabilities_among_the_old_classes():
    f = GAF(D, K, alpha=np.inf, mu=0.0)
    f.run(X, Y)
    before = f.predict(X[:20])
    f.add_class()
    after = f.predict(X[:20])
    np.testing.assert_allclose(
        after[:, :K] / after[:, :K].sum(axis=1, keepdims=True), before, rtol=0, atol=1e-9
    )
    hedged = GAF(D, K)
    hedged.run(X, Y)
    before = hedged.predict(X[:20])
    hedged.add_class()
    after = hedged.predict(X[:20])
    assert (
        np.abs(after[:, :K] / after[:, :K].sum(axis=1, keepdims=True) - before).max() < 0.1
    )  # the newcomer's width moves them


@pytest.mark.parametrize("name", GROWING)
def test_features_added_in_mid_stream_are_as_if_they_had_been_zero(name):
    f, g = GROWING[name](), GROWING[name]()
    wide = np.hstack([X, np.zeros((N, 2))])
    wide[60:, D:] = np.random.default_rng(0).normal(size=(N - 60, 2))
    f.run(X[:60], Y[:60])
    f.add_features(2)
    g.add_features(2)
    g.run(wide[:60], Y[:60])
    if name == "GAF drifting":  # there the newcomers' width has grown in the meantime
        np.testing.assert_allclose(f.coef, g.coef, rtol=0, atol=1e-9)
        return
    np.testing.assert_allclose(
        f.run(wide[60:], Y[60:]), g.run(wide[60:], Y[60:]), rtol=0, atol=1e-9
    )


def test_those_of_one_output_grow_features():
    f, g = VAW(D), AIOLI(D)
    targets = X @ np.arange(D)
    f.run(X, targets)
    g.run(X, np.minimum(Y, 1))
    before = f.predict(X[0]), g.predict(X[0])
    f.add_features(3)
    g.add_features(3)
    x = np.r_[X[0], 0.0, 0.0, 0.0]
    assert f.predict(x) == pytest.approx(before[0], abs=1e-12)
    np.testing.assert_allclose(g.predict(x), before[1], rtol=0, atol=1e-12)
    with pytest.raises(TypeError, match="two classes"):
        g.add_class()
    h = OGD(D, K)
    h.run(X, Y)
    coef = h.coef
    h.add_class()
    h.add_features(1)
    differences = np.array([[-1, 1, 0], [-1, 0, 1]])
    np.testing.assert_allclose(differences @ h.coef[:K, :D], differences @ coef, atol=1e-12)


@pytest.mark.parametrize("n", [10, 600, 1500])
def test_the_automatic_ones_grow_asleep_or_awake(n):
    rng = np.random.default_rng(0)
    X, y = logistic_stream(1500, D, K)
    f = AutoGAF(D, K)
    f.run(X[:n], y[:n])
    before = f.predict(X[0])
    weights, coef = f.weights, f.coef
    f.add_class()
    f.add_features(2)
    assert np.array_equal(f.weights, weights)
    differences = np.array([[-1, 1, 0], [-1, 0, 1]])
    np.testing.assert_allclose(differences @ f.coef[:K, :D], differences @ coef, rtol=0, atol=1e-9)
    after = f.predict(np.r_[X[0], 0, 0])
    assert np.abs(after[:K] / after[:K].sum() - before).max() < 0.05
    f.run(np.hstack([X, rng.normal(size=(1500, 2))]), np.where(rng.random(1500) < 0.1, K, y))
    g = AutoRidge(D)
    g.run(X[:n], X[:n] @ np.arange(1.0, D + 1))
    mean = g.predict(X[0])
    g.add_features(2)
    assert g.predict(np.r_[X[0], 0, 0]) == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize(
    ("k", "error"),
    [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError), (None, TypeError)],
)
def test_bad_counts_change_nothing(k, error):
    f = GAF(D, K)
    with pytest.raises(error, match="k must be"):
        f.add_features(k)
    assert f.n_features == D


def test_growing_beyond_memory_leaves_the_forecaster_as_it_was():
    f = GAF(D, K)
    f.run(X, Y)
    with pytest.raises(MemoryError):
        f.add_features(10_000_000)
    assert f.n_features == D
    assert f.predict(X[0]).shape == (K,)


@pytest.mark.parametrize(
    "make",
    [lambda d, K: FTRL(d, K), lambda d, K: SMP(d, K), lambda d, K: Foster(d, K, m=20, radius=3.0)],
)
def test_those_who_keep_all_examples_are_as_if_they_had_always_been_larger(make):
    X, y = logistic_stream(25, 2, 2)
    grown, large = make(2, 2), make(3, 3)
    grown.run(X, y)
    grown.add_class()
    grown.add_features(1)
    large.run(np.column_stack([X, np.zeros(25)]), y)
    assert repr(grown) == repr(large)
    assert grown.steps == 25
    np.testing.assert_allclose(
        grown.predict([0.3, -0.2, 0.5]), large.predict([0.3, -0.2, 0.5]), rtol=1e-8
    )
    grown.learn([0.1, 0.2, 0.3], 2)
    with pytest.raises(ValueError, match="k must be at least 1"):
        grown.add_features(0)


@pytest.mark.parametrize("structure", ["blocks", "shared", "diagonal"])
def test_a_structured_posterior_keeps_its_logits_when_it_grows(structure):
    X, y = logistic_stream(200, D, K)
    f = GAF(D, K, structure=structure)
    f.run(X, y)
    before = f.coef
    S = f._core.covariance()
    f.add_class()
    f.add_features(2)
    grown = f.coef
    differences = grown[:K, :D] - grown[0, :D]
    np.testing.assert_allclose(differences, before - before[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(grown[K, :D], 0.0, atol=1e-12)  # the mean of the others
    np.testing.assert_array_equal(grown[:, D:], 0.0)
    larger = f._core.covariance()
    if structure == "diagonal":
        np.testing.assert_array_equal(larger[:K, :D], S)
        np.testing.assert_array_equal(larger[K], 1 / f.lam)
        return
    blocks = larger.reshape(-1, D + 2, D + 2)
    np.testing.assert_allclose(blocks[0, :D, :D], S[:D], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(blocks[-1, D:, D:], np.eye(2) / f.lam, rtol=1e-12)
    if structure == "blocks":
        np.testing.assert_allclose(blocks[K], np.eye(D + 2) / f.lam, rtol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "grow"),
    [
        ((3, 2), [("class", 1), ("features", 4), ("class", 2)]),
        ((2, 62), [("class", 3)]),  # blocks become shared
        ((120, 2), [("class", 2)]),
        ((310, 2), [("features", 10), ("class", 1)]),
        ((990, 2), [("features", 20)]),  # diagonal
        ((30, 5), [("features", 10)]),  # the full posterior becomes blocks
        ((8, 5), [("features", 1)]),  # the fallback goes down gradients
    ],
)
@pytest.mark.filterwarnings("ignore:a step of AutoGAF")
def test_a_mixture_goes_on_well_when_its_structures_change(sizes, grow):
    """Structures depend on the size. What was learned is carried over to the new ones."""
    d, K = sizes
    X, y = logistic_stream(150, d, K, scale=3.0 / d**0.5)
    f = AutoGAF(d, K)
    f.run(X, y)
    before, kinds = f.predict(X), {f.structures, f.fallback_kind}
    for what, count in grow:
        for _ in range(count if what == "class" else 1):
            f.add_class() if what == "class" else f.add_features(count)
        kinds |= {f.structures, f.fallback_kind}
    p = f.predict(np.hstack([X, np.zeros((len(X), f.n_features - d))]))
    old = p[:, :K] / p[:, :K].sum(axis=1, keepdims=True)
    assert np.abs(old - before).mean() < 0.12
    assert len(kinds) > 2 or sizes == (3, 2)  # of two classes, the full posterior is the block
    rows = np.hstack([X, np.zeros((len(X), f.n_features - d))])
    f.run(rows, y)
    later = f.predict(rows)
    assert (later > 0).all()
    np.testing.assert_allclose(later.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert f.steps == 300


def test_a_mixture_that_has_grown_can_be_copied():
    """The fallback's lam is its number of features; what it has learned keeps the lam of before."""
    f = AutoGAF(D, K)
    f.run(X, Y)
    f.add_features(3)
    g = copy.deepcopy(f)
    assert np.array_equal(g.predict(np.ones(D + 3)), f.predict(np.ones(D + 3)))
