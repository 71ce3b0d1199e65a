"""Calls everything with good and bad arguments, and searches for what breaks: a command, of
which `.ci/run` runs some cases.

    python tests/fuzz_api.py --cases 500 --seed 0 [--kind GAF] [--first 0]

A case makes a forecaster or an estimator, often with parameters that nobody would choose, and calls
its verbs a few times: with rows of the wrong length, type or size, with NaN, objects that pretend
to be arrays or numbers, labels that are none, huge and zero weights, from inside another call, from
two threads. Each call must give finite numbers, probabilities positive, or be refused by a
ValueError, a TypeError or a MemoryError with a message (RuntimeError for two calls at once). A
refused call must leave the forecasts as they were.

A case is a function of the kind, the seed and its number; see fuzz_loop.py. There are many, so a
case must be cheap: each forecast is compared with the one before and the one after it, and slow
models are small.
"""

from __future__ import annotations

import copy
import sys
import threading
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz_arguments import (
    BY_ROW,
    KINDS,
    MAKERS,
    SLOW,
    Pretends,
    Rng,
    good_row,
    good_rows,
    outcome,
    pick,
    row,
    weight,
)
from fuzz_loop import FoundError, main

import mixable as mx


class Subject:
    """A model and how it is called: one forecast, one example, several examples, growth."""

    def __init__(self, model: Any, d: int, K: int) -> None:
        self.model, self.d = model, d
        self.K = getattr(model, "n_classes", None) or getattr(
            getattr(model, "loss", None), "n_classes", None
        )
        self.dictionaries, self.estimator = (
            hasattr(model, "learn_one"),
            hasattr(model, "partial_fit"),
        )
        if self.dictionaries or self.estimator:
            self.K = (
                K
                if hasattr(model, "predict_proba_one") or hasattr(model, "predict_proba")
                else None
            )
        self.sparse = isinstance(model, mx.SparseGAF)
        self.scores = isinstance(model, mx.metrics.Scores)
        self.slow = isinstance(model, SLOW)
        self.most_rows = 10 if isinstance(model, BY_ROW) else 30
        if self.slow:
            self.most_rows = 4
        self.probe, self.forecast = np.zeros(0), None

    @property
    def width(self) -> int:
        if self.dictionaries or self.estimator or self.scores or self.sparse:
            return self.d
        return int(getattr(self.model, "_row_length", self.model.n_features))

    @property
    def steps(self) -> int:
        """Examples learned; 0 where nobody counts."""
        learner = getattr(self.model, "learner_", None)
        return int(getattr(learner.forecaster if learner else self.model, "steps", 0))

    def predict(self, x: Any) -> Any:
        m = self.model
        if self.scores:
            return [m.log_loss, m.brier, m.accuracy, m.calibration_error] if m._weight > 0 else []
        if self.dictionaries:
            named = dict(enumerate(x)) if hasattr(x, "__iter__") else x
            out = m.predict_proba_one(named) if self.K else m.predict_one(named)
            return list(out.values()) if isinstance(out, dict) else out
        if self.estimator:
            if not hasattr(m, "learner_"):
                return []
            rows = [x] if np.ndim(x) == 1 else x
            return m.predict_proba(rows) if self.K else m.predict(rows)
        return m.predict(self.given(x))

    def look(self) -> Any:
        """The forecast for the probe."""
        return call(lambda: self.predict(self.probe), "predict", probabilities=self.probabilities)[
            1
        ]

    @property
    def probabilities(self) -> bool:
        return bool(self.K) and not self.scores

    def given(self, x: Any) -> Any:
        """A row as the model takes it."""
        return dict(enumerate(x)) if self.sparse and hasattr(x, "__iter__") else x

    def learn(self, x: Any, y: Any, w: Any) -> Any:
        m = self.model
        if self.scores:
            p = np.full(3, 1 / 3) if np.ndim(x) == 1 else x
            return m.update(p, y, w)
        if self.dictionaries:
            return m.learn_one(dict(enumerate(x)) if hasattr(x, "__iter__") else x, y, w)
        if self.estimator:
            return m.partial_fit([x] if np.ndim(x) == 1 else x, [y], sample_weight=[w])
        return m.learn(self.given(x), y, w)

    def run(self, X: Any, y: Any, w: Any) -> Any:
        m = self.model
        if self.estimator:
            return m.prequential(X, y, sample_weight=w)
        return m.run([self.given(x) for x in X] if self.sparse else X, y, w)

    def grow(self, rng: Rng) -> Any:
        m = self.model
        if rng.integers(2) and hasattr(m, "add_class"):
            m.add_class()
            self.K = getattr(m, "n_classes", self.K)
        elif hasattr(m, "add_features"):
            m.add_features(pick(rng, 1, 2, 0, -1, 2**40, "1"))
            self.d = self.width


PERMITTED = (ValueError, TypeError)


def call(
    what: Callable[[], Any],
    name: str | Callable[[], str],
    *,
    probabilities: bool,
    busy: bool = False,
) -> tuple[bool, Any]:
    """Whether a call was accepted, and what it gave; a FoundError if that is not finite, or it
    failed in a way that it must not.
    """
    try:
        with np.errstate(all="ignore"):
            out = what()
    except FoundError:
        raise
    except BaseException as error:
        unused = isinstance(error, AttributeError) and "no attribute 'run'" in str(error)
        if (
            isinstance(error, PERMITTED)
            or unused
            or (isinstance(error, MemoryError) and str(error))
        ):
            return False, None
        if busy and isinstance(error, RuntimeError):
            return False, None
        raise FoundError(f"{said(name)}: {type(error).__name__}: {error}") from error
    if isinstance(out, (float, list, np.ndarray)) and np.size(out):
        numbers = np.asarray(out, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise FoundError(f"{said(name)} gave {numbers.ravel()[:8]}")
        if probabilities and not (
            (numbers >= 0).all() and (abs(numbers.sum(axis=-1) - 1) <= 1e-5).all()
        ):
            raise FoundError(f"{said(name)} gave {numbers.ravel()[:8]}: not probabilities")
    return True, out


def said(name: str | Callable[[], str]) -> str:
    return name if isinstance(name, str) else name()


def try_case(kind: str, seed: int, case: int) -> bool:
    """Whether at least one call of a case was accepted; a FoundError if something is wrong."""
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode()), case])
    slow = kind in {each.__name__ for each in SLOW}
    d, K = int(rng.integers(1, 3 if slow else 4)), int(rng.integers(2, 4 if slow else 5))
    sizes = [
        pick(rng, 0, -1, 1.5, "2", None, 2**62, 10**30) if rng.random() < 0.03 else size
        for size in (d, K)
    ]
    made, model = call(lambda: MAKERS[kind](rng, *sizes), "making one", probabilities=False)
    if not made or sizes != [d, K]:
        return False
    subject, accepted = Subject(model, d, K), False
    for _ in range(pick(rng, 1, 2, 3, 4) if slow else pick(rng, 2, 3, 3, 4, 5, 10)):
        accepted |= one_call(subject, rng)
    if rng.random() < 0.2:
        copied, twin = call(lambda: copy.deepcopy(model), "copy", probabilities=False)
        if not copied:
            raise FoundError("a model cannot be copied")
        other = Subject(twin, subject.d, subject.K or 0)
        other.probe = subject.probe
        must_be(subject.forecast, other.look(), "a copy has another forecast:")
    return accepted


def must_be(before: Any, after: Any, what: str) -> None:
    if not np.array_equal(np.asarray(before, dtype=object), np.asarray(after, dtype=object)):
        raise FoundError(f"{what} {before!r:.80}, then {after!r:.80}")


def one_call(subject: Subject, rng: Rng) -> bool:
    """One call of a verb; whether it was accepted."""
    probabilities, steps = subject.probabilities, subject.steps
    if len(subject.probe) != subject.width:
        subject.probe = good_row(rng, subject.width)
        subject.forecast = subject.look()
    probe = subject.probe

    def inside() -> None:  # a call from within a call: refused, or answered
        how = rng.integers(4)
        if how == 0:
            raise ValueError("an argument that fails")
        if how == 1:
            call(
                lambda: subject.predict(probe),
                "predict from within",
                probabilities=probabilities,
                busy=True,
            )

    verb = rng.integers(20)
    if verb < 5:
        x = row(rng, subject.width, inside)
        accepted, _ = call(
            lambda: subject.predict(x), "predict", probabilities=probabilities, busy=True
        )
        changes = False
    elif verb < 13 or subject.dictionaries or subject.scores:
        x, y, w = (
            row(rng, subject.width, inside),
            outcome(rng, subject.K, inside),
            weight(rng, inside),
        )
        accepted, _ = call(
            lambda: subject.learn(x, y, w),
            lambda: f"learn({x!r:.60}, {y!r:.30}, {w!r:.20})",
            probabilities=False,
            busy=True,
        )
        changes = accepted
    elif verb < 17:
        n = int(rng.integers(1, subject.most_rows))
        X = good_rows(rng, n, subject.width)
        y = rng.integers(subject.K, size=n) if subject.K else rng.normal(size=n)
        w = None
        spoilt = rng.integers(8)
        if spoilt == 0:
            X = pick(
                rng,
                X[:, :-1],
                X[:0],
                X.astype("O"),
                X[::-1],
                X.astype("f4"),
                Pretends(X, inside),
                X * pick(rng, 1e30, 1e160, 1e300),
                None,
            )
        elif spoilt == 1:
            y = pick(
                rng,
                y[:-1],
                y * 1.5,
                y.astype("O"),
                -1 - y,
                y[None],
                None,
                y.astype("U8"),
                Pretends(y, inside),
                y * 10**6,
            )
        elif spoilt == 2:
            w = pick(
                rng,
                np.zeros(n),
                np.full(n, 1e-8),
                np.full(n, -1.0),
                np.full(n, 1e300),
                np.ones(n + 1),
                [None] * n,
                np.arange(n),
            )
        accepted, _ = call(
            lambda: subject.run(X, y, w),
            "run",
            probabilities=probabilities and not subject.estimator,
            busy=True,
        )
        # what is beyond double precision stops between two rows
        changes = accepted or subject.steps != steps
    elif verb < 19:
        accepted, _ = call(lambda: subject.grow(rng), "grow", probabilities=False)
        changes = accepted
    else:
        accepted = together(subject, rng)
        changes = True
    changes = changes or isinstance(
        subject.model, (mx.Mixture, mx.Pool)
    )  # it says that experts may have learned what another refused
    if not changes and len(probe) == subject.width:
        must_be(subject.forecast, subject.look(), "a call that was refused changed the forecast:")
    else:
        subject.probe = good_row(rng, subject.width)
        subject.forecast = subject.look()
    return accepted


def together(subject: Subject, rng: Rng) -> bool:
    """Predict and learn from two threads at once: each answers or refuses. The core lets another
    thread in only where it has a table to go through.
    """
    compiled = hasattr(subject.model, "_core")  # the others do not promise anything
    X = good_rows(rng, 30 if compiled else 2 - subject.slow, subject.width)
    y = rng.integers(subject.K, size=len(X)) if subject.K else np.full(len(X), 0.5)
    found: list[BaseException] = []

    def each(*jobs: Callable[[], Any]) -> None:
        try:
            for job in jobs:
                call(job, "a call from a thread", probabilities=False, busy=True)
        except BaseException as error:
            found.append(error)

    def learn() -> None:
        for x, truth in zip(X[:2], y, strict=False):
            subject.learn(x, truth, 1.0)

    rows = [subject.given(x) for x in X] if subject.sparse else X
    reads, writes = [lambda: subject.predict(X[0])], [learn]
    if compiled:
        reads += 3 * [lambda: subject.model.predict(rows)]
        writes += 3 * [lambda: subject.run(X, y, None)]
    threads = [threading.Thread(target=each, args=jobs) for jobs in (reads, writes)]
    sys.setswitchinterval(1e-6)  # or else the first has ended before the second begins
    for thread in threads:
        thread.start()
        if not compiled:
            thread.join()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(5e-3)
    if found:
        raise found[0]
    return True


if __name__ == "__main__":
    main(try_case, KINDS)
