"""Forges saved models and searches for one that gets through: a command, of which `.ci/run`
runs some cases.

    python tests/fuzz_files.py --cases 500 --seed 0 [--kind GAF] [--first 0]

A case changes a few things in the description or the arrays of a saved model, gives the file a
checksum that fits (one case of ten; the others begin where the checksum was found to fit), and
loads it. It may be refused, by a ValueError (as DamagedFileError is), a
TypeError or a MemoryError that says what was too large. Or else it must work: predict, learn, run,
grow, be saved and loaded again, each step a refusal of this kind or finite numbers, probabilities
positive. What must not happen is NaN, another error, a crash, many seconds, or more than a
gigabyte.

A case is a function of the kind of model, the seed and its number, which are printed if something
was found; then the exit code is 1.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import fuzz_sparse
import numpy as np
from fuzz_arguments import SLOW
from fuzz_forging import forged, loaded
from fuzz_loop import BYTES, FoundError, main
from fuzz_models import KINDS

import mixable as mx
from mixable import persistence
from mixable.events.decisions import Decisions
from mixable.events.events import Event, RefusedError


def refused(error: BaseException) -> bool:
    """Whether an error is one that a user may see."""
    if isinstance(error, MemoryError):
        return bool(str(error))
    return isinstance(error, (ValueError, TypeError, RefusedError))


def attempt(what: Callable[[], Any], name: str) -> Any:
    """What a call returns, its numbers checked; None if it was refused."""
    try:
        out = what()
    except FoundError:
        raise
    except BaseException as error:
        if refused(error):
            return None
        raise FoundError(f"{name}: {type(error).__name__}: {error}") from error
    values = list(out.values()) if isinstance(out, dict) else out
    if isinstance(values, (float, np.ndarray, list, tuple)) and len(np.atleast_1d(values)):
        numbers = np.asarray(values, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise FoundError(f"{name} gave {numbers.ravel()[:8]}")
        if "proba" in name and not (
            np.all(numbers >= 0) and np.allclose(numbers.sum(axis=-1), 1.0, atol=1e-6)
        ):
            raise FoundError(f"{name} gave {numbers.ravel()[:8]}, which are not probabilities")
    return out


def use(model: Any, *, briefly: bool = False) -> None:
    """Predict, learn, run and grow; or, briefly, predict and learn."""
    if isinstance(model, mx.metrics.Scores):
        attempt(lambda: model.update([0.5, 0.5], 0), "update")
        if model.n:
            attempt(
                lambda: [model.log_loss, model.brier, model.accuracy, model.calibration_error],
                "scores",
            )
        attempt(lambda: len(model.reliability()), "reliability")
    elif isinstance(model, mx.bandits.Agent):
        use_agent(model)
    elif isinstance(model, Decisions):
        use_decisions(model)
    elif isinstance(model, mx.metrics.NumberScores):
        attempt(lambda: model.update(0.5, 1.0, 0.0, (0.0, 1.0)), "update")
        attempt(lambda: [model.rmse, model.mae, model.crps, model.coverage], "scores")
    elif hasattr(model, "learn_one"):
        use_dictionaries(model, briefly=briefly)
    elif hasattr(model, "partial_fit"):
        use_estimator(model, briefly=briefly)
    elif isinstance(model, mx.SparseGAF):
        fuzz_sparse.use(model, attempt)
    elif isinstance(model, mx.records.Encoder):
        record = {"price": 1.5, "at": "2024-05-06T07:08:09", "a new one": "two words"}
        for _ in range(3):
            attempt(lambda: model.commit(model.encode(record)), "encode")
        attempt(lambda: model.describe() and None, "describe")
    else:
        use_forecaster(model, briefly=briefly)


def use_agent(model: Any) -> None:
    actions, context = model.actions or ["a", "b"], {"one": 0.5, "two": -1.0, "who": "new"}
    attempt(lambda: model.expected(context, actions), "expected")
    attempt(lambda: model.propensities(context, actions), "propensities")
    for name in model.waiting[:3]:
        attempt(lambda name=name: model.learn(name, 1), "learn")
    for _ in range(3):
        attempt(lambda: model.learn(model.choose(context, actions).id, 0), "choose")
    attempt(lambda: model.expected(context, actions), "expected")


def use_decisions(model: Any) -> None:
    asked = {"context": {"one": 0.5, "who": "new"}, "actions": model.agent.actions or ["a", "b"]}
    events = [Event(id=name, features=None, label="1") for name in model.waiting[:3]]
    for step in range(3):
        events.append(Event(id=f"new-{step}", features=asked, label=None, number=step))
        events.append(Event(id=f"new-{step}", features=None, label="0"))
    for event in events:
        attempt(lambda event=event: model.one(event) and None, "a decision or reward")
    use_agent(model.agent)


def use_dictionaries(model: Any, *, briefly: bool) -> None:
    classes = hasattr(model, "predict_proba_one")
    x = {"one": 0.5, "two": -1.0}
    for step in range(3):
        attempt(
            lambda: (model.predict_proba_one if classes else model.predict_one)(x),
            "predict_proba_one" if classes else "predict_one",
        )
        y: Any = (True, False, "new")[step] if classes else 0.5
        features = {**x, "three": 2.0} if step == 2 else x
        attempt(lambda features=features, y=y: model.learn_one(features, y), "learn_one")
    for _ in range(0 if briefly else 20):
        attempt(lambda: model.learn_one(x, True if classes else 0.5), "learn_one")


def use_estimator(model: Any, *, briefly: bool) -> None:
    classes = hasattr(model, "predict_proba")
    d = int(getattr(model, "n_features_in_", 2))
    X = np.random.default_rng(0).normal(size=(20, d))
    kinds = model.classes_ if classes and hasattr(model, "learner_") else np.array([0, 1])
    y = kinds[np.arange(20) % len(kinds)] if classes else X[:, 0]
    for rows in (X[:1],) if briefly else (X[:1], X):
        attempt(
            lambda rows=rows: (model.predict_proba if classes else model.predict)(rows),
            "predict_proba" if classes else "predict",
        )
        attempt(lambda rows=rows: model.partial_fit(rows, y[: len(rows)]) and None, "partial_fit")
    if briefly:
        return
    attempt(lambda: model.predict(X) if not classes else model.predict_proba(X), "predict")
    for name in ("coef_", "intercept_", "coef_std_"):
        attempt(lambda name=name: getattr(model, name, None), name)
    attempt(lambda: model.report() and None, "report")


def use_forecaster(model: Any, *, briefly: bool) -> None:
    d = int(getattr(model, "_row_length", model.n_features))
    if d > 1000:  # honest sizes are small here; this one was confirmed by arrays of its own
        return
    loss = getattr(model, "loss", None)
    K = getattr(model, "n_classes", None) or getattr(loss, "n_classes", None)
    name = "predict_proba" if K else "predict"
    n = 2 if isinstance(model, SLOW) else 20
    X = np.random.default_rng(0).normal(size=(n, d))
    y = np.arange(n) % K if K else np.clip(X[:, 0], -1, 1)
    attempt(lambda: model.predict(X[0]), name)
    attempt(lambda: model.learn(X[0], y[0]), "learn")
    attempt(lambda: model.predict(X[1]), name)
    attempt(lambda: model.run(X, y), name + " by run")
    if briefly:
        return
    attempt(lambda: model.learn(1e3 * X[1], y[1], 1e3), "learn")
    attempt(lambda: model.predict(1e3 * X[1]), name)
    attempt(lambda: getattr(model, "coef", None), "coef")
    if hasattr(model, "std"):
        attempt(lambda: model.std(X[0]), "std")
    if hasattr(model, "interval"):  # which trees have not
        attempt(lambda: model.interval(X[0]), "interval")
    if hasattr(model, "add_features"):
        attempt(lambda: model.add_features(1), "add_features")
        attempt(
            lambda: model.predict(np.ones(int(getattr(model, "_row_length", model.n_features)))),
            name,
        )
    if hasattr(model, "add_class") and K and K < 20:
        attempt(model.add_class, "add_class")
        attempt(
            lambda: model.predict(np.ones(int(getattr(model, "_row_length", model.n_features)))),
            name,
        )


def try_case(kind: str, seed: int, case: int) -> bool:
    """Whether the file of a case was loaded; a FoundError if something is wrong."""
    contents = forged(kind, seed, case)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = attempt(lambda: loaded(*contents, whole=case % 10 == 0), "load")
    more = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if more > BYTES // 2:
        raise FoundError(f"loading took {more} bytes more than ever before")
    if model is None:
        return False
    use(model)
    again = attempt(lambda: persistence.to_bytes(model), "save")
    if again is not None:
        twin = None
        try:
            twin = persistence.from_bytes(again)
        except Exception as error:
            raise FoundError(f"what was saved does not load: {error}") from error
        use(twin, briefly=True)
    return True


if __name__ == "__main__":
    main(try_case, KINDS)
