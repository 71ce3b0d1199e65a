"""What is remembered of identifiers, as it is saved."""

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest

import mixable as mx
from mixable.events.serve.model import Learned, Remembered, _done_of, _state, _waiting_of
from mixable.learner import Design, Learner


def learner(n_classes):
    return Learner(Design.for_classes(mx.GAF, {}), 2, [f"c{k}" for k in range(n_classes)])


def test_what_is_saved_comes_back_in_its_order():
    waiting = OrderedDict(
        b=Remembered(
            text=b'{"x":1}',
            p=np.array([0.25, 0.75]),
            rates=[3, 1],
            inputs=learner(2).kept(np.array([1.0, 2.0])),
        ),
        a=Remembered(b"{}", np.empty(0), []),
    )
    done = OrderedDict({"\u00e9": Learned(1, 7, 2**62), "": Learned(0, 1, 0)})
    saved = _state(waiting, done)
    again = _waiting_of(saved["waiting"], learner(2), [])
    assert list(again) == ["b", "a"]
    assert [again[key].rates for key in "ba"] == [[3, 1], []]
    assert again["b"].inputs.z.tobytes() == waiting["b"].inputs.z.tobytes()
    assert again["a"].inputs is None
    assert all(again[key][0] == waiting[key][0] for key in waiting)
    assert all(np.array_equal(again[key][1], waiting[key][1]) for key in waiting)
    assert list(_done_of(saved["done"], 2).items()) == list(done.items())


@pytest.mark.parametrize("p", [[0.5, 0.5], [2.0], [-1.0]])
def test_forecasts_that_no_model_made_are_refused(p):
    saved = _state(OrderedDict(a=Remembered(b"{}", np.array(p), [])), OrderedDict())
    with pytest.raises(ValueError, match="does not go with the learner"):
        _waiting_of(saved["waiting"], learner(1), [])


@pytest.mark.parametrize("rates", [[-1], [1, 1]])
def test_rates_that_no_model_had_are_refused(rates):
    saved = _state(OrderedDict(a=Remembered(b"{}", np.ones(1), rates)), OrderedDict())
    with pytest.raises(ValueError, match="does not go with the learner"):
        _waiting_of(saved["waiting"], learner(1), [])


def test_files_without_rates_have_those_of_the_model():
    saved = _state(OrderedDict(a=Remembered(b"{}", np.ones(1), [1])), OrderedDict())["waiting"]
    del saved["rates"]
    assert _waiting_of(saved, learner(1), [7])["a"].rates == [7]


@pytest.mark.parametrize("learned", [Learned(2, 1, 0), Learned(-1, 1, 0), Learned(0, 0, 0)])
def test_labels_that_no_model_learned_are_refused(learned):
    saved = _state(OrderedDict(), OrderedDict(a=learned))
    with pytest.raises(ValueError, match="does not go with the learner"):
        _done_of(saved["done"], 2)


def test_a_forecast_may_be_above_one_by_its_last_bit():
    for p, fits in ((1 + 2**-52, True), (1.01, False), (-(2**-52), False)):
        saved = _state(OrderedDict(a=Remembered(b"{}", np.array([p]), [])), OrderedDict())[
            "waiting"
        ]
        if fits:
            assert _waiting_of(saved, learner(1), [])["a"][1] == p
        else:
            with pytest.raises(ValueError, match="does not go with"):
                _waiting_of(saved, learner(1), [])


def test_whether_inputs_are_those_of_a_record_comes_back():
    """A model of numbers that became one of records has both."""
    kept = learner(2).kept(np.array([1.0, 2.0]))
    waiting = OrderedDict()
    for key, record in (("a", None), ("b", {"x": 1})):
        inputs = replace(kept, record=record)
        waiting[key] = Remembered(text=b'{"x":1}', p=np.ones(1), rates=[1], inputs=inputs)
    again = _waiting_of(_state(waiting, OrderedDict())["waiting"], learner(2), [])
    assert [each.inputs.record for each in again.values()] == [None, {"x": 1}]


@pytest.mark.parametrize("z", [np.zeros(1), np.zeros(4), np.zeros(9)])
def test_inputs_that_no_forecast_left_are_refused(z):
    inputs = replace(learner(2).kept(np.array([1.0, 2.0])), z=z)
    waiting = OrderedDict(a=Remembered(text=b"{}", p=np.ones(1), rates=[1], inputs=inputs))
    with pytest.raises(ValueError, match="does not go with"):
        _waiting_of(_state(waiting, OrderedDict())["waiting"], learner(2), [])
