"""Which columns are kept, of which kind, and where."""

import pytest

from mixable.records.declaration import Columns
from mixable.records.registry import Limits, Registry, second_guess

LIMITS = Limits(values=99, numbers=2, columns=4)


def registry(record, **declared):
    out = Registry(Columns(**declared), LIMITS)
    out.add(out.scan(record)[0])
    return out


def test_columns_beyond_the_limits_stay_loose():
    record = {"a": 1.0, "b": "x", "at": "2024-01-01", "c": 2.0, "d": "y", "e": "z"}
    kept = registry(record)
    assert {name: column.kind for name, column in kept.columns.items()} == {
        "a": "number",
        "b": "category",
        "at": "time",
        "d": "category",
    }
    assert kept.columns["a"].places == [0]
    assert kept.columns["at"].places == [1, 2, 3, 4, 5]
    assert kept.places[:2] == ["a", "at: hour sin"]
    assert len(kept.places) == 6
    assert kept.scan({"f": "x", "g": None}) == ({}, False)


def test_a_record_that_lacks_half_of_the_numbers_begins_a_bag():
    kept = registry({"a": 1.0, "b": 2.0})
    assert not kept.scan({"a": 1.0, "b": 0.0, "c": 3.0})[1]
    assert not kept.scan({"a": 1.0, "c": "word"})[1]
    kinds, bag = kept.scan({"a": 1.0, "c": 3.0, "d": "word"})
    assert (kinds, bag) == ({"d": "category"}, True)
    kept.begin_bag({"a": 1.0, "c": 3.0})
    assert list(kept.columns) == ["a"]
    declared = registry({"a": 1.0, "b": 2.0}, number=["b", "c"])
    assert not declared.scan({"a": 1.0, "c": 3.0})[1]
    declared.begin_bag({})
    assert list(declared.columns) == ["b"]


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("x", ["NA", "1", "2"], "number"),
        ("x", ["NA", "?", "1", "2"], "number"),
        ("x", ["no", "no", "1", "2"], "category"),
        ("x", ["NA", "?", "NA"], "category"),
        ("user_id", ["NA", "1", "2"], "category"),
        ("x", ["x", "2024-01-01", "2024-01-02"], "time"),
        ("x", ["some words here", "and others there"], "text"),
        ("x", [None], "category"),
    ],
)
def test_categories_are_guessed_again_by_most_of_their_values(name, values, kind):
    column = registry({name: "NA"}).columns[name]
    for value in values:
        column.learn(value, LIMITS.values)
    assert second_guess(column) == kind


def test_new_columns_and_copies_know_what_is_shown():
    kept = registry({"a": 1.0})
    assert kept.shown == b""
    copy = kept.copy()
    copy.add({"at": "time", "b": "number"})
    assert (len(copy.shown), copy.shown[0]) == (6, 0)  # b, at the end, is shown
    assert any(copy.shown)
    assert kept.shown == b""
    kept.adopt(copy)
    assert kept.shown == copy.shown
