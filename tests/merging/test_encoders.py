"""Encoders of records: dictionaries are united, what was counted adds."""

import copy

import numpy as np
import pytest
from record_data import DECLARED, events

from mixable.records import Encoder

RECORDS = [{**each, "note": None} for each in events(300)]
PARTS = (slice(0, 80), slice(80, 200), slice(200, 300))


def taught(encoder, records):
    encoder.commit(encoder.stage(records)[1])
    return encoder


def new():
    return Encoder(DECLARED)


def combined(base, encoders):
    begin = base or encoders[0]._fresh()
    return begin.combine(encoders, begin)


def known(encoder):
    """All that was learned, whatever the order."""
    # A number in a cross is called by the first of its size.
    out = {"n": encoder.n, "names": set(encoder.names), "places": encoder.dense_names}
    for name, column in encoder.registry.columns.items():
        state = column.state()
        values = state.pop("values", [])
        counts = state.pop("counts", np.empty(0)).tolist()
        state.pop("place_of", None), state.pop("registers", None)
        out[name] = state, dict(zip(values, counts, strict=True))
    return out


@pytest.mark.parametrize("begun", [False, True])
def test_merged_encoders_know_what_one_knows(begun):
    base = taught(new(), RECORDS[PARTS[0]]) if begun else None
    parts = PARTS[1:] if begun else PARTS
    terms = [taught(copy.deepcopy(base) if begun else new(), RECORDS[part]) for part in parts]
    merged = combined(base, terms)
    assert known(merged) == known(taught(new(), RECORDS))
    again = combined(base, terms[::-1])
    assert known(again) == known(merged)
    assert merged.encode(RECORDS[3]).keys.tolist() == again.encode(RECORDS[3]).keys.tolist()


def test_values_beyond_the_limit_are_sketched():
    def users(first, last):
        encoder = Encoder(DECLARED, max_values=64)
        return taught(encoder, [{"user": f"u{i}"} for i in range(first, last)])

    merged = combined(None, [users(0, 60), users(30, 500)])
    column = merged.registry.columns["user"]
    assert len(column.known) == 64
    assert abs(column.distinct / 500 - 1) < 0.1


def test_columns_of_other_kinds_or_in_another_order_are_refused():
    a = taught(Encoder(), [{"x": 1.0, "y": 2.0}] * 3)
    b = taught(Encoder(), [{"x": "red", "y": 2.0}] * 3)
    c = taught(Encoder(), [{"y": 2.0, "x": 1.0}] * 3)
    with pytest.raises(ValueError, match=r"other orders \('x' where 'y' is\)|'y' where 'x'"):
        combined(None, [a, c])
    d = taught(Encoder(), [{"z": ["a", "b"]}] * 3)
    e = taught(Encoder(), [{"z": "a"}] * 3)
    with pytest.raises(ValueError, match="column 'z' is a tags in one model and a category"):
        combined(None, [d, e])
    with pytest.raises(ValueError, match=r"declare its kind|other orders"):
        combined(None, [a, b])
