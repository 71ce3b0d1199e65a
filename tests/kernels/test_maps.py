"""What both feature maps promise, Fourier and Nystroem."""

import pickle

import numpy as np
import pytest
from kernel_data import MAPS

from mixable import KernelGAF
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
        np.testing.assert_allclose(features[0], each[-1], rtol=0, atol=1e-15)
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


@pytest.mark.parametrize("kind", MAPS)
def test_new_features_that_are_zero_change_nothing(kind, rng):
    Z = rng.normal(size=(50, 3))
    _, learned = MAPS[kind](3, 20, gamma=0.3).learn(Z)
    larger = learned.add_features(2)
    np.testing.assert_allclose(
        larger.transform(np.hstack([Z, np.zeros((50, 2))])), learned.transform(Z), atol=1e-14
    )
    assert not np.allclose(larger.transform(np.hstack([Z, np.ones((50, 2))])), learned.transform(Z))


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
