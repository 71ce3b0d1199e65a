"""What `kernel=` may be: words and objects."""

import pickle

import pytest

from mixable.kernels import RBF, Auto
from mixable.kernels.choice import chosen


def test_words_stand_for_objects_and_none_is_linear():
    assert chosen("auto") == Auto() == Auto(n_components=200)
    assert chosen("rbf") == RBF() == RBF(200, gamma=None, method="fourier")
    assert chosen(None) is None
    assert chosen(RBF(3, gamma=0.5)) == RBF(3, gamma=0.5)


@pytest.mark.parametrize("bad", ["linear", "", 3, ["auto"], Auto, {"n_components": 3}])
def test_others_are_refused(bad):
    with pytest.raises(ValueError, match="kernel must be None, 'rbf' or 'auto'"):
        chosen(bad)


def test_they_are_values():
    assert pickle.loads(pickle.dumps(RBF(3))) == RBF(3) != RBF(4)
    assert len({Auto(3), Auto(3), RBF(3)}) == 2
    with pytest.raises(AttributeError):
        Auto().n_components = 3
