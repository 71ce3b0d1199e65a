"""Records to rows, one by one."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_data import DECLARED, assert_same_encoder, events, one_by_one

import mixable as mx
from mixable.records import Columns, Encoder

anything = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=20),
        st.text(st.characters(categories=["Cs", "Cc", "Lo", "Mn", "So"]), max_size=9),
        st.binary(max_size=5),
        st.datetimes(),
        st.dates(),
        st.decimals(),
        st.sampled_from(["1", "-0", "1e400", "inf", "nan", "2024-02-30", "0x10", "\uff11", " 7 "]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=5,
)
names = st.one_of(
    st.sampled_from(["price", "user", "query", "at", "tags", "a", "b", "c", "", "\udfff"]),
    st.integers(-2, 2),
    st.booleans(),
    st.tuples(st.text(max_size=1), st.integers(0, 1)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(names, anything, max_size=6), max_size=6), st.booleans())
def test_any_record_is_encoded_or_refused_with_a_reason(records, declared):
    """Keys change their kind in mid-stream; what was refused leaves no trace."""
    encoder, reasons = Encoder(DECLARED if declared else None), []
    for record in records:
        before = mx.persistence.to_bytes(encoder)
        try:
            row = encoder.encode(record)
        except (TypeError, ValueError) as error:
            reasons.append(str(error))
            assert mx.persistence.to_bytes(encoder) == before
            continue
        assert not np.isinf(row.dense).any()
        assert np.isfinite(row.values).all()
        assert len(row.keys) == len(row.values)
        assert len(row.dense) >= encoder.n_dense
        assert mx.persistence.to_bytes(encoder) == before
        encoder.commit(row)
        assert encoder.describe() is not None
        assert encoder.encode(record).dense.shape == (encoder.n_dense,)
    assert all("column" in reason for reason in reasons)


def test_what_becomes_of_each_kind():
    encoder = Encoder(DECLARED)
    (row,) = one_by_one(
        encoder,
        [
            {
                "price": "9.5",
                "user": 7,
                "device": None,
                "query": "Red SHOES, red",
                "tags": ["new", "sale", "new"],
                "at": "2024-02-29T18:00:00+02:00",
                "note": "whatever",
            }
        ],
    )
    named = [encoder.name(key) for key in row.keys]
    at_random = ["query: red", "query: red shoes", "query: shoes", "query: shoes red"]
    assert named[:2] == ["user=7", "device is missing"]
    assert sorted(named[2:6]) == at_random
    assert named[6:] == ["tags=new", "tags=sale", "at: hour 18", "at: Thursday"]
    assert encoder.dense_names == [
        "price", "at: hour sin", "at: hour cos", "at: week sin", "at: week cos", "at: since",
    ]  # fmt: skip
    np.testing.assert_allclose(row.dense[:3], [9.5, -1, 0], atol=1e-12)
    assert math.isnan(row.dense[-1])
    assert [encoder.name(key) for key in row.cross_keys][:2] == [
        "user=7 & device is missing",
        "price~9.5 & tags=new",
    ]
    later = encoder.encode({"at": "2024-02-29T16:00:09Z"})
    assert later.dense[-1] == pytest.approx(math.log1p(9))
    assert encoder.name(12345) is None


def test_a_number_column_takes_words_and_a_category_takes_numbers():
    encoder = Encoder(Columns(number=["n"], category=["c"]))
    one_by_one(encoder, [{"n": 1.5, "c": "x"}, {"n": "unknown", "c": 2}, {"n": None, "c": 2.0}])
    assert encoder.describe() == [
        "n: number, missing in 33.3%, no number in 1",
        "c: category, 2 values so far",
    ]
    row = encoder.encode({"n": "unknown", "c": "2"})
    assert np.isnan(row.dense).all()
    assert [encoder.name(key) for key in row.keys] == ["n=unknown", "c=2"]


def test_kinds_that_were_guessed_wrong_are_guessed_again():
    encoder = Encoder()
    one_by_one(encoder, [{"x": "NA"}, *({"x": str(i)} for i in range(15))])
    assert encoder.describe() == ["x: number, category until record 16"]
    assert encoder.encode({"x": "3"}).dense.tolist() == [3.0]
    encoder = Encoder()
    records = [{"x": "12", "t": "2024-01-01"}, *({"x": f"B{i}", "t": "soon"} for i in range(15))]
    one_by_one(encoder, records)
    assert set(encoder.kinds.values()) == {"category"}
    assert np.isnan(encoder.encode({"x": "12"}).dense).all()  # what numbers had stays empty
    encoder = Encoder(Columns(number=["x"]))
    one_by_one(encoder, [{"x": f"B{i}"} for i in range(20)])
    assert encoder.kinds == {"x": "number"}  # as it was declared


def test_a_bag_of_words_is_sparse():
    encoder = Encoder()
    bags = [{"the": 2, "cat": 1}, {"dog": 3, "the": 1}, {"a": 1, "dog": 0}, {"the": 1, "cat": 7}]
    rows = one_by_one(encoder, bags)
    assert encoder.kinds == {"the": "number"}  # of the first record, and not absent from the next
    words = {
        encoder.name(key): value for key, value in zip(rows[1].keys, rows[1].values, strict=True)
    }
    assert words["dog"] == 2.0
    assert "a" in [encoder.name(key) for key in rows[2].keys]
    assert encoder.encode({"cat": 7}).values.tolist()[-1] == 3.0
    assert encoder.describe()[-1].startswith("numbers under other names: counts")


def test_an_optional_number_is_no_bag():
    encoder = Encoder()
    one_by_one(encoder, [{"a": 1.0, "b": 2.0}, {"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 0.0}])
    assert set(encoder.kinds.values()) == {"number"}
    row = encoder.encode({"a": 5.0})
    assert row.dense[0] == 5
    assert [encoder.name(key) for key in row.keys] == ["b is missing", "c is missing"]


def test_what_is_kept_is_bounded():
    encoder = Encoder(max_values=64, max_columns=3, max_numbers=1)
    for i in range(3000):
        encoder.learn({"u": f"user{i}x", "a": 1.0, "b": 2.0, f"k{i}": "v", "q": f"some words {i}x"})
    assert len(encoder.kinds) == 3
    assert encoder.n_dense == 1
    assert len(encoder.names) <= 64
    line = encoder.describe()[0]
    assert "about" in line
    assert abs(int(line.split()[3].replace(",", "")) / 3000 - 1) < 0.1
    assert encoder.bytes < 50_000
    assert encoder.collisions < 1e-9


def test_long_texts_are_cut_and_long_values_are_not_remembered():
    encoder = Encoder(Columns(text=["t"], category=["c"]))
    row = encoder.encode({"t": "word " * 200_000, "c": "x" * 1_000_000})
    assert len(row.keys) == 3
    encoder.commit(row)
    assert encoder.describe() == [
        "t: text, 1 cut after 10,000 characters",
        "c: category, about 1 values so far, 0 of them by name",
    ]
    assert encoder.bytes < 10_000


def test_rows_whose_label_comes_late_can_be_committed_later():
    """Also after a kind was guessed again, and from a file."""
    encoder = Encoder()
    waiting = [
        encoder.encode({"x": "NA", "new": 1.0}),
        encoder.encode({"x": "5", "t": "2024-01-01"}),
    ]
    one_by_one(encoder, [{"x": "NA"}, *({"x": str(i)} for i in range(15))])
    for row in waiting:
        encoder.commit(row)
    assert set(encoder.kinds) == {"x", "new", "t"}
    assert encoder.n == 18


def test_copies_go_on_with_the_same_bits(tmp_path):
    encoder = Encoder(DECLARED)
    one_by_one(encoder, events(150))
    mx.save(encoder, tmp_path / "encoder.safetensors")
    copies = [
        mx.load(tmp_path / "encoder.safetensors"),
        pickle.loads(pickle.dumps(encoder)),
        copy.copy(encoder),
        copy.deepcopy(encoder),
    ]
    more = events(100, seed=1)
    rows = one_by_one(encoder, more)
    for other in copies:
        again = one_by_one(other, more)
        for a, b in zip(rows, again, strict=True):
            assert a.dense.tobytes() == b.dense.tobytes()
            assert a.keys.tolist() == b.keys.tolist()
        assert_same_encoder(encoder, other)


def test_bad_arguments():
    with pytest.raises(TypeError, match=r"records\.Columns"):
        Encoder({"category": ["a"]})
    with pytest.raises(ValueError, match="max_values must be at least 64"):
        Encoder(max_values=3)
    with pytest.raises(TypeError, match="must be a dictionary"):
        Encoder().encode([1, 2])
    with pytest.raises(TypeError, match="name of a column"):
        Encoder().encode({b"x": 1})
