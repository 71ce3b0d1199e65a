"""Names of keys, and how much is remembered of them."""

import pytest

from mixable.records import Columns, Encoder


def new(**declared):
    return Encoder(Columns(**declared), max_values=64)


def test_names_are_remembered_while_there_is_room_and_the_first_one_stays():
    state = new(text=["q"])
    state.learn({"q": "a b"})
    before = dict(state.names)
    assert set(before.values()) == {"q: a", "q: b", "q: a b"}
    state.learn({"q": " ".join(f"w{i}" for i in range(100))})
    assert len(state.names) == 64
    assert before.items() <= state.names.items()
    assert not state.has_room
    assert state.name(next(iter(before))) in before.values()
    assert state.name(4) is None


def test_values_learned_later_can_be_named_later():
    state = new(category=["c"])
    state.registry.add({"c": "category"})
    column = state.registry.columns["c"]
    key = column.key_of("x")
    assert state.name(key) is None
    assert state.name(column.missing_key) == "c is missing"
    column.learn("x", 64)
    state.n += 1
    assert state.name(key) == "c=x"
    state.names[key] = "a name of its own"
    assert state.name(key) == "a name of its own"


def test_memory_and_collisions_grow_with_what_is_remembered():
    state = new(category=["c"], cross=["c*d"])
    assert [cross.names for cross in state.crosses] == [("c", "d")]
    assert (state.collisions, state.bytes) == (0, 0)
    state.registry.add({"c": "category"})
    empty = state.bytes
    for value in ("x", "y"):
        state.registry.columns["c"].learn(value, 64)
    grown = state.bytes
    assert grown > empty + 200
    state.names[5] = "d" * 100
    assert state.bytes == grown + 280
    assert state.collisions == pytest.approx(9 / 2**65)  # two values and a name
