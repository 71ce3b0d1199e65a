"""`mixable stream` in tests: run it, and read what it wrote."""

import contextlib
import csv
import json
import subprocess
import time
from typing import NamedTuple

import numpy as np
from command_line import MIXABLE
from typer.testing import CliRunner

import mixable as mx
from mixable.cli.app import app

GAF = ("--forecaster", "gaf", "--lam", "0.1", "--beta", "1")


class Done(NamedTuple):
    stdout: bytes
    stderr: bytes


def run(folder, *arguments, source=None, data=None, status=0, model="model", **options):
    """Run the command with a model in `folder`: on bytes from a pipe in a process of its own, on a
    file in this one, which is quicker.
    """
    paths = () if source is None else (folder / source,)
    words = [str(word) for word in ("stream", "--model", folder / model, *arguments, *paths)]
    if data is None and not options:
        result = CliRunner().invoke(app, words)
        got, done = result.exit_code, Done(b"", result.stderr.encode())
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            result.exception
        )
    else:
        process = subprocess.run([MIXABLE, *words], input=data, capture_output=True, **options)
        got, done = process.returncode, Done(process.stdout, process.stderr)
    assert got == status, done.stderr.decode()
    assert b"Traceback" not in done.stderr
    return done


@contextlib.contextmanager
def piped(words, **options):
    """The command in a pipe, to be written to bit by bit; what it says on standard error can be
    read.
    """
    options = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "bufsize": 0,
        **options,
    }
    with subprocess.Popen([str(word) for word in words], **options) as process:
        yield process


def appeared(path):
    """Wait until a file is there."""
    limit = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < limit
        time.sleep(0.02)


def counts(folder, model="model"):
    return mx.load(folder / model).counts


def rejects(folder):
    return [json.loads(line) for line in (folder / "rejects").read_text().splitlines()]


def balanced(folder, events):
    """Nothing is lost: all events were predicted or rejected, and each has its line in the answers
    or the rejects.
    """
    got = counts(folder)
    with open(folder / "out.csv", newline="") as file:
        answers = [row for row in csv.reader(file) if row[0].isdigit()]
    assert got["events"] == events == got["predicted"] + got["rejected"]
    assert got["predicted"] == len(answers)
    assert got["rejected"] == len(rejects(folder))
    return got


def small(n=60, seed=0):
    """Lines of a stream of two features and two classes, the header first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(3)
    return [
        "a,b,y\n",
        *(f"{x[0]},{x[1]},{'up' if x.sum() + rng.normal() > 0 else 'down'}\n" for x in X),
    ]
