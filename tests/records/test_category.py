"""Columns of categories: which values are remembered."""

import math

import numpy as np
import pytest

from mixable.records.category import LONGEST_VALUE, Category
from mixable.records.cells import ABSENT
from mixable.records.column import Draft
from mixable.records.tables import Cells

MOST = 8  # values that are remembered


def learned(values, kind=Category):
    """A column after some values."""
    column = kind("c")
    for value in values:
        column.learn(column.plain(value), MOST)
    return column


def test_values_of_older_files_keep_their_places():
    state = {**learned(["a", None, "b"]).state(), "places": [1, 2]}
    column = Category("c")
    column.restore({**state, "place_of": np.array([2, -1, 1])})
    dense = []
    for cell in ("a", "b", ["b", "a"], None, "new"):
        draft = Draft([math.nan] * 3)
        column.put(cell, draft)
        dense.append(draft.dense[1:])
    assert dense == [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    part = column.stage(Cells(["a", "b", ["b", "a"], None, "new", ABSENT]))
    np.testing.assert_array_equal(part.dense[:, [1, 0]], [*dense, [0.0, 0.0]])
    assert column.state()["place_of"].tolist() == [2, -1, 1]
    draft = Draft([math.nan] * 3)
    column.put_absent(draft)
    assert draft.dense[1:] == [0.0, 0.0]


def test_values_beyond_the_limit_and_long_ones_are_only_counted():
    column = learned([str(i) for i in range(8)])
    assert (column.distinct, column.sketch) == (8, None)
    column = learned([str(i % 20) for i in range(100)])
    assert list(column.known) == [str(i) for i in range(8)]
    assert column.counts == [5] * 8
    assert abs(column.distinct - 20) <= 1
    column = learned(["x" * LONGEST_VALUE, "x" * (LONGEST_VALUE + 1)])
    assert [len(value) for value in column.known] == [LONGEST_VALUE]


def test_a_table_counts_what_its_cells_count_one_by_one():
    values = ["a", "", 7, ["b", "a"], "a", [], 7.0]
    single = learned(values)
    column = Category("c")
    part = column.stage(Cells(values))
    assert part.counts.tolist() == [1, 1, 1, 2, 1, 0, 1]
    assert column.cell_at(part, 3) == ["b", "a"]
    assert column.n == 0
    column.commit(part, len(values), MOST)
    assert column.known == single.known == {"a": 0, None: 1, "7": 2, "b": 3}
    assert (column.counts, column.n, column.missing) == (single.counts, 7, 1)


def test_saved_columns_that_contradict_themselves_are_refused():
    state = learned(["a", "b", "a"]).state()
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
