"""Models as JSON and tensors: odd values come back as they were, and unknown ones are refused."""

import json
import math

import numpy as np
import pytest

import mixable as mx
from mixable._description import class_name, decode, encode
from mixable.integrals import Sobol


def there_and_back(value):
    tensors = {}
    text = json.dumps(encode(value, tensors, "model"), allow_nan=False)
    return decode(json.loads(text), tensors)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**53,
        -(2**70),
        math.inf,
        1e-320,
        "text",
        (1, (2.0, "b"), [3]),
        {1: "a", (2, None): {"b": -math.inf}},
        np.float32(0.1),
        np.int8(-3),
        np.bool_(True),
        Sobol(64, most=128),
        mx.GAF,
    ],
    ids=repr,
)
def test_values_come_back_with_their_types(value):
    back = there_and_back(value)
    assert back == value
    assert type(back) is type(value)


def test_arrays_come_back_to_the_bit():
    for array in (np.array([[0.1, np.nan]]), np.arange(3, dtype=np.uint8), np.array(["a", "bc"])):
        back = there_and_back(array)
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)
    assert there_and_back(np.array([1, "a", None], dtype=object)).tolist() == [1, "a", None]


def test_keys_that_look_alike_have_tensors_of_their_own():
    twins = {1: np.zeros(2), "1": np.ones(2), "0": np.full(2, 2.0)}
    back = there_and_back(twins)
    assert {key: value.tolist() for key, value in back.items()} == {
        key: value.tolist() for key, value in twins.items()
    }


def test_a_tensor_can_be_used_once():
    with pytest.raises(KeyError):
        decode([{"tensor": "a"}, {"tensor": "a"}], {"a": np.zeros(1)})


def test_what_has_no_home_is_neither_written_nor_made():
    with pytest.raises(TypeError, match=r"model\.0 is a set, which cannot be saved"):
        encode([{1}], {}, "model")
    with pytest.raises(ValueError, match="'Popen', which this version does not know"):
        decode({"object": "Popen", "state": {"dict": []}}, {})


def test_names_tell_rivers_classes_from_the_others():
    assert class_name(mx.GAFClassifier) == "GAFClassifier"
    assert class_name(mx.river.GAFClassifier) == "river.GAFClassifier"
    assert class_name(type("GAF", (), {})) is None  # of another package
