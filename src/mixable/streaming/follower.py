"""Events through the model: predict, score, learn, remember what waits for its label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mixable.streaming.events import Batch
from mixable.streaming.model import StreamModel, as_text, padded

Array = NDArray[np.float64]
MOST_CLASSES, LONGEST_LABEL = 100, 1000  # that are taken in unasked

Refused = tuple[int, str]  # row of a batch, reason


class Follower:
    """Takes a model through batches of events.

    Parameters
    ----------
    model
        The model.
    answer
        Is given a batch, two rows of it, and the forecasts for those between.
    learns
        Whether to learn.
    remember
        How many events may wait for their label; None if events have no identifiers.
    strict
        Whether to stop at a bad event.
    """

    def __init__(
        self, model: StreamModel, answer: Callable[[Batch, int, int, Array], None], *, learns: bool, remember: int | None, strict: bool
    ) -> None:
        self._model, self._answer, self._learns, self._remember, self._strict = model, answer, learns, remember, strict

    def follow(self, batch: Batch, rows: int) -> tuple[int, list[Refused]]:
        """Go through the first rows of a batch; return how many were done, and which were refused."""
        refused: list[Refused] = []
        is_late = self._late(batch)
        at = 0
        while at < rows:
            codes = self._codes(batch, at, rows, is_late)
            if codes:
                done, reason = self._plain(batch, at, codes)
            else:
                done, reason = 1, self._late_label(batch, at) if is_late[at] else self._new_label(batch, at)
                done -= reason is not None
            at += done
            if reason is not None:
                refused.append((at, reason))
                if self._strict:
                    return at, refused
                at += 1
        return at, refused

    def _late(self, batch: Batch) -> list[bool]:
        """Whether each row is a label that comes after its event: an identifier, a label, and no features."""
        if self._remember is None:
            return [False] * len(batch.labels)
        rows = zip(np.isnan(batch.X), batch.labels, batch.ids, strict=True)
        return [label is not None and key is not None and bool(missing.all()) for missing, label, key in rows]

    def _codes(self, batch: Batch, begin: int, end: int, is_late: list[bool]) -> list[int]:
        """The labels' codes, -1 for none, of the rows up to the first with a label that is new or late."""
        known = {None: -1, **self._model.engine.codes}
        codes = []
        for label, late in zip(batch.labels[begin:end], is_late[begin:end], strict=True):
            if late or label not in known:
                break
            codes.append(known[label])
        return codes

    def _plain(self, batch: Batch, at: int, codes: list[int]) -> tuple[int, str | None]:
        """Rows whose labels are known or missing; how many were done, and why not all."""
        model = self._model
        y = np.array(codes, dtype=np.int_)
        P, done, reason = model.follow(batch.X[at : at + len(y)], y if self._learns else np.full(len(y), -1))
        self._predicted(batch, at, P)
        labelled = np.flatnonzero(y[:done] >= 0)
        if len(labelled):
            model.scores.update_many(P[labelled], y[labelled])
            model.counts["learned"] += len(labelled) * self._learns
        if self._remember is not None:
            for i in range(done):
                if (key := batch.ids[at + i]) is not None:
                    self._await(as_text(key), (batch.X[at + i].copy(), P[i].copy()) if y[i] < 0 else None)
        return done, reason

    def _await(self, key: str, event: tuple[Array, Array] | None) -> None:
        """Remember an event until its label comes, in place of an older one of the same name; forget the oldest if they are too many."""
        waiting, counts = self._model.waiting, self._model.counts
        counts["forgotten"] += waiting.pop(key, None) is not None
        if event is not None:
            waiting[key] = event
        while self._remember is not None and len(waiting) > self._remember:
            waiting.popitem(last=False)
            counts["forgotten"] += 1

    def _predicted(self, batch: Batch, at: int, P: Array) -> None:
        self._answer(batch, at, at + len(P), P)
        self._model.counts["predicted"] += len(P)

    def _new_label(self, batch: Batch, at: int) -> str | None:
        """An event whose label has not been met before; why it is refused, if it is."""
        model, label = self._model, batch.labels[at]
        if reason := self._why_not_a_class(label):
            return reason
        X, known = batch.X[at : at + 1], len(model.labels)
        P, done, reason = model.follow(X, np.array([-1]))
        if done:
            if reason := self._take_in(label):
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
        if label not in model.engine.codes and (reason := self._why_not_a_class(label) or self._take_in(label)):
            return reason
        row, p = model.waiting.pop(key)
        code = model.engine.codes.get(label, len(p))
        model.scores.update(p, code if code < len(p) else len(p))
        model.counts["late"] += 1
        self._learn(padded(row, len(model.columns))[None, :], label)
        return None

    def _why_not_a_class(self, label: str | None) -> str | None:
        if self._model.classes is not None:
            return f"no class is called {label!r:.80}"
        if not self._learns:
            return None
        if len(str(label)) > LONGEST_LABEL:
            return f"a new label of {len(str(label)):,} characters"
        if len(self._model.labels) >= MOST_CLASSES:
            return f"{label!r} would be class number {MOST_CLASSES + 1}; name the classes with --classes if there are so many"
        return None

    def _take_in(self, label: str | None) -> str | None:
        """Take in a new class, if there is to be learning and there is room; why not, if not."""
        if self._learns:
            try:
                self._model.engine.add_label(label)
            except MemoryError as error:
                return str(error) or "no memory for another class"
        return None

    def _learn(self, X: Array, label: str | None) -> None:
        """Learn one row that has been answered; one that double precision does not allow is left out of the count of those learned."""
        if self._learns:
            _, done, _ = self._model.follow(X, np.array([self._model.engine.codes[label]]))
            self._model.counts["learned"] += done
