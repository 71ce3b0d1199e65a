"""The options of `mixable stream`, and what it shows in a terminal."""

import contextlib
import io
import os
import pty
import subprocess
import sys
import time

import pytest
from command_line import MIXABLE
from rich.console import Console
from stream_command import piped, run, small

from mixable.cli.stream import _line, live, summary
from mixable.events.files import Options
from mixable.events.lines import Stops
from mixable.events.model import EventModel
from mixable.events.stream import Stream


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "z"), "no column 'z' (it has a, b, y)"),
        ((), "--target COLUMN is needed"),
        (("--target", "y", "--id", "n"), "no column 'n'"),
        (("--target", "y", "--out", "missing/out.csv"), "No such file"),
        (("--target", "y", "--classes", "up"), "--classes must be two or more"),
        (("--target", "y", "--classes", "up,,down"), "different names"),
        (("--target", "y", "--forecaster", "ons", "--drift", "0.1"), "--forecaster ons"),
        (("--target", "y", "--lam", "-1"), "lam"),
        (("--target", "y", "nowhere.csv"), "nowhere.csv: No such file"),
        (("--target", "y", "/"), "/: Is a directory"),
    ],
)
def test_mistakes_are_one_line_with_exit_code_2(tmp_path, arguments, message):
    (tmp_path / "in.csv").write_text("".join(small(3)))
    source = {} if arguments[-1:] in (("nowhere.csv",), ("/",)) else {"source": "in.csv"}
    done = run(tmp_path, *arguments, **source, status=2)
    assert message in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == ["in.csv"]


def test_in_a_terminal_there_is_a_live_line_and_elsewhere_only_the_summary(tmp_path):
    master, slave = pty.openpty()
    words = [
        MIXABLE,
        "stream",
        "--model",
        tmp_path / "model",
        "--target",
        "y",
        "--out",
        tmp_path / "out.csv",
    ]
    header, *lines = small(60)
    shown = b""
    with piped(
        words, stdout=None, stderr=slave, env={**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    ) as process:
        os.close(slave)
        process.stdin.write(header.encode())
        for line in lines:
            process.stdin.write(line.encode())
            time.sleep(0.01)
        process.stdin.close()
        with contextlib.suppress(OSError):  # which is how Linux says that the other side is closed
            while piece := os.read(master, 4096):
                shown += piece
        assert process.wait() == 0
    os.close(master)
    text = shown.decode()
    assert "/s, log loss" in text
    assert "calibration error" in text
    assert "\x1b[" in text
    assert "60 events: 60 predicted, 0 rejected, 60 learned; log loss" in text
    quiet = run(tmp_path, "--target", "y", data="".join(small(60)).encode(), model="quiet")
    assert quiet.stderr.decode().startswith("mixable: 60 events: 60 predicted")
    assert b"\x1b" not in quiet.stderr


def test_streaming_does_not_import_river_or_scikit_learn():
    code = (
        "import sys, mixable.events.stream; "
        "print([name for name in ('river', 'sklearn', 'typer', 'rich') if name in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        == "[]\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "in.csv"), "IN and --out are the same file"),
        (("--rejects", "in.csv"), "IN and --rejects are the same file"),
        (("--metrics", "link"), "IN and --metrics are the same file"),
        (("--out", "model"), "--model and --out are the same file"),
        (("--out", "x", "--rejects", "x"), "--out and --rejects are the same file"),
        (("--id", "y"), "--target and --id are both 'y'"),
        (("--features", "a,y"), "'y' is the target"),
    ],
)
def test_options_that_cannot_be_meant(tmp_path, arguments, message):
    (tmp_path / "in.csv").write_text("".join(small(5)))
    (tmp_path / "link").symlink_to(tmp_path / "in.csv")
    arguments = [
        tmp_path / name if name in ("in.csv", "link", "model", "x") else name for name in arguments
    ]
    refused = run(tmp_path, "--target", "y", *arguments, source="in.csv", status=2)
    assert message in refused.stderr.decode()
    assert (tmp_path / "in.csv").read_text() == "".join(small(5))


def test_a_live_line_and_a_summary_tell_what_became_of_the_events(tmp_path):
    (tmp_path / "in.csv").write_text("a,y\n1,up\n2,down\n1\n")
    options = Options(
        model=tmp_path / "model", target="y", source=tmp_path / "in.csv", out=tmp_path / "out.csv"
    )
    model = EventModel(classes=("up", "down"))
    stream = Stream(options, model, lambda text: None)
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=200)
    with Stops() as stops, live(console, stream) as tick:
        stream.run(stops, tick)
    stream.close()
    assert "3 events" in shown.getvalue()
    assert _line({**stream.figures(), "log_loss": None}).endswith("1 rejected")
    text = summary(stream)
    assert text.startswith("3 events: 2 predicted, 1 rejected (the first at line 4: 1 fields")
    assert "log loss" in text
