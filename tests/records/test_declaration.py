"""What the user says of the columns."""

import copy
import pickle

import pytest

from mixable.records.declaration import Columns, checked_name, name_text


def test_names_may_come_alone_twice_or_as_pairs_of_text():
    columns = Columns(category="user", text=["q", "q"], cross=["a*b", ("a", "b"), ["b", "a"]])
    assert columns.category == ("user",)
    assert columns.text == ("q",)
    assert columns.cross == (("a", "b"), ("b", "a"))
    assert [columns.kind(name) for name in ("user", "q", "a")] == ["category", "text", None]


def test_copies_are_equal_and_know_their_kinds():
    columns = Columns(time=("at", 1), cross=[("a", "b")])
    for other in (pickle.loads(pickle.dumps(columns)), copy.deepcopy(columns)):
        assert other == columns
        assert other.kind(1) == "time"
        assert hash(other) == hash(columns)
    assert columns != Columns(time=("at", "1"), cross=[("a", "b")])


@pytest.mark.parametrize(
    ("declared", "error", "why"),
    [
        ({"number": ["x"], "text": ["x"]}, ValueError, "'x' is both number and text"),
        ({"ignore": ["x"], "cross": [("x", "y")]}, ValueError, "both ignored and crossed"),
        ({"cross": [("x", "x")]}, ValueError, "two different columns"),
        ({"cross": ["a*b*c"]}, ValueError, "two different columns"),
        ({"cross": "a*b"}, TypeError, "cross must be a list"),
        ({"number": 3}, TypeError, "number must be a list"),
        ({"number": [b"x"]}, TypeError, "got bytes"),
        ({"number": [("x", object())]}, TypeError, "got object"),
    ],
)
def test_declarations_that_contradict_themselves_are_refused(declared, error, why):
    with pytest.raises(error, match=why.replace("*", r"\*")):
        Columns(**declared)


def test_names_are_told_apart_by_their_type():
    names = [1, "1", True, None, "None", ("a", ("b", 1.5)), 1.5]
    assert [checked_name(name) for name in names] == names
    assert len({name_text(name) for name in names}) == len(names)
    assert name_text("a") == "a"
