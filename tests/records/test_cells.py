"""What a single cell is: missing, a number, a text, a time, a list of tags."""

import datetime as dt
import decimal

import numpy as np
import pytest

from mixable.records import cells


class Shout(str):
    __slots__ = ()

    def __str__(self):
        return self.upper()


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (decimal.Decimal("2.5"), 2.5),
        (np.datetime64("NaT"), None),
        (np.datetime64("2024-02-29"), dt.datetime(2024, 2, 29)),
        (Shout("low"), "low"),
        (set("hgfedcba"), list("abcdefgh")),
        (("b", 1.0, None, "b", ""), ["b", "1"]),
        (np.array([2, 1, 2]), ["2", "1"]),
    ],
)
def test_cells_of_other_libraries_become_plain_ones(cell, expected):
    found = cells.plain(cell, "x")
    assert found == expected
    assert type(found) is type(expected)


def test_cells_that_no_column_can_have_are_refused_by_name():
    too_long = ["a"] * (cells.LONGEST_LIST + 1)
    for cell, why in [
        ({"a": 1}, "flatten it first"),
        (b"x", "decode bytes first"),
        ([["a"]], "a list within a list"),
        (too_long, "more than 1,000 tags"),
        (np.array(3.0), "an array without a length"),
        (decimal.Decimal("sNaN"), "no value in double precision"),
        (object(), "a cell must be"),
    ]:
        with pytest.raises(TypeError, match=f"column 'price' has .*{why}"):
            cells.plain(cell, "price")
    for kind in (list, tuple):
        assert cells.plain(kind(too_long[1:]), "price") == ["a"]


def test_numbers_are_read_and_infinite_ones_are_refused():
    found = [cells.number(cell, "x") for cell in (" 7 ", True, "", float("nan"), "seven")]
    assert found == [7.0, 1.0, None, None, "seven"]
    assert cells.number(dt.date(1970, 1, 2), "x") == 86400.0
    for cell in (float("inf"), "-inf", np.float32("inf")):
        with pytest.raises(ValueError, match=r"column 'x' is .*must be finite"):
            cells.number(cell, "x")
    with pytest.raises(TypeError, match="declare it as tags"):
        cells.number(["a"], "x")


def test_a_moment_is_the_same_in_all_its_units_and_spellings():
    seconds = 1.7e9
    for unit in (1, 1e3, 1e6, 1e9):
        assert cells.instant(seconds * unit, "at") == pytest.approx((seconds, seconds, 0))
    zone = dt.timezone(dt.timedelta(hours=2))
    aware = dt.datetime(2024, 2, 29, 18, tzinfo=zone)
    wall, utc, _ = cells.instant(aware, "at")
    assert wall - utc == 7200
    assert utc == aware.timestamp()
    assert cells.instant(aware.isoformat(), "at") == (wall, utc, 0)
    assert cells.instant("soon", "at") == "soon"
    assert cells.instant(None, "at") is None
