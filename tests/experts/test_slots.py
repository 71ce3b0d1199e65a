"""What merged weights have lost by rounding is known until the model learns."""

import copy

import numpy as np
import pytest

import mixable as mx
from mixable.experts import slots
from mixable.experts.slots import Slots

ROWS = [{1: 1.0, 2: 2.0}, {2: 1.0}, {1: 1.0, 3: 1.0}] * 20
LABELS = [0, 1, 0] * 20


def merged():
    models = [mx.SparseGAF(2) for _ in range(2)]
    for i, model in enumerate(models):
        model.run(ROWS[i::2], LABELS[i::2])
    return mx.merge(models)


def lost(model):
    return model.__getstate__()["state"].get("lost")


def test_numbers_are_themselves_with_what_they_lost():
    weights = np.array([1 / 3, -1e-30, 7e8, 0.0, 1e-60, 1.0, 2.0, 3.0])
    both = np.array([[-weights, weights]])
    exact = Slots(keys=np.empty(0, np.uint64), acc=np.array([0.1]), weights=both, lam=both, b=both)
    state = {**exact.written(), "offsets": np.zeros((1, 2)), "steps": 3}
    assert state["slots"].dtype == state["lost"].dtype == np.float32
    again = Slots.of(state, [(1.0, 0.0)])
    np.testing.assert_allclose(again.weights, both, rtol=1e-13, atol=1e-45)
    np.testing.assert_allclose(again.acc, [0.1], rtol=1e-13)
    assert slots.taken(state)[1][0] == 3


def test_it_is_copied_and_saved_and_gone_after_a_step():
    model = merged()
    assert np.abs(lost(model)).max() > 0
    for same in (copy.deepcopy(model), mx.loads(mx.dumps(model))):
        np.testing.assert_array_equal(lost(same), lost(model))
        same.learn(ROWS[0], 0)
        assert lost(same) is None
    assert lost(mx.SparseGAF(2)) is None
    model.add_class()
    assert lost(model) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lost: lost[1:], "of shape"),
        (lambda lost: lost.astype(np.float64), "must be float32"),
        (lambda lost: lost + 1, "cannot have lost so much"),
        (lambda lost: lost * np.nan, "cannot have lost so much"),
    ],
)
def test_what_cannot_have_been_lost_is_refused(change, reason):
    state = merged().__getstate__()
    state["state"]["lost"] = change(state["state"]["lost"])
    with pytest.raises(ValueError, match=reason):
        object.__new__(mx.SparseGAF).__setstate__(state)
