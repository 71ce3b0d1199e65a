"""The files of a stream: the lock, a full disk, files that are not its own."""

import json
import os
import resource
import statistics
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import MIXABLE
from stream_command import counts, piped, run, small

import mixable as mx
from mixable.events.files import SHOWN, Options, Outputs, StreamError
from mixable.events.lines import Complaint


def test_two_processes_cannot_learn_into_one_model_and_a_dead_ones_lock_is_taken_over(tmp_path):
    with piped([MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y"]) as first:
        first.stdin.write("".join(small(3)).encode())
        first.stdout.readline()
        refused = run(tmp_path, "--target", "y", data=b"", status=2)
        assert f"in use by process {first.pid}".encode() in refused.stderr
        first.kill()
    taken = run(tmp_path, "--target", "y", data="".join(small(3)).encode())
    assert f"took over the lock of process {first.pid}".encode() in taken.stderr
    assert os.listdir(tmp_path) == ["model"]


def test_a_full_disk_is_reported_and_the_last_checkpoint_kept(tmp_path):
    header, *lines = small(60)
    (tmp_path / "in.csv").write_text("".join([header, *lines[:30]]))
    run(tmp_path, "--target", "y", source="in.csv")
    before = (tmp_path / "model").read_bytes()
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    full = run(tmp_path, "--target", "y", "--out", "/dev/full", source="in.csv", status=2)
    assert b"cannot write /dev/full: No space left on device" in full.stderr

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    large = run(tmp_path, "--target", "y", source="in.csv", status=2, preexec_fn=limit)
    assert b"cannot write" in large.stderr
    assert b"the last good checkpoint is kept" in large.stderr
    assert (tmp_path / "model").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "model"]
    run(tmp_path, "--target", "y", source="in.csv")
    assert counts(tmp_path)["events"] == 60


def test_metrics_are_added_at_each_checkpoint_and_survive_a_torn_line(tmp_path):
    header, *lines = small(50)
    (tmp_path / "in.csv").write_text("".join([header, *lines]))
    (tmp_path / "metrics").write_text('{"events": 0}\n{"torn')
    run(
        tmp_path, "--target", "y", "--metrics", tmp_path / "metrics", "--every", 20, source="in.csv"
    )
    entries = [json.loads(line) for line in (tmp_path / "metrics").read_text().splitlines()]
    assert [entry["events"] for entry in entries] == [0, 20, 40, 50]
    scores = mx.load(tmp_path / "model").scores
    assert entries[-1]["log_loss"] == scores.log_loss
    assert entries[-1]["calibration_error"] == scores.calibration_error
    assert entries[-1]["classwise_error"] == scores.classwise_error
    rates = [each["rate"] for each in entries[-1]["by_class"].values()]
    assert rates == [each.rate for each in scores.by_class()]


def test_files_that_are_not_its_own_are_added_to(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(20)))
    (tmp_path / "in2.csv").write_text("".join(small(30)))
    run(tmp_path, "--target", "y", "--rejects", tmp_path / "none", source="in.csv")
    (tmp_path / "precious").write_text("mine\n")
    run(
        tmp_path,
        "--target",
        "y",
        "--rejects",
        tmp_path / "precious",
        "--metrics",
        tmp_path / "precious too",
        source="in2.csv",
    )
    assert (tmp_path / "precious").read_text() == "mine\n"
    for _ in range(2):
        run(tmp_path, "--no-learn", "--out", tmp_path / "served.csv", source="in.csv")
    assert len((tmp_path / "served.csv").read_text().splitlines()) == 2 * len(
        small(20)
    )  # with a header each


def test_answers_come_at_once_in_a_slow_pipe(tmp_path):
    header, *lines = small(12)
    times = []
    with piped(
        [MIXABLE, "stream", "--model", tmp_path / "model", "--target", "y", "--classes", "up,down"]
    ) as process:
        process.stdin.write(header.encode())
        for number, line in enumerate(lines):
            time.sleep(0.1)
            begin = time.monotonic()
            process.stdin.write(line[:5].encode())
            process.stdin.write(line[5:].encode())
            if number == 0:
                assert process.stdout.readline() == b"line,up,down\n"
            answer = process.stdout.readline().decode().split(",")
            times.append(time.monotonic() - begin)
            assert int(answer[0]) == number + 2
            assert abs(float(answer[1]) + float(answer[2]) - 1) < 1e-12
        process.stdin.close()
        assert process.wait() == 0
    assert statistics.median(times[1:]) < 0.05  # the first waits for the start of Python


def test_answers_as_json_and_csv_with_identifiers_of_all_kinds(tmp_path):
    data = (
        '{"n": "a,\\"b\\"", "x": 1, "y": "ü"}\n{"n": 7, "x": 2, "y": true}\n'
        '{"x": 3.5}\n{"n": "", "x": 3.5}\n'
    ).encode()
    lines = [
        json.loads(line)
        for line in run(tmp_path, "--target", "y", "--id", "n", data=data).stdout.splitlines()
    ]
    assert [line["n"] for line in lines] == ['a,"b"', 7, None, None]
    assert list(lines[3]["p"]) == ["ü", "true"]
    run(
        tmp_path,
        "--target",
        "y",
        "--id",
        "n",
        "--out",
        tmp_path / "out.csv",
        data=data,
        model="other",
    )
    rows = (tmp_path / "out.csv").read_text().splitlines()
    assert rows[:5] == ["n", '"a,""b"""', "n,ü", "7,1", "n,ü,true"]
    assert [float(value) for value in rows[5].split(",")[1:]] == list(lines[2]["p"].values())
    assert rows[5].startswith('"",')


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


def outputs(folder, place=None, **more):
    names = {"out": folder / "out.csv", "rejects": folder / "bad", "metrics": folder / "log"}
    asked = Options(model=folder / "model", target="y", **{**names, **more})
    made = Outputs(asked, place or {})
    made.begin(reads_json=False)
    made.cut()
    return made


def answer(made, line):
    made.out.write(made.answers([line], np.array([[0.25, 0.75]]), ["a", "b"]))


def refusal(line):
    return Complaint(line=line, text=b"x" * 5000 + b"\xff\r\n", reason="too long", place={})


def test_what_was_written_after_a_checkpoint_is_cut_back(tmp_path):
    first = outputs(tmp_path)
    answer(first, 1)
    first.refuse(refusal(2))
    marks = first.marks()
    before = (tmp_path / "out.csv").read_bytes(), (tmp_path / "bad").read_bytes()
    assert before[0] == b"line,a,b\n1,0.25,0.75\n"
    answer(first, 3)
    first.refuse(refusal(4))
    first.close()
    again = outputs(tmp_path, marks)
    assert again.continue_all
    assert ((tmp_path / "out.csv").read_bytes(), (tmp_path / "bad").read_bytes()) == before
    answer(again, 3)  # the header is there already
    again.close()
    assert (tmp_path / "out.csv").read_bytes() == before[0] + b"3,0.25,0.75\n"


def test_another_file_is_not_that_of_the_checkpoint(tmp_path):
    first = outputs(tmp_path)
    answer(first, 1)
    marks = first.marks()
    first.close()
    (tmp_path / "out.csv").write_text("something else altogether\n")
    again = outputs(tmp_path, marks)
    assert not again.continue_all
    answer(again, 2)
    again.close()
    assert (tmp_path / "out.csv").read_text().endswith("altogether\nline,a,b\n2,0.25,0.75\n")


def test_a_rejected_line_is_noted_with_its_beginning_and_reason(tmp_path):
    made = outputs(tmp_path)
    made.refuse(refusal(7))
    made.note({"events": 3})
    made.close()
    assert json.loads((tmp_path / "bad").read_text()) == {
        "line": 7,
        "reason": "too long",
        "text": "x" * SHOWN,
    }
    noted = json.loads((tmp_path / "log").read_text())
    assert noted["events"] == 3
    assert noted["time"].endswith("Z")


def test_files_that_were_not_asked_for_are_not_written(tmp_path):
    made = outputs(tmp_path, rejects=None, metrics=None)
    made.refuse(refusal(1))
    made.note({"events": 1})
    assert made.marks()["rejects"] is None
    made.close()
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_an_identifier_called_p_cannot_be_echoed_in_json(tmp_path):
    with pytest.raises(StreamError, match="--id p cannot be echoed"):
        outputs(tmp_path, out=tmp_path / "out.jsonl", identifier="p")
