"""Models by key in the core: a shelf is a dictionary, and says what has learned."""

import numpy as np
import pytest

from mixable import GAF, _core

X = np.array([1.0, 2.0])


def known(steps):
    """The core of a model that has learned so many examples."""
    model = GAF(2, 2)
    for _ in range(steps):
        model.learn(X, 1)
    return model._core


def test_a_shelf_is_a_dictionary():
    """Keys come and go in any order; also integers and texts of the same hash."""
    rng = np.random.default_rng(0)
    keys = [*range(-40, 40), *(2**62 + i for i in range(9)), *map(str, range(40))]
    keys += [hash(key) for key in ("0", "1", "2")]
    shelf, twin = _core.Shelf(), {}
    for i in range(3000):
        key = keys[int(rng.integers(len(keys)))]
        if rng.random() < 0.4:
            shelf.drop(key)
            twin.pop(key, None)
        else:
            twin[key] = known(i % 5)
            shelf.put(key, twin[key])
        other = keys[int(rng.integers(len(keys)))]
        forecast = shelf.predict(other, X)
        assert (forecast is None) == (other not in twin)
        if forecast is not None:
            np.testing.assert_array_equal(forecast, twin[other].predict(X))
        assert len(shelf) == len(twin)
    shelf.clear()
    assert shelf.predict(keys[0], X) is None
    assert len(shelf) == 0


def test_what_has_learned_is_said_once():
    shelf = _core.Shelf()
    for key in (1, "1", 2):
        shelf.put(key, known(0))
    assert shelf.learn("1", X, 1, 1.0)
    assert shelf.learn(2, X, 1, 1.0)
    assert not shelf.learn(3, X, 1, 1.0)
    assert sorted(map(repr, shelf.changed())) == ["'1'", "2"]
    assert shelf.changed() == []
    shelf.learn(1, X, 1, 1.0)
    assert shelf.drop(1)
    assert not shelf.drop(2)
    assert shelf.changed() == []


@pytest.mark.parametrize("key", [True, 1.0, 2**63, np.int64(1), b"1"])
def test_other_keys_have_no_place(key):
    shelf = _core.Shelf()
    shelf.put(1, known(0))
    assert shelf.predict(key, X) is None
    assert not shelf.learn(key, X, 1, 1.0)
    assert not shelf.drop(key)
    shelf.put(key, known(0))
    assert len(shelf) == 1


def test_an_example_is_refused_as_by_the_model():
    shelf = _core.Shelf()
    shelf.put("a", known(0))
    with pytest.raises(ValueError, match="y"):
        shelf.learn("a", X, 7, 1.0)
    with pytest.raises(ValueError, match="x"):
        shelf.predict("a", [1.0])


def test_a_model_may_be_taken_away_by_its_own_argument():
    """It is there until its call is done."""
    shelf = _core.Shelf()
    shelf.put("a", known(3))

    class Row:
        def __array__(self, *_, **__):
            shelf.clear()
            for i in range(100):
                shelf.put(i, known(0))
            return X

    np.testing.assert_array_equal(shelf.predict("a", Row()), known(3).predict(X))
    assert shelf.predict("a", X) is None
