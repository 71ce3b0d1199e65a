"""Lines of CSV to numbers and back, to the bit."""

import csv
import io
import math

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
    X, labels, ids, _, lines, bad, end, count = mx._core.CsvParser(
        [0, -2, -3, 1], list("abcd")
    ).parse(block, 0, len(block), 100, 1000)
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
    X, _, _, _, _, bad, _, _ = mx._core.CsvParser([0], ["a"]).parse(
        text.encode(), 0, len(text), 1, 0
    )
    if value is None:
        assert len(X) == 0
        assert bad[0][2].startswith("column 'a' is infinite: '" + text[:80])
    else:
        assert bad == []
        assert X.tolist() == [[value]]


def test_a_parser_that_cannot_be():
    for roles, names in (([10_000_000], ["a"]), ([0, 1], []), ([-4], ["a"])):
        with pytest.raises(ValueError, match="do not go together"):
            mx._core.CsvParser(roles, names)


@pytest.mark.parametrize("text", ["", "NA", "?", " ? ", "nan", "NaN"])
def test_what_stands_for_a_missing_number(text):
    value, what, _ = _core.read_number(text, "plain")
    assert (math.isnan(value), what) == (True, 1)
    assert _core.read_number(text.strip() + "x", "plain")[1] == 2
