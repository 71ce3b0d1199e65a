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


def test_tables_have_the_features_of_single_rows(rng):
    """Of many landmarks tables are multiplied by L^-1; far rows are not, nor small tolerances."""
    Z = rng.normal(size=(400, 5))
    for scale, tolerance in ((1.0, 1e-3), (1.0, 1e-8), (1e5, 1e-3)):
        many = Nystroem(5, 120, gamma=0.1 / scale**2, tolerance=tolerance)
        features, learned = many.learn(scale * Z)
        assert len(learned.landmarks) > 100
        each = np.vstack([learned.transform(row) for row in scale * Z[:, None]])
        np.testing.assert_allclose(learned.transform(scale * Z), each, atol=1e-9)
        np.testing.assert_allclose(features[350:], each[350:], atol=1e-9)
    far = np.array([1e9, 0, 0, 0, 0]) + Z  # gamma |x|^2 is large, differences are not
    _, learned = Nystroem(5, 120, gamma=0.1).learn(far)
    each = np.vstack([learned.transform(row) for row in far[:, None]])
    np.testing.assert_allclose(learned.transform(far), each, atol=1e-9)
