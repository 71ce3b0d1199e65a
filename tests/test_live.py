"""The models of a bank that are in memory: young ones, old ones, and those on the shelf."""

import numpy as np

from mixable import GAF
from mixable._live import Entry, Live

X = np.array([1.0, 2.0])


def filled(n):
    live = Live()
    for key in range(n):
        live.keep(key, Entry(GAF(2, 2), 0))
    return live


def test_old_ones_come_first_and_leave_the_shelf():
    live = filled(4)
    live.age()
    live.keep(2, live.old.pop(2))
    assert list(live) == [0, 1, 3, 2]
    assert live.oldest(2) == [0, 1]
    assert len(live) == 4
    assert len(live.shelf) == 1
    assert 3 in live
    assert 4 not in live


def test_what_learns_on_the_shelf_is_to_be_saved():
    live = filled(3)
    live.shelf.learn(1, X, 1, 1.0)
    assert live.changed() == [1]
    live.shelf.learn(2, X, 1, 1.0)
    live.age()
    assert live.changed() == [1, 2]
    live[1].is_changed = False
    assert live.changed() == [2]


def test_what_is_handed_out_leaves_the_shelf():
    live = filled(2)
    live.shelf.learn(0, X, 1, 1.0)
    assert live.hand_out(0) is live[0].model
    assert live[0].is_changed
    assert live.shelf.predict(0, X) is None
    assert live.shelf.predict(1, X) is not None
