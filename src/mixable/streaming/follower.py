"""Events through the model: predict, score, learn, remember what waits for its label."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from mixable._types import Array
from mixable.records.cells import is_missing
from mixable.records.grid import Grid
from mixable.streaming.events import Batch
from mixable.streaming.model import Kept, StreamModel, as_text
from mixable.streaming.options import Options

MOST_CLASSES, LONGEST_LABEL = 100, 1000  # that are added unasked

Refused = tuple[int, str]  # row of a batch, reason


class Follower:
    """Runs a model over batches of events.

    `answer` gets a batch, a row of it, and the forecasts from there on.
    """

    def __init__(
        self, model: StreamModel, answer: Callable[[Batch, int, Array], None], options: Options
    ) -> None:
        self._model, self._answer = model, answer
        self._learns, self._strict = options.learns, options.strict
        # How many events may wait for their label; None if events have no identifiers.
        self._remember = options.remember if options.identifier else None

    def follow(self, batch: Batch, rows: int) -> tuple[int, list[Refused]]:
        """Run the first rows of a batch; return how many were done, and which were refused."""
        refused: list[Refused] = []
        is_bare = self._bare(batch)
        at = 0
        while at < rows:
            codes = self._codes(batch, at, rows, is_bare)
            if codes:
                done, reason = self._plain(batch, at, codes)
            else:
                is_late = self._is_late(batch, at, is_bare)
                reason = (self._late_label if is_late else self._new_label)(batch, at)
                done = 1 if reason is None else 0
            at += done
            if reason is not None:
                refused.append((at, reason))
                if self._strict:
                    return at, refused
                at += 1
        return at, refused

    def _bare(self, batch: Batch) -> list[bool]:
        """Whether each row has an identifier, a label and no values: a late label or an event."""
        if self._remember is None:
            return [False] * len(batch.labels)
        if isinstance(batch.X, Grid):
            is_empty = batch.X.empty
        elif isinstance(batch.X, list):
            is_empty = [all(map(is_missing, record.values())) for record in batch.X]
        else:
            is_empty = np.all(np.isnan(batch.X), axis=1).tolist()
        rows = zip(is_empty, batch.labels, batch.ids, strict=True)
        return [empty and label is not None and key is not None for empty, label, key in rows]

    def _is_late(
        self, batch: Batch, row: int, is_bare: list[bool], also: Container[str] = ()
    ) -> bool:
        """Whether a row is a label that comes after its event.

        It has no values, and either no fields for them, or the identifier of an event that waits
        or is among `also`.
        """
        if not is_bare[row]:
            return False
        key = as_text(batch.ids[row])
        return batch.fieldless[row] or key in self._model.waiting or key in also

    def _codes(self, batch: Batch, begin: int, end: int, is_bare: list[bool]) -> list[int]:
        """Codes of labels, -1 for none, up to the first row that is new or may be late."""
        known = {None: -1, **self._model.learner.codes}
        if self._remember is None:
            labels = itertools.takewhile(known.__contains__, batch.labels[begin:end])
            return [known[label] for label in labels]
        codes: list[int] = []
        begin_to_wait: set[str] = set()
        for row in range(begin, end):
            label = batch.labels[row]
            if label not in known or self._is_late(batch, row, is_bare, begin_to_wait):
                break
            codes.append(known[label])
            if label is None and batch.ids[row] is not None:
                begin_to_wait.add(as_text(batch.ids[row]))
        return codes

    def _plain(self, batch: Batch, at: int, codes: list[int]) -> tuple[int, str | None]:
        """Rows whose labels are known or missing; how many were done, and why not all."""
        model = self._model
        y = np.array(codes, dtype=np.int_)
        known = y if self._learns else np.full(len(y), -1)
        P, done, reason = model.learner.follow(batch.X[at : at + len(y)], known)
        self._predicted(batch, at, P)
        labelled = np.flatnonzero(y[:done] >= 0)
        if len(labelled):
            model.scores.update_many(P[labelled], y[labelled])
            if self._learns:
                model.counts["learned"] += len(labelled)
        return done, reason

    def _await(self, key: str, event: tuple[Kept, Array] | None) -> None:
        """Remember an event until its label comes; forget one of its name, and the oldest."""
        waiting, counts = self._model.waiting, self._model.counts
        if waiting.pop(key, None) is not None:
            counts["forgotten"] += 1
        if event is not None:
            waiting[key] = event
        while self._remember is not None and len(waiting) > self._remember:
            waiting.popitem(last=False)
            counts["forgotten"] += 1

    def _predicted(self, batch: Batch, at: int, P: Array) -> None:
        self._answer(batch, at, P)
        self._model.counts["predicted"] += len(P)
        if self._remember is None:
            return
        for row, p in enumerate(P, start=at):
            if (key := batch.ids[row]) is not None:
                waits = batch.labels[row] is None
                kept = (self._model.keep(batch.X[row]), p.copy()) if waits else None
                self._await(as_text(key), kept)

    def _new_label(self, batch: Batch, at: int) -> str | None:
        """An event whose label has not been met before; why it is refused, if it is."""
        model, label = self._model, batch.labels[at]
        if reason := self._why_not_a_class(label):
            return reason
        X, known = batch.X[at : at + 1], len(model.learner.labels)
        P, done, reason = model.learner.follow(X, np.array([-1]))
        if done:
            if reason := self._add_label(label):
                return reason
            self._predicted(batch, at, P)
            model.scores.update(P[0], known)  # a label that the forecaster did not know
            self._learn(X, label)
        return reason

    def _late_label(self, batch: Batch, at: int) -> str | None:
        """A label that comes after its event; why it is refused, if it is."""
        model, label, key = self._model, batch.labels[at], as_text(batch.ids[at])
        if key not in model.waiting:
            return f"a label for {key!r:.80}, which is not remembered"
        if label not in model.learner.codes and (
            reason := self._why_not_a_class(label) or self._add_label(label)
        ):
            return reason
        row, p = model.waiting.pop(key)
        model.scores.update(p, model.learner.codes.get(label, len(p)))
        model.counts["late"] += 1
        self._learn(model.recall(row), label)
        return None

    def _why_not_a_class(self, label: str | None) -> str | None:
        if self._model.classes is not None:
            return f"no class is called {label!r:.80}"
        if not self._learns:
            return None
        if len(str(label)) > LONGEST_LABEL:
            return f"a new label of {len(str(label)):,} characters"
        if len(self._model.learner.labels) >= MOST_CLASSES:
            which = f"{label!r} would be class number {MOST_CLASSES + 1}"
            return f"{which}; name the classes with --classes if there are so many"
        return None

    def _add_label(self, label: str | None) -> str | None:
        """Add a class, if there is to be learning; return why there is no room, if so."""
        if self._learns:
            try:
                self._model.learner.add_label(label)
            except MemoryError as error:
                return str(error) or "no memory for another class"
        return None

    def _learn(self, X: Any, label: str | None) -> None:
        """Learn one row that has been answered, and count it if double precision allows it."""
        if self._learns:
            _, done, _ = self._model.learner.follow(X, np.array([self._model.learner.codes[label]]))
            self._model.counts["learned"] += done
