"""Nystroem features: a projection on landmarks, which come as they are needed."""

import numpy as np
from sklearn.kernel_approximation import Nystroem as BatchNystroem

from mixable.kernels import Nystroem


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
