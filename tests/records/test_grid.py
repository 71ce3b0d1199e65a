"""Grids: what a file of CSV has, column by column, is what its records are."""

import numpy as np
import pytest

from mixable import _core
from mixable.records import Columns, Encoder
from mixable.records.cells import MISSING, NUMBER
from mixable.records.column import RECONSIDERED
from mixable.records.tables import Grid

NAMES = ["size", "colour", "note", "at"]
KINDS = ["number", "category", "text", "time"]


def cells(n, seed=0):
    """Rows of text: numbers and words among them, missing cells, categories."""
    rng = np.random.default_rng(seed)
    sizes = ["1.5", "-2", "", "?", "unknown", "1e3"]
    words = ["red hat", "blue", "", "a b c"]
    times = ["2024-01-01T10:00", "2024-01-02", "soon", ""]
    picks = (sizes, ["red", "", "blue", "übel"], words, times)
    return [[each[rng.integers(len(each))] for each in picks] for _ in range(n)]


def grid_of(rows):
    records = [dict(zip(NAMES, row, strict=True)) for row in rows]
    block = "".join(",".join(row) + "\n" for row in rows).encode()
    roles = "".join(map(encoder(0).registry.role, NAMES))
    _, columns, _, _, empty, *_ = _core.read_grid(
        block, 0, len(block), 1000, roles, list(roles), 10
    )
    return Grid.read(NAMES, columns, empty.tolist()), records


def encoder(n=RECONSIDERED[-1]):
    """An encoder whose formats are settled: the core reads columns only then."""
    declared = dict(zip(KINDS, ([name] for name in NAMES), strict=True))
    made = Encoder(Columns(**declared))
    blank = dict.fromkeys(NAMES, "")
    made.commit(made.stage([blank] * n)[1]) if n else made.guess([blank])
    return made


def same(one, other):
    for name in ("dense", "indptr", "keys", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_grid_has_the_rows_of_its_records_and_teaches_the_same():
    grid, records = grid_of(cells(60))
    one, other = encoder(), encoder()
    for begin, end in ((25, 60), (0, 60), (0, 25)):
        rows, pending = one.stage(grid[begin:end])
        expected, later = other.stage(records[begin:end])
        same(rows, expected)
        one.commit(pending)
        other.commit(later)
        assert one.describe() == other.describe()
    states = one.__getstate__(), other.__getstate__()
    for a, b in zip(*(state["columns"] for state in states), strict=True):
        np.testing.assert_equal(a, b)
    assert states[0]["names"] == states[1]["names"]


def as_number(text):
    """A number, None if it is missing, or a word as it stands."""
    value, what, _ = _core.read_number(text, "plain")
    return {NUMBER: value, MISSING: None}.get(what, text)


def test_rows_of_a_grid_are_records():
    rows = cells(10)
    rows[4] = [""] * 4
    grid, records = grid_of(rows)
    assert len(grid) == 10
    expected = [
        {**each, "size": as_number(each["size"]), "colour": each["colour"] or None}
        for each in records
    ]
    assert grid[2:7].records() == expected[2:7]
    assert grid[2:7][1] == expected[3]
    assert grid.empty == [row == [""] * 4 for row in rows]
    assert grid[3:6].columns["colour"].items == [record["colour"] for record in expected[3:6]]


def test_a_number_that_is_infinite_is_refused_with_its_row():
    rows = cells(5)
    rows[3][0] = "inf"
    with pytest.raises(ValueError, match=r"row 3: column 'size' is 'inf'"):
        encoder().stage(grid_of(rows)[0])


def test_lines_are_read_or_refused_each_by_itself():
    block = b'x,1,i\nbad\n\n"y","2","long"\r\nz,,\ncut,3'
    _, columns, labels, ids, empty, begins, lines, rejects, end, passed = _core.read_grid(
        block, 0, 31, 100, "lni", list("abc"), 3
    )
    assert labels == ["x", "z"]
    assert ids == ["i", None]
    assert columns[1][0][0] == 1
    assert np.isnan(columns[1][0][1])
    assert (empty.tolist(), begins.tolist(), lines.tolist()) == ([False, True], [0, 27], [0, 4])
    assert rejects == [
        (1, 6, "1 fields, and the header has 3"),
        (3, 11, "an identifier that is too long"),
    ]
    assert (end, passed) == (31, 5)
    with pytest.raises(ValueError, match="role"):
        _core.read_grid(block, 0, 5, 1, "?", ["a"], 3)
    with pytest.raises(ValueError, match="roles and names"):
        _core.read_grid(b"a,b\n", 0, 4, 1, "tt", ["a"], 3)
    with pytest.raises(ValueError, match="ends before"):
        _core.read_grid(b"a,b\n", 0, 5, 1, "tt", ["a", "b"], 3)


def test_plain_numbers_are_a_table_and_a_line_with_something_else_is_refused():
    block = b"1,x,2\n,y,NA\n3,z,word\n4,w,5\n"
    X, columns, labels, _, empty, _, _, rejects, _, _ = _core.read_grid(
        block, 0, len(block), 9, "xlx", list("abc"), 3
    )
    np.testing.assert_array_equal(X, [[1, 2], [np.nan, np.nan], [4, 5]])
    assert (columns, labels, empty.tolist()) == ([None] * 3, ["x", "y", "w"], [False, True, False])
    assert rejects == [(2, 12, "column 'c' is not a number: 'word'")]


def test_plain_lines_end_as_in_dos_and_are_read_a_few_at_a_time():
    block = b"x,1,abc\r\ny,red,\r\n\r\nz,,i\r\n"
    _, columns, labels, ids, empty, begins, _, rejects, end, passed = _core.read_grid(
        block, 0, len(block), 2, "lni", list("abc"), 3
    )
    assert (labels, ids, rejects) == (["x", "y"], ["abc", None], [])
    assert (begins.tolist(), empty.tolist()) == ([0, 9], [False, False])
    assert (end, passed, columns[0]) == (17, 2, None)
    _, columns, labels, _, _, begins, lines, *_ = _core.read_grid(
        block, end, len(block), 100, "lni", list("abc"), 3
    )
    assert (labels, begins.tolist(), lines.tolist()) == (["z"], [19], [1])
    values, kinds, words = columns[1]
    assert (np.isnan(values).tolist(), kinds.tolist(), words) == ([True], [1], {})


@pytest.mark.parametrize(
    ("line", "reason"),
    [(b"a\xff,b", "not UTF-8"), (b"a\0,b", "a NUL byte"), (b"\xed\xa0\x80,b", "not UTF-8")],
)
def test_what_is_not_text_is_refused(line, reason):
    found = _core.read_grid(line + b"\n", 0, len(line) + 1, 1, "tt", ["a", "b"], 3)
    assert found[7] == [(0, 0, reason)]


def test_a_registry_is_settled_once_no_kind_is_guessed_again():
    declared = Encoder(Columns(decimal_comma=["size"], category=["colour"], day_first=["at"]))
    declared.learn(dict.fromkeys(("size", "colour", "at"), "1"))
    assert declared.registry.is_settled
    assert not encoder(1023).registry.is_settled  # its decimal mark may be settled later
    assert encoder().registry.is_settled
    guessing = Encoder()
    for t in range(1024):
        assert t == 0 or not guessing.registry.is_settled
        guessing.learn({"x": str(t)})
    assert guessing.registry.is_settled


def test_cells_as_codes():
    absent = object()
    cells = ["b", None, "", ["a", "b", "", "a"], absent, [], "é", "b"]
    counts, codes, values = _core.factors(cells, absent, 4)
    assert counts.tolist() == [1, 1, 1, 2, 0, 0, 1, 1]
    assert [values[code] for code in codes] == ["b", None, None, "a", "b", "é", "b"]
    assert values == ["b", None, "a", "é"]
    for other in (1.0, True, ["a"] * 5, [None], ("a",)):
        assert _core.factors([*cells, other], absent, 4) is None


def test_the_first_record_with_a_name_that_is_not_known():
    known = {"a": 0, "b": 1}
    records = [{"a": 1}, {}, {"b": 2, "a": 3}]
    assert _core.first_other(records, known) == 3
    assert _core.first_other([*records, {"a": 1, "c": 2}, {}], known) == 3
    assert _core.first_other([{}, "text"], known) == 1


def test_a_grid_reads_numbers_by_the_decimal_mark_of_their_column():
    names = ["unknown", "point", "comma"]
    made = Encoder(Columns(number=["point"], decimal_comma=["comma"]))
    blank = dict.fromkeys(names, "1")
    made.commit(made.stage([blank] * RECONSIDERED[-1])[1])
    assert made.registry.is_settled
    rows = [["1.234"] * 3, ['"1,234"'] * 3, ['"1,5"'] * 3, ["$1.234"] * 3]
    block = "".join(",".join(row) + "\n" for row in rows).encode()
    roles = "".join(map(made.registry.role, names))
    assert roles == "npd"
    _, columns, _, _, empty, *_ = _core.read_grid(block, 0, len(block), 9, roles, names, 9)
    records = [dict.fromkeys(names, row[0].strip('"')) for row in rows]
    grid = Grid.read(names, columns, empty.tolist())
    dense = made.encode_table(grid).dense
    expected = [
        [1.234, 1.234, 1234.0],
        [np.nan, 1234.0, 1.234],
        [1.5, 1.5, 1.5],
        [np.nan, 1.234, 1234.0],
    ]
    np.testing.assert_array_equal(dense, expected)
    np.testing.assert_array_equal(made.encode_table(records).dense, expected)
