"""Tables of other libraries, column by column."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mixable.records.cells import ABSENT
from mixable.records.tables import Table, frame_columns


def test_lists_of_dictionaries():
    records = [{"a": 1}, {"a": None, "b": 2}]
    table = Table(records)
    assert (table.n, table.records, table.frame) == (2, records, {})
    assert table.column("a").items == [1, None]
    assert table.column("b").items == [ABSENT, 2]
    assert table.column("b").absent(2).tolist() == [True, False]
    assert list(table.others({"a": 0})) == [(1, "b", 2)]
    assert Table({"a": [1, 2, 3]}).n == 3
    with pytest.raises(TypeError, match="row 1 must be a dictionary, got list"):
        Table([{}, []])
    with pytest.raises(TypeError, match="got str"):
        Table("text")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_numbers_of_frames_come_as_arrays(make):
    columns = frame_columns(make({"whole": [1, 2], "gap": [0.5, None], "word": ["x", "y"]}))
    assert list(columns) == ["whole", "gap", "word"]
    assert columns["whole"].numbers.dtype.kind == "i"
    assert columns["whole"].items == [1, 2]
    np.testing.assert_array_equal(columns["gap"].numbers, [0.5, np.nan])
    assert columns["word"].numbers is None
    assert columns["word"].items == ["x", "y"]


def test_times_of_frames_are_on_the_wall_and_in_utc():
    noon = dt.datetime(2024, 7, 1, 12)
    naive = noon.replace(tzinfo=dt.timezone.utc).timestamp()
    series = pd.Series([noon, None]).dt.tz_localize("Europe/Paris")
    local = pl.Series("at", [noon, None]).dt.replace_time_zone("Europe/Paris")
    for frame in (pd.DataFrame({"at": series}), pl.DataFrame([local])):
        wall, utc = frame_columns(frame)["at"].times
        np.testing.assert_array_equal(wall, [naive, np.nan])
        np.testing.assert_array_equal(utc, [naive - 7200, np.nan])
    for frame in (pd.DataFrame({"at": [noon]}), pl.DataFrame({"at": [noon]})):
        wall, utc = frame_columns(frame)["at"].times
        assert wall.tolist() == utc.tolist() == [naive]


def test_what_is_no_table_is_refused():
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    for table, error, why in [
        ({"a": [1], "b": [1, 2]}, ValueError, "differ in length"),
        (twice, ValueError, "two columns of the table are called"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"collect\(\) it first"),
        (np.zeros((2, 2)), TypeError, "a table must be a frame .* got ndarray"),
        (pd.Series([1]), TypeError, "got Series"),
        ({b"a": [1]}, TypeError, "name of a column"),
    ]:
        with pytest.raises(error, match=why):
            frame_columns(table)
    numbered = pd.DataFrame(np.zeros((1, 2)), columns=np.array([3, 4]))
    assert [type(name) for name in frame_columns(numbered)] == [int, int]
