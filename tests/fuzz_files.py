"""Forges saved models and searches for one that gets through: a command, of which `.ci/run`
runs some cases.

    python tests/fuzz_files.py --cases 500 --seed 0 [--kind GAF] [--first 0]

A case changes a few things in the description or the arrays of a saved model, gives the file a
checksum that fits, and loads it. It may be refused, by a ValueError (as DamagedFileError is), a
TypeError or a MemoryError that says what was too large. Or else it must work: predict, learn, run,
grow, be saved and loaded again, each step a refusal of this kind or finite numbers, probabilities
positive. What must not happen is NaN, another error, a crash, many seconds, or more than a
gigabyte.

A case is a function of the kind of model, the seed and its number, which are printed if something
was found; then the exit code is 1.
"""

from __future__ import annotations

import copy
import json
import math
import resource
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))

import fuzz_pools
import fuzz_sparse
from fuzz_loop import BYTES, FoundError, main
from make_fixtures import FOLDER, MODELS, classifier, learned
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

import mixable as mx
from mixable import persistence

# More states than the fixtures have: examples that are pending, sleepers, drift, every loss and
# integrator, nothing learned yet.
RNG = np.random.default_rng(1)
WIDE, LABELS = RNG.normal(size=(700, 3)), RNG.integers(0, 3, 700)
STRUCTURED = [(0.1, 1.0, 0.0), (0.1, 1.0, 0.0), (0.1, 1.0, 1e-3), (1.0, 1.0, 0.0)]


FRESH: dict[str, Callable[[], Any]] = {
    "GAF-drift": lambda: learned(
        mx.GAF(3, 3, drift=0.01, integrator=mx.integrals.MonteCarlo(20)), WIDE[:50], LABELS[:50]
    ),
    "AutoGAF-lanes": lambda: learned(
        mx.AutoGAF(3, 3, grid=[*STRUCTURED, *STRUCTURED], structure="blocks"),
        WIDE[:90],
        LABELS[:90],
    ),
    **fuzz_pools.FRESH,
    **fuzz_sparse.FRESH,
    "GAF-new": lambda: mx.GAF(3, 2, integrator="ladder"),
    "AutoGAF-asleep": lambda: learned(mx.AutoGAF(3, 3), WIDE, LABELS),
    "AutoGAF-early": lambda: learned(mx.AutoGAF(3, 3, integrator="ladder"), WIDE[:9], LABELS[:9]),
    "AutoRidge-asleep": lambda: learned(mx.AutoRidge(3), WIDE, WIDE[:, 0]),
    "AutoRidge-early": lambda: learned(
        mx.AutoRidge(3, grid=[(0.1, 0.0), (0.1, 0.01)], noises=[0.5, 1.0]), WIDE[:9], WIDE[:9, 0]
    ),
    "ONS-radius": lambda: learned(mx.ONS(3, 3, radius=1.0), WIDE[:30], LABELS[:30]),
    "VAW-drift": lambda: learned(mx.VAW(3, drift=0.1), WIDE[:30], WIDE[:30, 0]),
    "GenericGAF-Huber": lambda: learned(
        mx.GenericGAF(mx.losses.Huber(), 3, drift=0.01), WIDE[:20], np.clip(WIDE[:20, 0], -1, 1)
    ),
    "GenericGAF-Squared": lambda: learned(
        mx.GenericGAF(mx.losses.Squared(), 3), WIDE[:20], np.clip(WIDE[:20, 0], -1, 1)
    ),
    "KernelGAF-linear": lambda: learned(
        mx.KernelGAF(mx.losses.Logistic(3), 3, gamma=None), WIDE[:10], LABELS[:10]
    ),
    "Mixture-numbers": lambda: learned(
        mx.Mixture([mx.VAW(3), mx.VAW(3, lam=9.0)], target_bound=9.0), WIDE[:9], WIDE[:9, 0]
    ),
    "GAFClassifier-views": lambda: classifier(kernel="rbf", n_components=4),
    "GAFClassifier-names": lambda: _named(),
    "GAFRegressor-rbf": lambda: mx.GAFRegressor(
        kernel="rbf", n_components=4, method="nystroem"
    ).fit(WIDE[:40], WIDE[:40, 0]),
    **{
        f"{make.__name__}-{structure}{'-drift' if drift else ''}": (
            lambda make=make, structure=structure, drift=drift: learned(
                make(3, 3, structure=structure, drift=drift), WIDE[:43], LABELS[:43]
            )
        )
        for make in (mx.GAF, mx.Folklore)
        for structure in ("blocks", "shared", "diagonal")
        for drift in (0.0, 0.01)
    },
    "AutoGAF-structures": lambda: learned(
        mx.AutoGAF(3, 3, grid=STRUCTURED, structure=["full", "blocks", "shared", "diagonal"]),
        WIDE[:43],
        LABELS[:43],
    ),
    "AutoGAF-structures-asleep": lambda: learned(
        mx.AutoGAF(3, 3, structure="shared"), WIDE, LABELS
    ),
    "AutoGAF-gradient": lambda: learned(mx.AutoGAF(3, 12), WIDE[:40], np.arange(40) % 12),
}
KINDS = [*MODELS, *FRESH]


def _named() -> Any:

    return mx.GAFClassifier().fit(pd.DataFrame(WIDE[:60], columns=["a", "b", "c"]), LABELS[:60])


NUMBERS: list[int | float] = [-1, 0, 1, 2, 3, 7, 64, 2**31, 2**53, 2**63 - 1]
NUMBERS += [math.nan, math.inf, -math.inf, 0.5, -0.0, 1e-320, 1e-150, 1e15, 1e150, 1e308, -1e308]
OTHERS: list[Any] = [
    None,
    True,
    False,
    "",
    "a",
    "x" * 10_000,
    [],
    {},
    [1],
    {"dict": []},
    {"tuple": []},
    {"int": hex(10**30)},
    -(2**63),
]
OTHERS += [
    {"scalar": 3_000_000_000, "dtype": "S1"},
    {"scalar": 1.0, "dtype": "<f8"},
    {"scalar": "a", "dtype": "<U9"},
    {"tensor": "none"},
]
OTHERS += [{"object": name, "state": {"dict": []}} for name in persistence.HOMES] + [
    {"class": name} for name in persistence.HOMES
]


def original(kind: str) -> tuple[dict[str, Any], dict[str, Any], Any]:
    """Metadata, tensors and description of a model of this kind."""
    path = FOLDER / f"{kind}.safetensors"
    data = path.read_bytes() if path.exists() else persistence.to_bytes(FRESH[kind]())
    size = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    return metadata, load_tensors(data), json.loads(metadata["model"])


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the parts of a description are, all of them."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    here = [at] if at else []
    return here + [place for key, item in inner for place in places(item, (*at, key))]


def at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def number(rng: np.random.Generator) -> Any:
    value = NUMBERS[rng.integers(len(NUMBERS))]
    return (
        {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value
    )


def change_description(model: Any, rng: np.random.Generator) -> None:
    """Change one part of a description."""
    everywhere = places(model)
    place = everywhere[rng.integers(len(everywhere))]
    holder, key = at(model, place[:-1]), place[-1]
    how = rng.integers(10)
    if how < 4:
        holder[key] = number(rng)
    elif how < 6:
        holder[key] = copy.deepcopy(OTHERS[rng.integers(len(OTHERS))])
    elif how == 6:
        holder[key] = copy.deepcopy(at(model, everywhere[rng.integers(len(everywhere))]))
    elif how == 7:
        del holder[key]
    elif how == 8 and isinstance(holder, list):
        holder.extend(copy.deepcopy(holder[key]) for _ in range(int(rng.integers(1, 50))))
    elif isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
        holder[key] = type(holder[key])(holder[key] * rng.choice([-1, 2, 0.5, 1e3, 1e-3]))
    else:
        holder[key] = [holder[key]]


def change_tensor(tensors: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one array."""
    names = sorted(tensors)
    if not names:
        return
    name = names[rng.integers(len(names))]
    values = tensors[name]
    how = rng.integers(12)
    if how < 6 and values.size:
        positions = rng.integers(values.size, size=1 if how < 4 else values.size)
        with np.errstate(all="ignore"):
            values = values.copy()
            values.flat[positions] = np.asarray(
                NUMBERS[rng.integers(len(NUMBERS))], dtype=np.float64
            ).astype(values.dtype)
    elif how == 6:
        values = values * np.asarray(rng.choice([-1, 2, 0.5, 1e-8, 1e8, 1e150])).astype(
            values.dtype
        )
    elif how == 7:
        values = values.T
    elif how == 8:
        values = np.concatenate([values, values]) if values.ndim else np.tile(values, 3)
    elif how == 9:
        values = values[:-1] if values.ndim else values[None]
    elif how == 10:
        values = values.astype(rng.choice(["<f4", "<i8", "|u1", "|b1", "<f8"]))
    else:
        values = tensors[names[rng.integers(len(names))]]
    tensors[name] = np.ascontiguousarray(values)


def forged(kind: str, seed: int, case: int) -> bytes:
    """The file of a case."""
    rng = np.random.default_rng([seed, KINDS.index(kind), case])
    metadata, tensors, model = copy.deepcopy(ORIGINALS.setdefault(kind, original(kind)))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(int(rng.integers(1, 4))):
            if rng.random() < 0.5:
                change_description(model, rng)
            else:
                change_tensor(tensors, rng)
    metadata["model"] = json.dumps(model)
    metadata["checksum"] = persistence._checksum(metadata, tensors)
    return bytes(save_tensors(tensors, metadata))


ORIGINALS: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {}


def refused(error: BaseException) -> bool:
    """Whether an error is one that a user may see."""
    if isinstance(error, MemoryError):
        return bool(str(error))
    return isinstance(error, (ValueError, TypeError))


def attempt(what: Callable[[], Any], name: str) -> Any:
    """What a call returns, its numbers checked; None if it was refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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


def use(model: Any) -> None:
    """Predict, learn, run and grow."""
    if isinstance(model, mx.metrics.Scores):
        attempt(lambda: model.update([0.5, 0.5], 0), "update")
        if model.n:
            attempt(
                lambda: [model.log_loss, model.brier, model.accuracy, model.calibration_error],
                "scores",
            )
        attempt(lambda: len(model.reliability()), "reliability")
    elif hasattr(model, "learn_one"):
        use_dictionaries(model)
    elif hasattr(model, "partial_fit"):
        use_estimator(model)
    elif isinstance(model, mx.SparseGAF):
        fuzz_sparse.use(model, attempt)
    elif isinstance(model, mx.records.Encoder):
        record = {"price": 1.5, "at": "2024-05-06T07:08:09", "a new one": "two words"}
        for _ in range(3):
            attempt(lambda: model.commit(model.encode(record)), "encode")
        attempt(lambda: model.describe() and None, "describe")
    else:
        use_forecaster(model)


def use_dictionaries(model: Any) -> None:
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
    for _ in range(20):
        attempt(lambda: model.learn_one(x, True if classes else 0.5), "learn_one")


def use_estimator(model: Any) -> None:
    classes = hasattr(model, "predict_proba")
    d = int(getattr(model, "n_features_in_", 2))
    X = np.random.default_rng(0).normal(size=(20, d))
    kinds = model.classes_ if classes and hasattr(model, "learner_") else np.array([0, 1])
    y = kinds[np.arange(20) % len(kinds)] if classes else X[:, 0]
    for rows in (X[:1], X):
        attempt(
            lambda rows=rows: (model.predict_proba if classes else model.predict)(rows),
            "predict_proba" if classes else "predict",
        )
        attempt(lambda rows=rows: model.partial_fit(rows, y[: len(rows)]) and None, "partial_fit")
    attempt(lambda: model.predict(X) if not classes else model.predict_proba(X), "predict")
    for name in ("coef_", "intercept_", "coef_std_"):
        attempt(lambda name=name: getattr(model, name, None), name)
    attempt(lambda: model.report() and None, "report")


def use_forecaster(model: Any) -> None:
    d = int(getattr(model, "_row_length", model.n_features))
    if d > 1000:  # honest sizes are small here; this one was confirmed by arrays of its own
        return
    loss = getattr(model, "loss", None)
    K = getattr(model, "n_classes", None) or getattr(loss, "n_classes", None)
    name = "predict_proba" if K else "predict"
    X = np.random.default_rng(0).normal(size=(20, d))
    y = np.arange(20) % K if K else np.clip(X[:, 0], -1, 1)
    attempt(lambda: model.predict(X[0]), name)
    attempt(lambda: model.learn(X[0], y[0]), "learn")
    attempt(lambda: model.predict(X[1]), name)
    attempt(lambda: model.run(X, y), name + " by run")
    attempt(lambda: model.learn(1e3 * X[1], y[1], 1e3), "learn")
    attempt(lambda: model.predict(1e3 * X[1]), name)
    attempt(lambda: getattr(model, "coef", None), "coef")
    if hasattr(model, "std"):
        attempt(lambda: model.std(X[0]), "std")
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
    data = forged(kind, seed, case)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = attempt(lambda: persistence.from_bytes(data), "load")
    more = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if more > BYTES // 2:
        raise FoundError(f"loading {len(data)} bytes took {more} bytes more than ever before")
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
        use(twin)
    return True


if __name__ == "__main__":
    main(try_case, KINDS)
