"""What all engines share: the work of one partition, groups of models, and checkpoints by round."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mixable import _validate
from mixable._files import write_whole
from mixable.merging import freeze, merge, release, steps_of
from mixable.persistence import dumps, load, loads, save

GROUP = 8
"""Models that are merged at a time."""

WARMUP = 1024
"""Rows that one process learns before the first round of a model that knows nothing.

After so many records, kinds of columns that were guessed stay as they are.
"""


def need(module: str, extra: str, what: str) -> Any:
    """Import a module of an extra; if it is missing, say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        how = f'pip install "mixable[{extra}]"'
        raise ImportError(f"mixable.engines.{extra} needs {what}: {how}") from None


class PartitionError(ValueError):
    """The rows of a partition cannot be learned; the message names it."""


def learned(base: bytes, rows: Any, target: str, *, part: int, span: tuple[int, int, int]) -> bytes:
    """What the base becomes by learning its part of a partition's rows.

    `span` is (skip, round, rounds): without the first `skip` rows, the rows are dealt out to rounds
    evenly, one after the other. A pure function: a partition may be done again.
    """
    skip, number, rounds = span
    try:
        model = loads(base)
        n = max(len(rows) - skip, 0)
        first, last = (skip + n * each // rounds for each in (number, number + 1))
        if first < last:
            freeze(model)
            teach(model, rows[first:last], target)
            release(model)
        return dumps(model)
    except Exception as error:
        text = f"partition {part} cannot be learned (round {number + 1} of {rounds}): {error}"
        raise PartitionError(text) from error


def warmed_up(base: bytes, rows: Any, target: str, *, part: int, most: int) -> bytes:
    """What the base becomes by learning the first rows of a partition."""
    try:
        model = loads(base)
        if len(rows):
            teach(model, rows[:most], target)
        return dumps(model)
    except Exception as error:
        raise PartitionError(f"partition {part} cannot be learned: {error}") from error


def merged(models: list[bytes], base: bytes) -> bytes:
    """One model of several that all began as the base."""
    return dumps(merge([loads(each) for each in models], base=loads(base)))


def teach(model: Any, rows: Any, target: str) -> None:
    """Let a model learn rows: a frame of pandas, or a list of dictionaries."""
    if isinstance(rows, (list, tuple)):
        if not all(isinstance(row, dict) and target in row for row in rows):
            raise ValueError(f"rows must be dictionaries that have {target!r}")
        if hasattr(model, "learn_one"):
            for row in rows:
                model.learn_one({k: v for k, v in row.items() if k != target}, row[target])
            return
        import pandas as pd

        rows = pd.DataFrame(rows)
    if target not in rows.columns:
        raise ValueError(f"there is no column {target!r}: columns are {list(rows.columns)!r:.200}")
    X, y = rows.drop(columns=target), rows[target]
    if hasattr(model, "learn_many"):
        model.learn_many(X, y)
    elif hasattr(model, "partial_fit"):
        model.partial_fit(X, y.to_numpy())
    else:
        model.run(np.ascontiguousarray(X.to_numpy(dtype=np.float64)), y.to_numpy())


class Rounds:
    """The merged model after each round, in memory and, if wanted, in a folder."""

    def __init__(
        self,
        model: Any,
        *,
        rounds: int,
        partitions: int,
        target: str,
        checkpoint: str | os.PathLike[str] | None,
    ) -> None:
        self.rounds = _validate.count(rounds, "rounds")
        if not isinstance(target, str):
            raise TypeError(f"target must be the name of a column, got {target!r:.80}")
        if not partitions:
            raise ValueError("data has no partitions")
        merge([model])  # refuses what cannot be merged, before anything is learned
        self.began_with = steps_of(model)
        self.model, self.done, self.skip = dumps(model), 0, (0, 0)
        self.folder = None if checkpoint is None else Path(checkpoint)
        plan = {"rounds": self.rounds, "partitions": partitions, "target": target}
        self.plan = {**plan, "began_with": self.began_with}
        if self.folder is not None:
            self._resume(self.folder)

    @property
    def is_new(self) -> bool:
        """Whether nothing has been learned yet, here or before."""
        return self.done == 0 and self.skip[1] == 0 and self.began_with == 0

    def warm_up(self, tries: Iterable[tuple[int, Callable[[], bytes]]]) -> None:
        """Learn the first rows of the first partition that has some: (partition, how) each."""
        for part, learn in tries:
            warm = learn()
            rows = steps_of(loads(warm)) - self.began_with
            if rows:
                self.model, self.skip = warm, (part, rows)
                self._save()
                return

    def span(self, part: int) -> tuple[int, int, int]:
        """Which rows of a partition the next round learns."""
        return (self.skip[1] if part == self.skip[0] else 0), self.done, self.rounds

    def finish(self, model: bytes) -> None:
        """Take over the merged model of a round."""
        self.model, self.done = model, self.done + 1
        self._save()

    def _save(self) -> None:
        if self.folder is None:
            return
        save(loads(self.model), self.folder / f"round-{self.done:05}.safetensors")
        state = {**self.plan, "done": self.done, "skip": list(self.skip)}
        write_whole(self.folder / "rounds.json", json.dumps(state).encode())

    def _resume(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        note = folder / "rounds.json"
        if not note.exists():
            return
        state = json.loads(note.read_bytes())
        for name, value in self.plan.items():
            if state.get(name) != value:
                raise ValueError(
                    f"checkpoint {os.fspath(folder)!r} is of another fit: {name} was "
                    f"{state.get(name)!r:.80} and is {value!r:.80}"
                )
        self.done = _validate.count(state["done"], "done", least=0, most=self.rounds)
        part, rows = state["skip"]
        self.skip = _validate.count(part, "skip", least=0), _validate.count(rows, "skip", least=0)
        self.model = dumps(load(folder / f"round-{self.done:05}.safetensors"))
