"""Rows and tables of rows."""

import numpy as np
import pytest
from record_data import DECLARED, assert_same_rows, events

from mixable.records import Encoder, Rows
from mixable.records.column import Part
from mixable.records.rows import at_width, side_by_side


def test_slices_of_a_table_are_tables_of_the_same_rows():
    encoder, records = Encoder(DECLARED), events(30)
    encoder.guess(records)
    rows, _ = encoder.stage(records)
    for begin, end in ((0, 30), (7, 20), (5, 5), (25, 99)):
        some = rows[begin:end]
        assert len(some) == len(records[begin:end])
        assert some.indptr[0] == some.cross_indptr[0] == 0
        assert some.indptr[-1] == len(some.keys) == len(some.values)
        assert some.cross_indptr[-1] == len(some.cross_keys) == len(some.cross_values)
        assert some.keys.tolist() == rows.keys[rows.indptr[begin] :][: len(some.keys)].tolist()
        np.testing.assert_array_equal(some.dense, rows.dense[begin:end])


def test_one_row_is_a_table_of_one():
    encoder = Encoder(DECLARED)
    row = encoder.encode(events(1)[0])
    for width in (len(row.dense), len(row.dense) + 2, 1):
        table = row.as_rows(width)
        assert table.dense.shape == (1, width)
        assert_same_rows(table, [row])


def test_a_width_is_reached_with_nan_or_by_cutting():
    dense = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert at_width(dense, 2) is dense
    np.testing.assert_array_equal(at_width(dense, 3), [[1, 2, np.nan], [3, 4, np.nan]])
    np.testing.assert_array_equal(at_width(dense[0], 1), [1])
    none = np.empty(0)
    rows = Rows.of(dense, np.zeros(3, np.int64), none.astype(np.uint64), none.astype(np.float32))
    assert rows.dense_at(0).shape == (2, 0)
    assert rows.cross_indptr.tolist() == [0, 0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_columns_side_by_side_are_joined_row_by_row(seed):
    rng, n, parts = np.random.default_rng(seed), 9, []
    expected = [[] for _ in range(n)]
    for most, least in ((4, 0), (2, 1), (1, 0), (3, 0)):  # the second has one in each row
        counts = rng.integers(least, most, size=n)
        keys = rng.integers(2**63, size=counts.sum()).astype(np.uint64)
        values = rng.random(len(keys), dtype=np.float32) if most > 3 else None
        parts.append(Part(counts=counts, keys=keys, values=values))
        pairs = zip(keys.tolist(), np.ones(len(keys)) if values is None else values, strict=True)
        pairs = list(pairs)
        for row, end in enumerate(np.cumsum(counts)):
            expected[row] += pairs[end - counts[row] : end]
    indptr, keys, values = side_by_side(parts, n)
    for row in range(n):
        own = slice(indptr[row], indptr[row + 1])
        assert list(zip(keys[own].tolist(), values[own], strict=True)) == expected[row]
