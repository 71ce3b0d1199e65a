"""Bad events: skipped with line number and reason, or the end of a strict stream.

A word is bad where the model takes numbers: here, because it has one GAF.
"""

import json

import pytest
from stream_command import GAF, balanced, counts, rejects, run, small

import mixable as mx
from mixable.events.events import loaded

BAD_LINES = [
    ("1,2", "2 fields, and the header has 3"),
    ("1,2,up,4", "4 fields, and the header has 3"),
    ("one,2,up", "column 'a' is not a number: 'one'"),
    ("1,0x10,up", "column 'b' is not a number: '0x10'"),
    ("1,1_000,up", "column 'b' is not a number: '1_000'"),
    ("1,inf,up", "column 'b' is infinite: 'inf'"),
    ("-1e999,2,up", "column 'a' is infinite: '-1e999'"),
    ("1,2,sideways", "no class is called 'sideways'"),
    ('1,"2,up', "a quote that is not closed on its line"),
    ('1,"2"x,up', "text after a closing quote"),
    ('1,2,u"p', "a quote inside a field that does not begin with one"),
    ("1,2\0,up", "a NUL byte"),
]
GOOD_LINES = ['"1"," 2 ","up"', "1e-999,+2,down", ",nan,up", "1,2,", " .5\t,-1E+3,up", "1,2,up\r"]


def test_bad_events_are_skipped_with_line_number_and_reason(tmp_path):
    lines = [
        line
        for pair in zip([bad for bad, _ in BAD_LINES], GOOD_LINES * 2, strict=True)
        for line in pair
    ]
    (tmp_path / "in").write_text("a,b,y\n" + "\n".join(lines), newline="")
    arguments = (
        "--target",
        "y",
        "--classes",
        "up,down",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
        *GAF,
    )
    run(tmp_path, *arguments, source="in")
    assert balanced(tmp_path, 24)["learned"] == 10
    assert [(entry["line"], entry["reason"]) for entry in rejects(tmp_path)] == [
        (2 + 2 * i, reason) for i, (_, reason) in enumerate(BAD_LINES)
    ]
    assert rejects(tmp_path)[0]["text"] == "1,2"


JSON_LINES = [
    ("not json", "not JSON: Expecting value at character 1"),
    ("[1, 2]", "not a JSON object"),
    ('{"a": "x", "y": "up"}', "feature 'a' must be a number"),
    ('{"a": Infinity, "y": "up"}', "feature 'a' is inf"),
    ('{"a": 1' + "0" * 400 + ', "y": "up"}', "int too large"),
    ('{"a": 1, "a": 2}', "a name stands twice"),
    ('{"a": 1, "y": ["up"]}', "the label must be text or a number"),
    ('{"a": 1, "y": NaN}', "the label is nan"),
    ('{"a": 1, "y": "\\ud800"}', "not UTF-8"),
    ("[" * 100_000, "nested too deeply"),
    ("{" + ",".join(f'"f{i}": 1' for i in range(3000)) + "}", "more than 2000 features"),
]


def test_bad_json_lines(tmp_path):
    good = '{"a": 1.5, "b": null, "y": "up"}'
    (tmp_path / "in").write_text(
        "\n".join([good, *(line for bad, _ in JSON_LINES for line in (bad, good))])
    )
    arguments = ("--target", "y", "--out", tmp_path / "out.csv", "--rejects", tmp_path / "rejects")
    run(tmp_path, *arguments, *GAF, source="in")
    balanced(tmp_path, 1 + 2 * len(JSON_LINES))
    assert list(mx.load(tmp_path / "model").columns) == ["a", "b"]
    for entry, (_, reason) in zip(rejects(tmp_path), JSON_LINES, strict=True):
        assert entry["reason"].startswith(reason)


def test_the_first_reason_stands_in_the_summary_and_nothing_but_bad_events_is_exit_code_1(tmp_path):
    arguments = ("--target", "y", "--classes", "up,down", "--id", "id", *GAF)

    def summary(*lines, status, more=()):
        (tmp_path / "in").write_text("".join(line + "\n" for line in ("id,a,y", *lines)))
        done = run(
            tmp_path,
            *arguments,
            "--from-start",
            "--out",
            tmp_path / "out.csv",
            *more,
            source="in",
            status=status,
        )
        return done.stderr.decode().splitlines()[-1]

    first = "(the first at line 3: column 'a' is not a number: 'x')"
    assert f"3 events: 1 predicted, 2 rejected {first}, 1 learned; " in summary(
        "1,1,up", "2,x,up", "3", status=0
    )
    # No message of ours may steer a terminal.
    first = "(the first at line 2: column 'a' is not a number: '\\x1b[31mred\\x07')"
    assert f"5 events: 1 predicted, 4 rejected {first}, 1 learned; " in summary(
        "1,\x1b[31mred\x07,up", "2,[/b],up", status=1
    )
    assert "4 rejected, 1 learned" in summary("", status=0)  # no events: none of them was rejected
    assert "4 rejected, 1 learned" in summary("7,1,", status=0)
    first = "(the first at line 2: no class is called 'left')"
    assert f"5 rejected {first}" in summary(
        "8,1,left", "7,,up", status=0
    )  # a late label was of use
    assert "1 rejected (the first" in summary("8,1,left", status=1, more=("--no-learn",))
    assert len(summary(f"8,{'x' * 79},up", "8,1,up", status=0)) < 500


def test_strict_stops_at_the_first_bad_event_and_goes_on_when_it_is_mended(tmp_path):
    header, *lines = small(30)
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    arguments = ("--target", "y", "--strict", "--out", tmp_path / "out.csv", *GAF)
    run(tmp_path, *arguments, source="in.csv", model="whole")
    whole = (tmp_path / "out.csv").read_bytes()
    for bad in ("1,2,up,4\n", "x,2,up\n"):
        (tmp_path / "in.csv").write_text("".join([header, *lines[:20], bad, *lines[21:]]))
        for _ in range(2):
            stopped = run(tmp_path, *arguments, source="in.csv", status=2)
            assert b"line 22: " in stopped.stderr
            assert counts(tmp_path)["events"] == 20
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    run(tmp_path, *arguments, source="in.csv")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "out.csv").read_bytes() == whole


def test_a_strict_stream_adds_nothing_after_the_bad_line(tmp_path):
    lines = ['{"a":1,"y":"up"}', '{"d":"x"}', '{"a":1,"c":2,"y":"down"}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    run(tmp_path, "--target", "y", "--strict", *GAF, source="in.jsonl", status=2)
    assert list(mx.load(tmp_path / "model").columns) == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "b": "x"}',
        '{"a":1,"b":":"}',
        '{"a": "\\":", "b": 2}',
        '{"a" : 1, "b": 2}',
        '{"a": {"b": 1}}',
        "[1]",
        '{"a": NaN}',
        "3",
    ],
)
def test_json_is_read_as_python_reads_it(text):
    assert repr(loaded(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a" :1,"a":2}', '{"a":{"b":1,"b":2}}'])
def test_a_name_that_stands_twice_is_refused(text):
    with pytest.raises(ValueError, match="twice"):
        loaded(text)


@pytest.mark.parametrize("text", ['{"a":1} x', "{", "", '{"a":}'])
def test_what_is_not_json_is_refused_with_its_place(text):
    with pytest.raises(json.JSONDecodeError):
        loaded(text)
