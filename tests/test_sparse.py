"""Sparse rows as they are given: every form means the same keys and values."""

import numpy as np
import pytest
from scipy import sparse

from mixable import _sparse

DENSE = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.5, 0.0, -1.0]])
PAIRS = [[(1, 2.0)], [], [(0, 1.5), (2, -1.0)]]


def as_rows(rows):
    """A list of pairs for each row."""
    pairs = list(zip(rows.keys.tolist(), rows.values.tolist(), strict=True))
    return [pairs[a:b] for a, b in zip(rows.start[:-1], rows.start[1:], strict=True)]


@pytest.mark.parametrize(
    "X",
    [
        sparse.csr_matrix(DENSE),
        sparse.csc_array(DENSE),
        sparse.coo_matrix(DENSE.astype(np.float32)),
        PAIRS,
        [dict(row) for row in PAIRS],
        [sparse.csr_matrix(row) for row in DENSE],
        tuple(PAIRS),
    ],
    ids=["csr", "csc", "float32", "pairs", "dictionaries", "matrices", "tuple"],
)
def test_every_form_has_the_same_rows(X):
    rows = _sparse.rows(X)
    assert as_rows(rows) == PAIRS
    assert [each.dtype for each in rows] == [np.int_, np.uint64, np.float64]
    assert _sparse.is_table(X)


@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint32])
def test_indices_may_be_of_any_type(index):
    parts = np.array([1.0, 2.0]), np.array([5, 3], dtype=index), np.array([0, 2], dtype=index)
    X = sparse.csr_matrix((1, 10))
    X.data, X.indices, X.indptr = parts
    assert as_rows(_sparse.rows(X)) == [[(5, 1.0), (3, 2.0)]]


@pytest.mark.parametrize(
    "x",
    [
        {2**64 - 1: 1.0},
        [(2**64 - 1, 1)],
        [[np.uint64(2**64 - 1), True]],
        ((2**64 - 1, np.float32(1)),),
    ],
)
def test_keys_have_64_bits(x):
    keys, values = _sparse.row(x)
    assert keys.tolist() == [2**64 - 1]
    assert values.tolist() == [1.0]
    assert not _sparse.is_table(x)


def test_rows_of_one_dimension():
    line = sparse.coo_array(DENSE[2])
    assert not _sparse.is_table(line)
    keys, values = _sparse.row(line)
    assert (keys.tolist(), values.tolist()) == ([0, 2], [1.5, -1.0])
    with pytest.raises(ValueError, match=r"x\[2\] is nan"):
        _sparse.row(sparse.coo_array(np.array([1.0, 0.0, np.nan])))


def test_one_row_is_wanted():
    with pytest.raises(ValueError, match="x must be one row, got 3"):
        _sparse.row(sparse.csr_matrix(DENSE))


def test_a_matrix_is_not_changed():
    X = sparse.csr_matrix(DENSE)
    before = X.copy()
    rows = _sparse.rows(X)
    rows.keys[:] = 0
    assert (before != X).nnz == 0


def test_the_first_bad_entry_is_named():
    bad = DENSE.copy()
    bad[2, 2] = np.inf
    with pytest.raises(ValueError, match=r"X\[2, 2\] is inf; inputs must be finite"):
        _sparse.rows(sparse.csr_matrix(bad))
    with pytest.raises(ValueError, match=r"X\[1\]\[7\] is nan"):
        _sparse.rows([{0: 1.0}, {7: np.nan}])
    with pytest.raises(TypeError, match=r"keys of X\[1\] must be integers, got str"):
        _sparse.rows([{0: 1.0}, {"a": 1.0}])
