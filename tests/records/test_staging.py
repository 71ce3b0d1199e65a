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


def test_a_table_is_committed_once_and_no_more_of_it_than_there_is():
    encoder = Encoder(Columns(category=["c"]))
    _, pending = encoder.stage([{"c": value} for value in "xxyyx"])
    encoder.commit(pending, 0)
    assert encoder.n == 0
    with pytest.raises(ValueError, match="at most 5"):
        encoder.commit(pending, 6)
    encoder.commit(pending, 4)
    assert encoder.registry.columns["c"].counts == [2, 2]
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
