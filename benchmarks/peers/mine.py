"""mixable as a contestant, at its defaults: in tables, one by one, and as a command."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import mixable as mx
from benchmarks.peers import encoding
from benchmarks.peers.adaptors import dictionaries, play_river
from benchmarks.peers.contest import OURS, Contestant, Play, Setting
from benchmarks.peers.streams import Stream

TABLE, ONE_BY_ONE = "in tables", "one by one"


def _play_table(model: Any, X: Any, stream: Stream) -> Play:
    """`prequential` over the whole stream. It is not told the classes in advance."""

    def play(rows: range) -> Any:
        known = model.prequential(X, stream.y)
        p = np.zeros((stream.n, stream.K))
        p[:, model.classes_] = known
        return p

    return play


def tables(name: str, inputs: Any, **options: Any) -> Contestant:
    """`GAFClassifier(...).prequential`."""
    return Contestant(
        name=f"{name}, {TABLE}",
        kind=OURS,
        package="mixable",
        inputs=inputs,
        start=lambda X, stream, setting: _play_table(mx.GAFClassifier(**options), X, stream),
        whole=True,
    )


def singly(name: str, inputs: Any, **options: Any) -> Contestant:
    """`mixable.river.GAFClassifier(...)`."""
    return Contestant(
        name=f"{name}, {ONE_BY_ONE}",
        kind=OURS,
        package="mixable",
        inputs=inputs,
        start=lambda events, stream, setting: play_river(mx.river.GAFClassifier(**options), events),
    )


def _rows(stream: Stream) -> Any:
    return stream.rows


CURVED = [tables("mixable", _rows), singly("mixable", dictionaries)]
LINEAR = [
    tables("mixable linear", _rows, kernel=None),
    singly("mixable linear", dictionaries, kernel=None),
]


def _frame(stream: Stream) -> Any:
    import pandas as pd

    return pd.DataFrame(list(stream.records))


def record_dictionaries(stream: Stream) -> list[tuple[dict[str, Any], int]]:
    """Records as they are, with their labels."""
    return list(zip(stream.records, stream.y.tolist(), strict=True))


def _events(stream: Stream) -> list[str]:
    """JSON lines with the label's code under a name that no column has."""
    return [
        json.dumps({**record, "the label": str(label)}, default=str) + "\n"
        for record, label in zip(stream.records, stream.y.tolist(), strict=True)
    ]


def _stream_command(events: list[str], stream: Stream, setting: Setting) -> Play:
    """`mixable stream` within this process, so that the start of Python takes no part."""
    from mixable.cli.app import app

    def play(rows: range) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder, "in.jsonl"), Path(folder, "out.jsonl")
            source.write_text("".join(events), encoding="utf-8")
            options = ["--model", f"{folder}/model", "--target", "the label", "--out", str(out)]
            app(["stream", *options, str(source)], standalone_mode=False)
            with out.open(encoding="utf-8") as lines:
                answers = [json.loads(line)["p"] for line in lines]
        return [{int(code): p for code, p in answer.items()} for answer in answers]

    return play


RECORDS = [
    tables("mixable", _frame),
    singly("mixable", record_dictionaries),
    tables("mixable linear", _frame, kernel=None),
    replace(tables("mixable", encoding.sparse), name="mixable, same features"),
    Contestant(
        name="mixable stream",
        kind=OURS,
        package="mixable",
        inputs=_events,
        start=_stream_command,
        whole=True,
    ),
]
