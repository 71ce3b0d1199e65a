"""The key of each column of categories, at a place that never changes."""

import numpy as np
import pytest

from mixable.model.late import kept_row, restored, saved, with_kept
from mixable.persistence import from_bytes, to_bytes
from mixable.records import Columns, Encoder


def key(encoder, name, value):
    return encoder.registry.columns[name].key_of(value)


def test_a_column_has_its_key_at_its_place():
    encoder = Encoder(Columns(category=["a", "b"], tags=["t"], text=["q"]))
    encoder.learn({"b": "x", "t": ["x", "y"], "q": "x y z", "n": 1.5})
    encoder.learn({"a": "x"})
    row = encoder.encode({"a": "new", "b": "x", "t": ["x"], "q": "x"})
    assert row.categories.tolist() == [key(encoder, "b", "x"), key(encoder, "a", "new")]


@pytest.mark.parametrize("cell", [None, "", ["x", "y"], []])
def test_what_is_no_value_is_0(cell):
    encoder = Encoder(Columns(category=["a", "b"]))
    encoder.learn({"a": "x", "b": "y"})
    for rows in (
        encoder.encode({"a": cell, "b": "y"}).categories,
        encoder.encode_table([{"a": cell, "b": "y"}] * 2).categories[1],
        encoder.encode({"b": "y"}).categories,
    ):
        assert rows.tolist() == [0, key(encoder, "b", "y")]


def test_a_column_that_turns_out_to_be_text_keeps_its_place_empty():
    encoder = Encoder()
    for i in range(20):
        encoder.learn({"q": f"word{i} and{i} more words of a query {i}" if i else "one", "c": "x"})
    assert encoder.kinds["q"] == "text"
    categories = encoder.encode({"q": "one", "c": "x"}).categories
    assert categories.tolist() == [0, key(encoder, "c", "x")]


def test_places_are_saved_and_files_without_them_load():
    encoder = Encoder(Columns(category=["a", "b"]))
    encoder.learn({"b": "x"})
    encoder.learn({"a": "x"})
    assert from_bytes(to_bytes(encoder)).registry.orders == {"b": 0, "a": 1}
    old = encoder.__getstate__()
    del old["orders"]
    loaded = Encoder.__new__(Encoder)
    loaded.__setstate__(old)
    assert loaded.registry.orders == {"b": 0, "a": 1}


@pytest.mark.parametrize("orders", [["a", "a"], "ab", [["a"]], None])
def test_forged_places_are_refused(orders):
    encoder = Encoder(Columns(category=["a", "b"]))
    encoder.learn({"a": "x"})
    with pytest.raises((TypeError, ValueError)):
        Encoder.__new__(Encoder).__setstate__({**encoder.__getstate__(), "orders": orders})


def test_combined_encoders_have_the_places_of_all():
    base = Encoder(Columns(category=["a", "b", "c"]))
    base.learn({"b": "x"})
    one, two = (from_bytes(to_bytes(base)) for _ in range(2))
    one.learn({"c": "x"})
    two.learn({"a": "x"})
    assert list(base.combine([one, two], base).registry.orders) == ["b", "c", "a"]


def test_a_row_that_waits_keeps_its_categories():
    encoder = Encoder(Columns(category=["a", "b"]))
    encoder.learn({"a": "x"})
    rows = encoder.encode_table([{"a": "y"}])
    (kept,) = restored(saved([kept_row(rows, 0, np.zeros((1, 0)), None)]), 0, has_records=False)
    encoder.learn({"b": "x"})
    both = with_kept(encoder.encode_table([{"a": "x", "b": "z"}]), [kept], 0)
    expected = [[key(encoder, "a", "x"), key(encoder, "b", "z")], [key(encoder, "a", "y"), 0]]
    assert both.categories.tolist() == expected
