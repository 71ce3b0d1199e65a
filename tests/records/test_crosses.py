"""Crosses: keys of pairs of values."""

import math

from mixable.records.category import Category
from mixable.records.cells import ABSENT
from mixable.records.column import Draft
from mixable.records.number import Number
from mixable.records.rows import MOST_PAIRS, Cross
from mixable.records.tables import Cells


def test_keys_depend_on_which_columns_are_crossed_and_in_which_order():
    crosses = [Cross("a", "b"), Cross("b", "a"), Cross("a", "c"), Cross("a", 1), Cross("a", "1")]
    found = [cross.keys(*pair)[0] for cross in crosses for pair in (([5], [6]), ([6], [5]))]
    assert len(set(found)) == 10
    assert Cross("a", "b").keys([5], [6]) == [found[0]]
    assert Cross("a", "b").keys([], [6]) == []


def test_long_lists_have_the_first_of_their_pairs():
    cross, left, right = Cross("a", "b"), list(range(20)), list(range(100, 150))
    keys = cross.keys(left, right)
    assert len(set(keys)) == MOST_PAIRS
    assert keys[50:52] == cross.keys([1], [100, 101])
    labels = cross.labels({1: "a=x", 2: "a=y"}, {7: "b=z"})
    assert labels == {cross.keys([2], [7])[0]: "a=y & b=z", cross.keys([1], [7])[0]: "a=x & b=z"}


def test_a_table_has_the_pairs_of_its_cells():
    """Numbers count by their size, words and missing ones by their key, absent ones not at all."""
    number, category = Number("n"), Category("c")
    number.places = [0]
    left = [3.5, "free", None, ABSENT, 3.6, 90]
    right = ["x", ["x", "y"], "x", "y", None, ABSENT]
    cross, counts, keys = Cross("n", "c"), [], []
    for cells in zip(left, right, strict=True):
        pair = []
        for column, cell in zip((number, category), cells, strict=True):
            draft = Draft([math.nan])
            if cell is not ABSENT:
                column.put(column.plain(cell), draft)
            pair.append([] if cell is ABSENT else column.crossed(draft, 0))
        counts.append(len(cross.keys(*pair)))
        keys += cross.keys(*pair)
    parts = [
        column.crossed_part(column.stage(Cells(list(cells))))
        for column, cells in ((number, left), (category, right))
    ]
    part = cross.stage(*parts)
    assert part.counts.tolist() == counts == [1, 2, 1, 0, 1, 0]
    assert part.keys.tolist() == keys
    assert parts[0].keys[0] == parts[0].keys[3] != parts[0].keys[4]  # 3.5 is about 3.6
