"""Lines of CSV to numbers and back, to the bit."""

import csv
import io
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mixable as mx
from mixable import _core

TEXTS = st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1)


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False), TEXTS, TEXTS, st.floats(-1e3, 1e3)
        ),
        max_size=5,
    ),
    st.booleans(),
)
def test_what_pythons_csv_writes_is_read_to_the_bit(rows, quote_all):
    file = io.StringIO(newline="")
    csv.writer(file, quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL).writerows(rows)
    block = file.getvalue().encode()
    X, _, labels, ids, empty, _, lines, bad, end, count = _core.read_grid(
        block, 0, len(block), 100, "xlix", list("abcd"), 1000
    )
    assert not empty.any()
    assert X.tolist() == [[row[0], row[3]] for row in rows]
    assert (labels, ids) == ([row[1] for row in rows], [row[2] for row in rows])
    assert (lines.tolist(), bad, end, count) == (list(range(len(rows))), [], len(block), len(rows))
    written = mx._core.format_rows(X, [b""] * len(rows), ["", ","], "\n").decode()
    assert [
        [float(value) for value in line.split(",")] for line in written.splitlines()
    ] == X.tolist()


LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"1e{LARGEST}", None),
        (f"-1E+{LARGEST}", None),
        (f"0.001e{LARGEST}", None),
        (f"1e{LARGEST + 1}", None),
        (f"0e{LARGEST}", 0.0),
        (f"1e-{LARGEST}", 0.0),
        (f"100e-{LARGEST + 1}", 0.0),
        (f"1e-{LARGEST + 2}", 0.0),
        (f"0.{'0' * 400}1e900", None),
        (f"0.{'0' * 400}1e350", 1e-51),
        (f"1{'0' * 400}e-900", 0.0),
        (f"1{'0' * 400}e-350", 1e50),
    ],
    ids=lambda value: str(value)[:30],
)
def test_exponents_of_any_size_are_read_or_refused_as_infinite(text, value):
    X, *_, bad, _, _ = _core.read_grid(text.encode(), 0, len(text), 1, "x", ["a"], 0)
    if value is None:
        assert len(X) == 0
        assert bad[0][2].startswith("column 'a' is infinite: '" + text[:80])
    else:
        assert bad == []
        assert X.tolist() == [[value]]


def cut(text):
    """The fields of a line; an independent reading of what core/text/csv.hpp says."""
    fields, at = [], 0
    while True:
        if text[at : at + 1] != '"':
            end = text.find(",", at)
            field = text[at:] if end < 0 else text[at:end]
            if '"' in field:
                raise ValueError("a quote inside a field that does not begin with one")
        else:
            end = at + 1
            while True:
                end = text.find('"', end)
                if end < 0:
                    raise ValueError("a quote that is not closed on its line")
                if text[end + 1 : end + 2] != '"':
                    break
                end += 2
            field = text[at + 1 : end].replace('""', '"')
            end += 1
            if text[end : end + 1] not in ("", ","):
                raise ValueError("text after a closing quote")
            end = end if end < len(text) else -1
        fields.append(field)
        if end < 0:
            break
        at = end + 1
    if len(fields) != 3:
        raise ValueError(f"{len(fields)} fields, and the header has 3")
    return fields


LINES = ["x,1,", '"x,y","1",up', 'x,"1,up', '"x"y,1,up', 'x"y,1,up', "x,1", "x,1,up,4", '"",,""']
LINES += ['"a""b",2,up', '"a"",2,up', ",,", '"a"', '"a",', '"a","b","c","d"', "é,2,up"]


def test_lines_are_cut_into_fields_or_refused_with_a_reason():
    random_ = random.Random(0)
    lines = [*LINES, *("".join(random_.choices('a",', k=7)) for _ in range(3000))]
    found, reasons = [], {}
    for number, line in enumerate(lines):
        try:
            found.append(cut(line))
        except ValueError as error:
            reasons[number] = str(error)
    block = "\n".join(lines).encode()
    columns, *_, rejects, end, passed = _core.read_grid(
        block, 0, len(block), 9999, "ttc", list("abc"), 99
    )[1:]
    codes, texts = columns[2]
    last = [texts[code] or "" for code in codes.tolist()]
    assert [list(row) for row in zip(*columns[:2], last, strict=True)] == found
    assert {line: reason for line, _, reason in rejects} == reasons
    assert (end, passed) == (len(block), len(lines))


@pytest.mark.parametrize("text", ["", "NA", "?", " ? ", "nan", "NaN"])
def test_what_stands_for_a_missing_number(text):
    value, what, _ = _core.read_number(text, "plain")
    assert (math.isnan(value), what) == (True, 1)
    assert _core.read_number(text.strip() + "x", "plain")[1] == 2
