"""Feature maps: Fourier and Nystroem."""

import pickle

import numpy as np
import pytest
from kernel_data import MAPS
from sklearn.kernel_approximation import Nystroem as BatchNystroem
from sklearn.kernel_approximation import RBFSampler

from mixable import KernelGAF
from mixable.kernels import Fourier, Nystroem, rbf
from mixable.losses import Logistic


@pytest.mark.parametrize("kind", MAPS)
def test_transform_is_pure_and_learning_is_transforming_row_by_row(kind, rng):
    Z = rng.normal(size=(600, 3))
    start = MAPS[kind](3, 20, gamma=0.3)
    before = pickle.dumps(start)
    together, after = start.learn(Z)
    each, one = [], start
    for z in Z:
        each.append(one.transform(z[None, :])[0])
        features, one = one.learn(z[None, :])
        assert np.array_equal(features[0], each[-1])
    np.testing.assert_allclose(together, each, atol=1e-12)
    np.testing.assert_allclose(after.transform(Z), one.transform(Z), atol=1e-12)
    assert pickle.dumps(start) == before
    parts = start
    for piece in np.split(Z, [1, 7, 300, 599]):
        _, parts = parts.learn(piece)
    np.testing.assert_allclose(parts.transform(Z), after.transform(Z), atol=1e-12)


@pytest.mark.parametrize("kind", MAPS)
def test_a_map_goes_on_from_its_state_and_refuses_another(kind, rng):
    Z = rng.normal(size=(50, 3))
    _, learned = MAPS[kind](3, 20, gamma=0.3).learn(Z)
    twin = MAPS[kind](3, 20, gamma=7.0)
    twin.restore(learned.state())
    assert np.array_equal(twin.transform(Z), learned.transform(Z))
    with pytest.raises(ValueError, match=r"shape"):
        MAPS[kind](2, 20, gamma=0.3).restore(learned.state())
    with pytest.raises(ValueError, match=r"shape"):
        MAPS[kind](3, 10, gamma=0.3).restore(learned.state())


def _changed(name, change):
    return lambda state: {**state, name: change(state[name])}


@pytest.mark.parametrize(
    ("kind", "craft", "message"),
    [
        ("fourier", _changed("frequencies", lambda f: f * np.inf), "finite"),
        ("fourier", _changed("phases", lambda f: f * np.nan), "finite"),
        ("fourier", _changed("gamma", lambda f: -f), "gamma"),
        ("nystroem", _changed("landmarks", lambda f: f * np.nan), "finite"),
        ("nystroem", _changed("factor", lambda f: -f), "positive diagonal"),
        ("nystroem", _changed("factor", lambda f: f * 1e-100), "kernel matrix"),
        (
            "nystroem",
            _changed("factor", lambda f: f + np.triu(np.ones_like(f), 1)),
            "kernel matrix",
        ),
        ("nystroem", _changed("landmarks", lambda f: f[::-1]), "kernel matrix"),
        ("nystroem", _changed("gamma", lambda f: f * 2), "kernel matrix"),
    ],
)
def test_a_map_refuses_a_crafted_state_of_the_right_shape(kind, craft, message, rng):
    _, learned = MAPS[kind](3, 20, gamma=0.3).learn(rng.normal(size=(50, 3)))
    with pytest.raises(ValueError, match=message):
        MAPS[kind](3, 20, gamma=0.3).restore(craft(learned.state()))


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


@pytest.mark.parametrize("kind", MAPS)
def test_new_features_that_are_zero_change_nothing(kind, rng):
    Z = rng.normal(size=(50, 3))
    _, learned = MAPS[kind](3, 20, gamma=0.3).learn(Z)
    larger = learned.add_features(2)
    np.testing.assert_allclose(
        larger.transform(np.hstack([Z, np.zeros((50, 2))])), learned.transform(Z), atol=1e-14
    )
    assert not np.allclose(larger.transform(np.hstack([Z, np.ones((50, 2))])), learned.transform(Z))


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


def test_nystroem_is_the_kernels_projection_on_the_landmarks(rng):
    Z = rng.normal(size=(300, 3))
    _, learned = Nystroem(3, 40, gamma=0.3).learn(Z)
    assert len(learned.landmarks) == 40
    batch = BatchNystroem(gamma=0.3, n_components=40).fit(learned.landmarks)
    theirs = batch.transform(Z)
    np.testing.assert_allclose(
        learned.transform(Z) @ learned.transform(Z).T, theirs @ theirs.T, atol=1e-6
    )


def test_nystroem_learns_no_more_than_it_needs_and_never_changes_old_features(rng):
    Z = np.repeat(rng.normal(size=(7, 2)), 30, axis=0)[rng.permutation(210)]
    features, learned = Nystroem(2, 40, gamma=1.0).learn(Z)
    assert len(learned.landmarks) == 7
    half, early = Nystroem(2, 40, gamma=1.0).learn(Z[:5])
    r = len(early.landmarks)
    np.testing.assert_allclose(learned.transform(Z)[:, :r], early.transform(Z)[:, :r], atol=1e-12)
    np.testing.assert_allclose(features[:5], half, atol=1e-12)


def test_rows_that_do_not_count_never_become_landmarks(rng):
    Z = rng.normal(size=(100, 2))
    counts = rng.random(100) < 0.5
    features, learned = Nystroem(2, 30, gamma=1.0).learn(Z, counts)
    each, without = [], Nystroem(2, 30, gamma=1.0)
    for z, counted in zip(Z, counts, strict=True):
        each.append(without.transform(z[None, :])[0])
        without = without.learn(z[None, :])[1] if counted else without
    np.testing.assert_allclose(features, each, atol=1e-12)
    np.testing.assert_allclose(learned.landmarks, without.landmarks)


@pytest.mark.parametrize(
    "make", [*MAPS.values(), lambda d, m, **_: KernelGAF(Logistic(2), d, gamma=m)]
)
def test_bad_sizes_are_refused(make):
    with pytest.raises((ValueError, TypeError), match=r"n_components|gamma"):
        make(2, 0, gamma=1.0)
    with pytest.raises((ValueError, TypeError), match=r"n_components|gamma"):
        make(2, "many", gamma=1.0)
    with pytest.raises((ValueError, TypeError), match=r"n_features"):
        make(-1, 2, gamma=1.0)


def test_an_odd_number_of_fourier_features_is_unbiased_too(rng):
    Z = rng.normal(size=(20, 2))
    each = [Fourier(2, 3, gamma=0.5, seed=seed).transform(Z) for seed in range(2000)]
    np.testing.assert_allclose(
        np.mean([phi @ phi.T for phi in each], axis=0), rbf(Z, Z, 0.5), atol=0.06
    )
