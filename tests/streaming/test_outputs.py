"""The files of a stream: answers, rejected lines and metrics, cut back to a checkpoint."""

import json

import numpy as np
import pytest

from mixable.streaming.errors import StreamError
from mixable.streaming.lines import Complaint
from mixable.streaming.options import Options
from mixable.streaming.outputs import SHOWN, Outputs


def outputs(folder, place=None, **more):
    names = {"out": folder / "out.csv", "rejects": folder / "bad", "metrics": folder / "log"}
    asked = Options(model=folder / "model", target="y", **{**names, **more})
    made = Outputs(asked, place or {})
    made.begin(reads_json=False)
    made.cut()
    return made


def answer(made, line):
    made.out.write(made.answers.lines([line], np.array([[0.25, 0.75]]), ["a", "b"]))


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
