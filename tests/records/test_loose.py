"""Cells that no column is kept for."""

import math

import pytest

from mixable.records.category import Category
from mixable.records.rows import loose_keys, loose_part
from mixable.records.tables import Table


def test_numbers_count_by_their_logarithm_with_their_sign():
    ((key, one),) = loose_keys("cat", 1)
    assert one == 1.0
    assert loose_keys("cat", "-7") == [(key, -3.0)]
    assert loose_keys("cat", 1e300) == [(key, pytest.approx(300 * math.log2(10)))]
    assert loose_keys("dog", 1)[0][0] != key
    for nothing in (0, "0", -0.0, None, "", float("nan"), []):
        assert loose_keys("cat", nothing) == []


def test_words_and_tags_have_the_keys_of_a_category():
    column = Category("cat")
    assert loose_keys("cat", "big") == [(column.key_of("big"), 1.0)]
    assert loose_keys("cat", ["big", "big", "old"]) == [
        (column.key_of("big"), 1.0),
        (column.key_of("old"), 1.0),
    ]
    assert loose_keys("cat", True) == [(column.key_of("True"), 1.0)]
    assert loose_keys("cat", "007") == [(column.key_of("007"), 1.0)]


def test_a_table_has_the_cells_of_names_that_are_not_known():
    records = [{"a": 1}, {"a": 1, "b": 3, "c": ["x", "y"]}, {}, {"d": 0, 5: "z"}]
    part = loose_part(Table(records), {"a": None})
    assert part.counts.tolist() == [0, 3, 0, 1]
    expected = loose_keys("b", 3) + loose_keys("c", ["x", "y"]) + loose_keys(5, "z")
    assert list(zip(part.keys.tolist(), part.values.tolist(), strict=True)) == expected
    assert list(part.cells["names"][1].values()) == ["b", "c", "c"]


def test_a_refusal_names_the_row():
    with pytest.raises(TypeError, match="row 1: column 'b' has bytes"):
        loose_part(Table([{}, {"b": b"x"}]), {})
    with pytest.raises(ValueError, match=r"row 0: column 'b' is .* must be finite"):
        loose_part(Table([{"b": "inf"}]), {})
