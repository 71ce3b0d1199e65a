"""What the user of a stream asks for: which format, and what cannot be meant."""

from pathlib import Path

import pytest

from mixable.streaming.errors import StreamError
from mixable.streaming.options import Options


def options(**more):
    return Options(model=Path("model"), target="y", **more)


@pytest.mark.parametrize(
    ("asked", "first", "is_json"),
    [
        ({}, b"a,b,y", False),
        ({}, b'  {"a": 1}', True),
        ({"source": Path("in.jsonl.gz")}, b"a,b,y", True),
        ({"source": Path("in.csv")}, b'{"a": 1}', True),
        ({"source": Path("in.JSON"), "is_json": False}, b'{"a": 1}', False),
        ({"is_json": True}, b"a,b,y", True),
    ],
)
def test_the_format_of_events(asked, first, is_json):
    assert options(**asked).reads_json(first) is is_json


@pytest.mark.parametrize(
    ("out", "reads_json", "writes_json"),
    [
        (None, False, False),
        (None, True, True),
        ("out.csv", True, False),
        ("out.jsonl", False, True),
        ("out.NDJSON", False, True),
        ("out.txt", True, True),
    ],
)
def test_the_format_of_answers(out, reads_json, writes_json):
    asked = options(out=None if out is None else Path(out))
    assert asked.writes_json(reads_json) is writes_json


def test_what_cannot_be_meant_is_refused(tmp_path):
    with pytest.raises(StreamError, match="--target and --id are both 'y'"):
        options(identifier="y")
    with pytest.raises(StreamError, match="--out"):
        options(source=tmp_path / "a", out=tmp_path / "b" / ".." / "a")
    with pytest.raises(StreamError, match="--rejects"):
        options(rejects=Path("model"))
