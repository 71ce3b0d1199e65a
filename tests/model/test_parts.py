"""Tables in parts: each row once, in order, and none too many at a time."""

import itertools

import numpy as np
import pytest

from mixable.model.parts import (
    MOST_NUMBERS,
    TOLD_ROWS,
    cut_at,
    ends_of,
    largest_row,
    parts_of,
    small,
)


@pytest.mark.parametrize(("n", "width"), [(0, 3), (1, 3), (1000, 3), (7, MOST_NUMBERS), (5, 10**9)])
def test_each_row_is_in_one_part_and_no_part_is_too_large(n, width):
    parts = parts_of(n, width)
    rows = [row for part in parts for row in range(n)[part]]
    assert rows == list(range(n))
    assert all((part.stop - part.start) * width <= max(MOST_NUMBERS, width) for part in parts)


def test_small_parts_are_the_same_rows():
    pieces = list(small([slice(0, 600), slice(600, 601)]))
    assert [row for piece in pieces for row in range(601)[piece]] == list(range(601))
    assert max(piece.stop - piece.start for piece in pieces) == TOLD_ROWS
    assert slice(600, 601) in pieces  # cuts of parts remain


def test_the_largest_row_may_have_missing_numbers_and_overflow():
    assert largest_row(np.array([[3.0, 0.0], [np.nan, 4.0], [1.0, 2.0]])) == 1
    assert largest_row(np.array([[1.0, 2.0], [1e200, 0.0]])) == 1


@pytest.mark.parametrize("n", [0, 5, 300, 100_000])
def test_parts_end_where_a_whole_table_wants_it(n):
    ends = ends_of(n)
    assert ends[-1] == n
    assert all(1.4 < two / one < 1.43 for one, two in itertools.pairwise(ends))
    pieces = list(cut_at(ends, parts_of(n, 100)))
    assert [row for piece in pieces for row in range(n)[piece]] == list(range(n))
    assert {piece.stop for piece in pieces} >= set(ends) - {0}
