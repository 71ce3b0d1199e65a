"""ARCHITECTURE.md is true: a traced event goes through the files that it names."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import mixable
from mixable import cli
from mixable.events import stream

PACKAGE = Path(mixable.__file__).parent
PAGE = (Path(__file__).parent.parent / "ARCHITECTURE.md").read_text()


def named(*titles):
    """The Python files that some sections name."""
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    chosen = [each for each in sections if each.split("\n")[0] in titles]
    assert len(chosen) == len(titles)
    return set(re.findall(r"`([\w/]+\.py)`", "".join(chosen)))


def write(path, n, *, with_words):
    rng = np.random.default_rng(0)
    lines = ["a,b,c,y" if with_words else "a,b,y"]
    for a, b in rng.normal(size=(n, 2)):
        word = f",{'red' if a > 0 else 'blue'}" if with_words else ""
        lines.append(f"{a:.4f},{b:.4f}{word},{'yes' if a + b > 0 else 'no'}")
    path.write_text("\n".join(lines) + "\n")


def traced(monkeypatch, folder, *, with_words):
    """The files whose functions are called for a batch of events, once the model knows them."""
    write(folder / "in.csv", 3000, with_words=with_words)
    seen, batches = set(), [0]

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            seen.add(path.relative_to(PACKAGE).as_posix())

    kind = next(each for each in vars(stream).values() if hasattr(each, "_batch"))
    batch = kind._batch

    def watched(self, *arguments):
        batches[0] += 1
        if batches[0] < 3:
            return batch(self, *arguments)
        sys.setprofile(note)
        try:
            return batch(self, *arguments)
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(kind, "_batch", watched)
    monkeypatch.chdir(folder)
    arguments = ["stream", "in.csv", "--target", "y", "--out", "out.csv", "--model", "model"]
    monkeypatch.setattr(sys, "argv", ["mixable", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert not end.value.code
    assert batches[0] >= 3
    return seen


def test_an_event_of_numbers_goes_through_the_files_of_the_page(monkeypatch, tmp_path):
    assert traced(monkeypatch, tmp_path, with_words=False) == named("In Python")


def test_a_record_goes_through_those_of_records_besides(monkeypatch, tmp_path):
    both = named("In Python", "Records")
    assert traced(monkeypatch, tmp_path, with_words=True) == both
