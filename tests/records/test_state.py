"""Names of keys, and how much is remembered of them."""

import pytest

from mixable.records.column import Limits
from mixable.records.declaration import Columns
from mixable.records.state import State

LIMITS = Limits(values=3, indicators=2, places=3, numbers=2, columns=4)


def new(**declared):
    return State(Columns(**declared), LIMITS)


def test_names_are_remembered_while_there_is_room_and_the_first_one_stays():
    state = new()
    state.remember({1: "a", 2: "b"})
    state.remember({1: "other", 3: "c", 4: "d"})
    assert state.names == {1: "a", 2: "b", 3: "c"}
    assert not state.has_room
    assert [state.name(key) for key in (1, 4)] == ["a", None]


def test_values_learned_later_can_be_named_later():
    state = new(category=["c"])
    state.registry.add(state.registry.make({"c": "category"}))
    column = state.registry.columns["c"]
    key = column.key_of("x")
    assert state.name(key) is None
    assert state.name(column.missing_key) == "c is missing"
    column.learn("x", LIMITS)
    state.n += 1
    assert state.name(key) == "c=x"
    state.names[key] = "a name of its own"
    assert state.name(key) == "a name of its own"


def test_memory_and_collisions_grow_with_what_is_remembered():
    state = new(category=["c"], cross=["c*d"])
    assert [(cross.left, cross.right) for cross in state.crosses] == [("c", "d")]
    assert (state.collisions, state.bytes) == (0, 0)
    state.registry.add(state.registry.make({"c": "category"}))
    empty = state.bytes
    for value in ("x", "y"):
        state.registry.columns["c"].learn(value, LIMITS)
    grown = state.bytes
    assert grown > empty + 200
    state.remember({5: "d" * 100})
    assert state.bytes == grown + 280
    assert state.collisions == pytest.approx(9 / 2**65)  # two values and a name
