"""Columns of categories: which values are remembered, and which get a place."""

import numpy as np
import pytest

from mixable.records.category import LONGEST_VALUE, OPENS_AT, Category, Tags
from mixable.records.column import Cells, Draft, Limits

LIMITS = Limits(values=8, indicators=3, places=9, numbers=9, columns=9)


def learned(values, kind=Category):
    """A column after some values, and which of them have asked for a place."""
    column, asked = kind("c"), []
    for value in values:
        asked.append(column.learn(column.plain(value), LIMITS))
    return column, asked


def test_few_values_ask_for_a_place_at_the_64th_record_and_new_ones_later():
    column, asked = learned(["a", None] * (OPENS_AT // 2) + ["b", "a"])
    assert asked == [[]] * (OPENS_AT - 1) + [["a", None], ["b"], []]
    many = [*"abcd" * OPENS_AT, "e"]
    assert learned(many)[1] == [[]] * len(many)
    assert learned([["a"]] * OPENS_AT, kind=Tags)[1] == [[]] * OPENS_AT
    column.claim("b", 1)
    draft = Draft([0.0, 0.0])
    column.put("b", draft)
    assert draft.dense == [0.0, 1.0]
    assert draft.keys == [column.key_of("b")]


def test_values_beyond_the_limit_and_long_ones_are_only_counted():
    column, _ = learned([str(i) for i in range(8)])
    assert (column.distinct, column.sketch) == (8, None)
    column, _ = learned([str(i % 20) for i in range(100)])
    assert list(column.known) == [str(i) for i in range(8)]
    assert column.counts == [5] * 8
    assert abs(column.distinct - 20) <= 1
    column, _ = learned(["x" * LONGEST_VALUE, "x" * (LONGEST_VALUE + 1)])
    assert [len(value) for value in column.known] == [LONGEST_VALUE]


def test_a_table_counts_what_its_cells_count_one_by_one():
    values = ["a", "", 7, ["b", "a"], "a", [], 7.0]
    single, _ = learned(values)
    column = Category("c")
    part = column.stage(Cells(values))
    assert part.counts.tolist() == [1, 1, 1, 2, 1, 0, 1]
    assert column.cell_at(part, 3) == ["b", "a"]
    assert column.n == 0
    column.commit(part, len(values), LIMITS)
    assert column.known == single.known == {"a": 0, None: 1, "7": 2, "b": 3}
    assert (column.counts, column.n, column.missing) == (single.counts, 7, 1)


def test_saved_columns_that_contradict_themselves_are_refused():
    state = learned(["a", "b", "a"])[0].state()
    again = Category("c")
    again.restore(state)
    assert again.counts == [2, 1]
    assert again.keys == [again.key_of("a"), again.key_of("b")]
    for wrong, why in [
        ({"values": ["a", "a"]}, "do not go together"),
        ({"values": ["a", ""]}, "list of short texts"),
        ({"counts": np.array([2, 0])}, "do not go together"),
        ({"place_of": np.array([0, -1])}, "not those of the values"),
    ]:
        with pytest.raises(ValueError, match=why):
            Category("c").restore({**state, **wrong})
    with pytest.raises(TypeError, match="int64"):
        Category("c").restore({**state, "counts": [2, 1]})
