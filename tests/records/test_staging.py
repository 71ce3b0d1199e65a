"""Tables and single records make the same rows, and leave the same encoder."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_data import DECLARED, assert_same_encoder, assert_same_rows, events, one_by_one

from mixable.records import Columns, Encoder

words = st.sampled_from(["a", "B c", "B c", "Größe", "日本語", "7", "7.0", "x" * 300, "", "\ud800"])
missing = st.sampled_from([None, float("nan"), ""])
numbers = st.one_of(
    missing, st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9), words
)
times = st.one_of(
    missing,
    words,
    st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)),
    st.datetimes(dt.datetime(1990, 1, 1)).map(lambda each: each.isoformat(" ")),
    st.integers(0, 2**40),
)
cells = {
    "price": numbers,
    "user": st.one_of(words, missing, st.booleans(), st.integers(-3, 3), st.floats(-2, 2)),
    "device": st.sampled_from(["phone", "desktop", None]),
    "query": st.one_of(words, missing, st.integers(), st.lists(words, max_size=3)),
    "tags": st.one_of(st.lists(words, max_size=4), words, missing),
    "at": times,
    "note": st.just(object()),
}
record = st.fixed_dictionaries({}, optional=cells)


@settings(max_examples=60, deadline=None)
@given(st.lists(record, max_size=12), st.data())
def test_a_table_gives_the_rows_of_its_records_one_by_one(records, data):
    cut = data.draw(st.integers(0, len(records)))
    table, single = Encoder(DECLARED), Encoder(DECLARED)
    for encoder in (table, single):
        encoder.guess(records)
    rows, pending = table.stage(records)
    table.commit(pending, cut)
    singles = one_by_one(single, records[:cut])
    assert_same_encoder(table, single)
    assert_same_rows(rows, singles + one_by_one(single, records[cut:]))


@pytest.mark.parametrize("sizes", [[300], [63, 1, 1, 235], [70, 30, 200]])
def test_places_of_categories_are_claimed_after_the_same_row(sizes):
    """The 64th record opens the column `device`, wherever in a table it stands."""
    records = events(300)
    declared = Columns(category=["user", "device"], ignore=["note"], cross=[("user", "device")])
    table, single = (Encoder(declared, max_indicators=8, max_places=5) for _ in range(2))
    for encoder in (table, single):
        encoder.guess(records)
    begin = 0
    for size in sizes:
        part = records[begin : begin + size]
        rows, pending = table.stage(part)
        table.commit(pending)
        assert_same_rows(rows, one_by_one(single, part))
        begin += size
    assert_same_encoder(table, single)
    names = ("device=phone", "device=desktop", "device is missing")
    assert set(names) <= set(table.dense_names)
    assert not any(name.startswith("user=") for name in table.dense_names)
    place = table.dense_names.index("device=phone")
    shown = {cell: table.encode({"device": cell}).dense[place] for cell in ("phone", "new", None)}
    assert shown == {"phone": 1.0, "new": 0.0, None: 0.0}


def test_a_new_value_of_an_open_column_claims_a_place_until_there_are_too_many():
    encoder = Encoder(Columns(category=["c"]), max_indicators=3)
    encoder.commit(encoder.stage([{"c": "a"}, {"c": "b"}] * 32)[1])
    assert encoder.dense_names == ["c=a", "c=b"]
    rows, pending = encoder.stage([{"c": value} for value in "xxyyx"])
    assert rows.dense[:, 2].tolist()[1:] == [1, 0, 0, 1]
    assert np.isnan(rows.dense[0, 2])
    encoder.commit(pending, 0)
    assert encoder.n_dense == 2
    with pytest.raises(ValueError, match="at most 5"):
        encoder.commit(pending, 6)
    encoder.commit(pending, 4)
    assert encoder.dense_names == ["c=a", "c=b", "c=x"]
    with pytest.raises(ValueError, match="other records"):
        encoder.commit(pending, 1)


def test_frames_of_all_libraries_give_the_same_rows():
    records = [{name: each.get(name) for name in DECLARED.category} for each in events(80)]
    for row, each in enumerate(records):
        each |= {"id": row % 7, "x": row / 3 if row % 5 else None, "flag": row % 2 == 0}
        each |= {"at": dt.datetime(2024, 5, 1) + dt.timedelta(hours=7 * row), "tags": ["t", "u"]}
    declared = Columns(category=["user", "device"], cross=[("id", "x")])
    frames = [pd.DataFrame(records), pl.DataFrame(records), pa.Table.from_pylist(records)]
    frames.append({name: [each[name] for each in records] for name in records[0]})
    frames.append(pd.DataFrame(records).astype({"user": "category", "x": "Float64"}))
    expected = one_by_one(_guessed(declared, records), records)
    for frame in frames:
        assert_same_rows(Encoder(declared).encode_table(frame), expected)


def _guessed(declared, records):
    encoder = Encoder(declared)
    encoder.guess(records)
    return encoder


def test_a_bad_cell_is_named_with_its_row_and_nothing_is_learned():
    encoder = Encoder(Columns(number=["price"], category=["user"]))
    for bad, error in (
        ({"price": float("inf")}, ValueError),
        ({"price": "1e999"}, ValueError),
        ({"price": {"a": 1}}, TypeError),
        ({"user": b"x"}, TypeError),
        ({"user": [["nested"]]}, TypeError),
    ):
        (name,) = bad
        with pytest.raises(error, match=f"row 1: column '{name}'"):
            encoder.stage([{name: "1"}, bad])
    assert encoder.n == 0
    assert not encoder.kinds


def test_columns_of_a_table_that_are_missing_later_are_absent():
    encoder = Encoder()
    encoder.commit(encoder.stage(pd.DataFrame({"x": [1.0, 2.0], "c": ["a", "b"]}))[1])
    rows = encoder.encode_table(pd.DataFrame({"c": ["a", "z"]}))
    assert np.isnan(rows.dense).all()
    assert rows.indptr.tolist() == [0, 2, 4]  # x is missing, and c


def test_an_empty_table_has_no_rows():
    encoder = Encoder(DECLARED)
    for table in ([], pd.DataFrame({"price": [], "at": [], "query": []}), {}):
        rows, pending = encoder.stage(table)
        assert len(rows) == 0
        assert rows.indptr.tolist() == [0]
        encoder.commit(pending)
    assert encoder.n == 0
