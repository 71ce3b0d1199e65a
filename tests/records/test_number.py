"""Columns of numbers: what is dense, what has a key, and sizes in crosses."""

import math

import numpy as np
import pytest

from mixable.records.cells import ABSENT
from mixable.records.column import Draft
from mixable.records.number import Number, bucket
from mixable.records.tables import Cells

MOST = 8  # values that are remembered
CELLS = [1.5, "", "free", "-2", ABSENT, True]


def new():
    column = Number("x")
    column.places = [0]
    return column


def test_sizes_are_told_apart_to_half_an_octave():
    small = [bucket(float(x)) for x in range(-8, 9)]
    assert len(set(small)) == 17
    assert bucket(100.0) == bucket(101.0) != bucket(100.0 * math.sqrt(2)) != bucket(200.0)
    assert bucket(-100.0) != bucket(100.0)
    sizes = [bucket(sign * 2.0**k) for sign in (1, -1) for k in range(-1074, 1024)]
    assert len(set(sizes)) == len(sizes)


def test_a_table_has_the_rows_of_its_cells_and_learns_the_same():
    table, single, dense, keys = new(), new(), [], []
    part = table.stage(Cells(CELLS))
    for cell in CELLS:
        draft = Draft([math.nan])
        if cell is ABSENT:
            single.put_absent(draft)
            single.learn_absent()
        else:
            single.put(single.plain(cell), draft)
            single.learn(single.plain(cell), MOST)
        dense += draft.dense
        keys += draft.keys
    np.testing.assert_array_equal(part.dense[:, 0], dense)
    assert dense[0] == 1.5
    assert dense[3:4] + dense[5:] == [-2.0, 1.0]
    assert part.keys.tolist() == keys
    assert part.counts.tolist() == [0, 1, 1, 0, 1, 0]
    table.commit(part, len(CELLS), MOST)
    assert table.state() == single.state()
    assert table.describe() == "missing in 33.3%, no number in 1"


def test_only_the_first_rows_of_a_table_are_learned():
    column = new()
    part = column.stage(Cells(CELLS))
    column.commit(part, 2, MOST)
    assert (column.n, column.missing, column.words) == (2, 1, 0)
    assert [column.cell_at(part, row) for row in range(3)] == [1.5, None, "free"]
    assert list(column.texts(part, 2)) == []
    assert list(column.texts(part, 3)) == [(2, "free")]


def test_infinite_numbers_of_a_table_are_refused():
    for cells in (
        Cells([1.0, "inf"]),
        Cells([1.0, math.inf], numbers=np.array([1.0, math.inf], np.float32)),
    ):
        with pytest.raises(ValueError, match=r"column 'x' is .*must be finite"):
            new().stage(cells)
    state = {**new().state(), "words": 1}
    with pytest.raises(ValueError, match="a saved count"):
        new().restore(state)
