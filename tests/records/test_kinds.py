"""What a column is, by its first values."""

import datetime as dt

import pytest

from mixable.records import kinds


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("x", [None, "", float("nan"), object()], None),
        ("x", [None, {"a": 1}, 2.5], "number"),
        ("x", [True, False], "category"),
        ("x", [["a"], []], "tags"),
        ("x", [dt.date(2024, 1, 1)], "time"),
        ("x", ["01234", "04567"], "category"),
        ("x", ["0.5", "0"], "number"),
        ("x", [7, 8.0, "9"], "number"),
        ("user_id", [7, 8.0, "9"], "category"),
        ("user_id", [7, 8.5], "number"),
        ("x", ["1", "a"], "number"),  # the first of two that are as frequent
        ("x", ["a", "1"], "category"),
        ("x", ["x" * 101], "text"),
        ("x", ["x" * 100], "category"),
        ("x", ["9" * 101], "text"),
        ("x", ["red shoes for men"] * 3, "category"),
    ],
)
def test_kinds_by_values(name, cells, kind):
    assert kinds.guess(name, cells) == kind


def test_no_more_than_a_sample_is_read():
    read = []
    cells = (read.append(i) or "word" for i in range(1000))
    assert kinds.guess("x", cells) == "category"
    assert len(read) == kinds.SAMPLE
    late = [None] * 1000 + [1.0]
    assert kinds.guess("x", late) == "number"


def test_few_values_must_be_longer_to_be_sentences():
    pairs = [f"two{i} words" for i in range(10)]
    assert kinds.looks_like_text(pairs, [1] * 10)
    assert not kinds.looks_like_text(pairs[:9], [1] * 9)
    assert kinds.looks_like_text([f"{pair} more" for pair in pairs[:9]], [1] * 9)
    assert not kinds.looks_like_text(pairs, [2] * 10)  # each comes again
    assert not kinds.looks_like_text([f"one{i}" for i in range(10)], [1] * 10)


def test_names_of_identifiers():
    good = ["id", "Id", "user_id", "user-id", "user id", "userId", "a.id", "A_ID"]
    assert all(map(kinds.is_identifier, good))
    assert not any(map(kinds.is_identifier, ["paid", "idle", "valid", "", 1, ("id",), None]))
