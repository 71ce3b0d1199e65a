"""What is saved of an encoder, and what is refused when it is read."""

import copy

import numpy as np
import pytest
from record_data import DECLARED, events, one_by_one

from mixable.records import Encoder


def some():
    """What was saved after 300 records."""
    encoder = Encoder(DECLARED, max_values=512)
    one_by_one(
        encoder, [{**each, "user": f"u{i}", "late": 1.0} for i, each in enumerate(events(300))]
    )
    return encoder.__getstate__()


def read(state, **limits):
    out = Encoder.__new__(Encoder)
    out.__setstate__({**state, "limits": {**state["limits"], **limits}})
    return out


def test_what_was_saved_is_restored():
    state = some()
    again = read(copy.deepcopy(state))
    np.testing.assert_equal(again.__getstate__(), state)


def older(state):
    """As it was saved before keys had an array of their own."""
    keys = state.pop("keys").tolist()
    state["names"] = [list(pair) for pair in zip(keys, state["names"], strict=True)]
    return state


def test_names_of_older_files_are_restored():
    state = some()
    again = read(older(copy.deepcopy(state))).__getstate__()
    assert len(again["names"]) > 50
    np.testing.assert_equal(again, state)


def spoil(state, what):
    columns = {column["name"]: column for column in state["columns"]}
    if what == "twice":
        state["columns"].append(columns["tags"])
    elif what == "shared":
        columns["late"]["places"] = columns["price"]["places"]
    elif what == "beyond":
        columns["late"]["places"] = [len(state["places"])]
    elif what == "too few":
        columns["at"]["places"] = columns["at"]["places"][:4]
    elif what == "name":
        columns["late"]["name"] = b"late"
    elif what == "key":
        older(state)["names"].append([2**64, "x"])
    elif what == "number":
        state["names"][0] = 7
    elif what == "keys":
        state["keys"] = state["keys"].astype(np.int64)
    elif what == "same key":
        state["keys"][1] = state["keys"][0]
    elif what == "fewer names":
        del state["names"][-1]
    elif what == "places":
        state["places"][0] = None


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("twice", "the same name"),
        ("shared", "the same place"),
        ("beyond", "beyond the dense part"),
        ("too few", "other places than its kind"),
        ("name", "name of a column"),
        ("key", "key must be"),
        ("number", "name must be text"),
        ("keys", "array of uint64"),
        ("same key", "do not go together"),
        ("fewer names", "do not go together"),
        ("places", "list of texts"),
    ],
)
def test_saved_encoders_that_contradict_themselves_are_refused(what, why):
    state = some()
    spoil(state, what)
    with pytest.raises((TypeError, ValueError), match=why):
        read(state)


def test_more_than_the_limits_is_refused():
    state = some()
    for limits, why in [
        ({"columns": 7}, "more columns than its limit"),
        ({"values": 64}, "more values than the limit"),
        ({"values": len(state["names"]) - 1}, "more names than its limit"),
    ]:
        with pytest.raises(ValueError, match=why):
            read(state, **limits)
