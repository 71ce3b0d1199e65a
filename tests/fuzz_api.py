"""Calls everything with good and bad arguments, and looks whether something breaks: a command, of
which `.ci/run` runs some cases.

    python tests/fuzz_api.py --cases 500 --seed 0 [--kind GAF] [--first 0]

A case makes a forecaster or an estimator, often with parameters that nobody would choose, and calls
its verbs a few times: with rows of the wrong length, type or size, with NaN, objects that pretend
to be arrays or numbers, labels that are none, huge and zero weights, from inside another call, from
two threads. Each call must give finite numbers, probabilities positive, or be refused by a
ValueError, a TypeError or a MemoryError with a message (RuntimeError for two calls at once). A
refused call must leave the forecasts as they were.

A case is a function of the kind, the seed and its number; see fuzz_files.py, whose loop this is.
"""

from __future__ import annotations

import copy
import decimal
import fractions
import math
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz_files import FoundError, main

import mixable as mx
from mixable import integrals, losses

Rng = np.random.Generator

EXTREMES: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    -1.0,
    0.0,
    1e-320,
    1e-200,
    1e-10,
    0.3,
    1.0,
    7.0,
]
EXTREMES += [1e10, 1e100, 1e200, 1e308, 10**400, None, "1", [], b"x", 1j]
OUTCOMES: list[Any] = [
    -1,
    2**70,
    1.5,
    math.nan,
    math.inf,
    None,
    "a",
    [0],
    np.int8(0),
    np.float32(1),
]
OUTCOMES += [np.bool_(True), True, 1e100, -1e200, 1.7e308, 10**400, decimal.Decimal(1)]
WEIGHTS: list[Any] = [0, 0.0, 1e-320, 1e-8, 3.0, 1e9, 1e12, 1e13, 1e100, 1e200, 1e308]
WEIGHTS += [-1.0, math.nan, math.inf, None, "1", [1.0], np.float32(2)]
USUAL = dict.fromkeys(
    ("lam", "beta", "alpha", "radius", "step", "scale", "virtual_weight", "gamma"), 1.0
) | {"drift": 1e-2}


def pick(rng: Rng, *items: Any) -> Any:
    return items[rng.integers(len(items))]


def parameter(rng: Rng, usual: float) -> Any:
    """Mostly a usual value, now and then one that is not."""
    return pick(rng, *EXTREMES) if rng.random() < 0.15 else usual * 10.0 ** rng.integers(-3, 3)


def integrator(rng: Rng) -> Any:
    return pick(
        rng,
        None,
        None,
        "sobol",
        "ladder",
        "nothing",
        3,
        *([integrals.MonteCarlo(20)] * 3),
        integrals.Sobol(8),
    )


def shared(rng: Rng, *names: str) -> dict[str, Any]:
    return {name: parameter(rng, USUAL[name]) for name in names if rng.random() < 0.4}


def grid(rng: Rng, n: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if rng.random() < 0.4:
        out["grid"] = [
            tuple(parameter(rng, usual) for usual in (0.1, 1.0, 1e-3)[3 - n :])
            for _ in range(rng.integers(1, 4))
        ]
    if rng.random() < 0.2:
        out["share"] = parameter(rng, 1e-3)
    if rng.random() < 0.2:
        out["scale"] = parameter(rng, 1.0)
    if rng.random() < 0.2:
        out["threads"] = pick(rng, 1, 2, 3, 0, 10**6, "2")
    if rng.random() < 0.2:
        out["sleep"] = pick(rng, True, False, 1, None)
    return out


def mixture(rng: Rng, d: int, K: int) -> Any:
    if rng.random() < 0.3:
        return mx.Mixture(
            [mx.VAW(d), mx.VAW(d, lam=10.0)],
            target_bound=pick(rng, 1.0, 1e6, 0.0, math.nan),
            share=parameter(rng, 0.01),
        )
    return mx.Mixture(
        [mx.GAF(d, K), mx.OGD(d, K), mx.Folklore(d, pick(rng, K, K, K + 1))],
        parameter(rng, 0.01),
        history=bool(rng.integers(2)),
    )


def loss(rng: Rng, K: int) -> Any:
    return pick(
        rng, losses.Squared(), losses.Logistic(K), losses.Huber(), losses.Squared(n_outputs=2), None
    )


MAKERS: dict[str, Callable[[Rng, int, int], Any]] = {
    "GAF": lambda rng, d, K: mx.GAF(
        d,
        K,
        **shared(rng, "lam", "beta", "alpha", "drift"),
        integrator=integrator(rng),
        mu=pick(rng, 0.0, 1e-6, 0.5, 1.0),
    ),
    "Folklore": lambda rng, d, K: mx.Folklore(d, K, **shared(rng, "lam", "beta", "drift")),
    "AIOLI": lambda rng, d, K: mx.AIOLI(d, **shared(rng, "lam", "scale", "virtual_weight")),
    "ONS": lambda rng, d, K: mx.ONS(d, K, **shared(rng, "lam", "beta", "radius")),
    "OGD": lambda rng, d, K: mx.OGD(
        d, K, **shared(rng, "step", "radius"), fixed=bool(rng.integers(2))
    ),
    "VAW": lambda rng, d, K: mx.VAW(d, **shared(rng, "lam", "drift")),
    "FTRL": lambda rng, d, K: mx.FTRL(d, K, **shared(rng, "lam")),
    "SMP": lambda rng, d, K: mx.SMP(d, K, **shared(rng, "lam")),
    "Foster": lambda rng, d, K: mx.Foster(
        d,
        K,
        **shared(rng, "radius"),
        m=pick(rng, 1, 5, 0, 10**9),
        moves=pick(rng, None, 1, 3, -1, 2**40),
    ),
    "AutoGAF": lambda rng, d, K: mx.AutoGAF(
        d, K, **grid(rng, 3), integrator=integrator(rng), guard=pick(rng, 10.0, None, math.nan)
    ),
    "AutoRidge": lambda rng, d, K: mx.AutoRidge(d, **grid(rng, 2)),
    "GenericGAF": lambda rng, d, K: mx.GenericGAF(
        loss(rng, K), d, **shared(rng, "lam", "beta", "alpha", "drift")
    ),
    "KernelGAF": lambda rng, d, K: mx.KernelGAF(
        loss(rng, K), d, **shared(rng, "lam", "beta", "alpha", "gamma")
    ),
    "Mixture": mixture,
    "GAFClassifier": lambda rng, d, K: mx.GAFClassifier(
        **shared(rng, "lam", "beta", "alpha", "drift"), **kernel(rng)
    ),
    "GAFRegressor": lambda rng, d, K: mx.GAFRegressor(**shared(rng, "lam", "drift"), **kernel(rng)),
    "river.GAFClassifier": lambda rng, d, K: mx.river.GAFClassifier(
        **shared(rng, "lam", "beta", "alpha", "drift"), **kernel(rng)
    ),
    "river.GAFRegressor": lambda rng, d, K: mx.river.GAFRegressor(
        **shared(rng, "lam", "drift"), **kernel(rng)
    ),
    "Scores": lambda rng, d, K: mx.metrics.Scores(pick(rng, 10, 1, 0, -1, "3")),
}
KINDS = list(MAKERS)


def kernel(rng: Rng) -> dict[str, Any]:
    out: dict[str, Any] = {
        "standardize": pick(rng, True, True, False, 1),
        "fit_intercept": pick(rng, True, True, False, None),
    }
    if rng.random() < 0.2:
        out |= {
            "kernel": "rbf",
            "n_components": pick(rng, 1, 4, 0, "4"),
            "method": pick(rng, "fourier", "nystroem", "none"),
        }
    return out


class Pretends:
    """An array, an integer or a number in disguise, which may call the model from inside its own
    call, or fail.
    """

    def __init__(self, value: Any, inside: Callable[[], Any]) -> None:
        self.value, self.inside = value, inside

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.inside()
        return np.asarray(self.value, dtype=dtype)

    def __index__(self) -> int:
        self.inside()
        return int(self.value)

    def __float__(self) -> float:
        self.inside()
        return float(self.value)

    def __hash__(self) -> int:
        return 0


def good_row(rng: Rng, d: int) -> Any:
    return rng.normal(size=d) * 10.0 ** pick(rng, 0, 0, 0, -3, 3)


def row(rng: Rng, d: int, inside: Callable[[], Any]) -> Any:
    """An input, good or bad."""
    x = good_row(rng, d)
    how = rng.integers(24)
    if how == 0:
        x = x * pick(rng, 1e8, 1e30, 1e100, 1e150, 1e200, 1e300)
    elif how == 1:
        x[rng.integers(d)] = pick(rng, math.nan, math.inf, 1e308, -1e308, 1e-320)
    elif how == 2:
        return pick(
            rng,
            x[:-1],
            np.append(x, 1.0),
            x[None, None],
            np.float64(1),
            [],
            [[]],
            None,
            "abc",
            {},
            x.tolist(),
            tuple(x),
        )
    elif how == 3:
        return x.astype(
            pick(rng, "f4", "f2", "i8", "u1", "?", "O", "c16", ">f8", "U8", "M8[s]", "g")
        )
    elif how == 4:
        return pick(
            rng,
            x[::-1],
            np.asfortranarray(x),
            np.ma.array(x, mask=[True] + [False] * (d - 1)),
            memoryview(x),
            np.stack([x, x])[:, 0],
        )
    elif how == 5:
        return Pretends(x, inside)
    elif how == 6:
        return [decimal.Decimal(1), fractions.Fraction(1, 3), *x.tolist()][:d]
    elif how == 7:
        return np.zeros(d)
    return x


def outcome(rng: Rng, K: int | None, inside: Callable[[], Any]) -> Any:
    """A label or a target, good or bad."""
    good: Any = int(rng.integers(K)) if K else float(rng.normal())
    if rng.random() < 0.75:
        return good
    return pick(rng, *OUTCOMES, K or 0, Pretends(good, inside), np.array(good), np.array([good]))


def weight(rng: Rng, inside: Callable[[], Any]) -> Any:
    if rng.random() < 0.8:
        return 1.0
    return pick(rng, *WEIGHTS, Pretends(1.0, inside))


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
        self.scores = isinstance(model, mx.metrics.Scores)

    @property
    def width(self) -> int:
        if self.dictionaries or self.estimator or self.scores:
            return self.d
        return int(getattr(self.model, "_row_length", self.model.n_features))

    def predict(self, x: Any) -> Any:
        m = self.model
        if self.scores:
            return [m.log_loss, m.brier, m.accuracy, m.calibration_error] if m._weight > 0 else []
        if self.dictionaries:
            named = dict(enumerate(x)) if hasattr(x, "__iter__") else x
            out = m.predict_proba_one(named) if self.K else m.predict_one(named)
            return list(out.values()) if isinstance(out, dict) else out
        if self.estimator:
            if not hasattr(m, "engine_"):
                return []
            rows = [x] if np.ndim(x) == 1 else x
            return m.predict_proba(rows) if self.K else m.predict(rows)
        return m.predict(x)

    def learn(self, x: Any, y: Any, w: Any) -> Any:
        m = self.model
        if self.scores:
            p = np.full(3, 1 / 3) if np.ndim(x) == 1 else x
            return m.update(p, y, w)
        if self.dictionaries:
            return m.learn_one(dict(enumerate(x)) if hasattr(x, "__iter__") else x, y, w)
        if self.estimator:
            return m.partial_fit([x] if np.ndim(x) == 1 else x, [y], sample_weight=[w])
        return m.learn(x, y, w)

    def run(self, X: Any, y: Any, w: Any) -> Any:
        m = self.model
        if self.estimator:
            return m.prequential(X, y, sample_weight=w)
        return m.run(X, y, w)

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
    what: Callable[[], Any], name: str, *, probabilities: bool, busy: bool = False
) -> tuple[bool, Any]:
    """Whether a call was accepted, and what it gave; a FoundError if that is not finite, or it
    failed in a way that it must not.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
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
        raise FoundError(f"{name}: {type(error).__name__}: {error}") from error
    if isinstance(out, (float, list, np.ndarray)) and np.size(out):
        numbers = np.asarray(out, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise FoundError(f"{name} gave {numbers.ravel()[:8]}")
        if probabilities and not (
            (numbers >= 0).all() and np.allclose(numbers.sum(axis=-1), 1, atol=1e-6)
        ):
            raise FoundError(f"{name} gave {numbers.ravel()[:8]}, which are not probabilities")
    return True, out


def try_case(kind: str, seed: int, case: int) -> bool:
    """Whether at least one call of a case was accepted; a FoundError if something is wrong."""
    rng = np.random.default_rng([seed, KINDS.index(kind), case])
    d, K = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    sizes = [
        pick(rng, 0, -1, 1.5, "2", None, 2**62, 10**30) if rng.random() < 0.03 else size
        for size in (d, K)
    ]
    made, model = call(lambda: MAKERS[kind](rng, *sizes), "making one", probabilities=False)
    if not made or sizes != [d, K]:
        return False
    subject, accepted = Subject(model, d, K), False
    for _ in range(int(rng.integers(3, 12))):
        accepted |= one_call(subject, rng)
    return accepted


def one_call(subject: Subject, rng: Rng) -> bool:
    """One call of a verb; whether it was accepted."""
    probe, probabilities = good_row(rng, subject.width), bool(subject.K) and not subject.scores
    steps = getattr(subject.model, "steps", 0)

    def look() -> Any:
        return call(lambda: subject.predict(probe), "predict", probabilities=probabilities)[1]

    before = look()

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

    verb = rng.integers(10)
    if verb < 2:
        x = row(rng, subject.width, inside)
        accepted, _ = call(
            lambda: subject.predict(x), "predict", probabilities=probabilities, busy=True
        )
        changes = False
    elif verb < 6 or subject.dictionaries or subject.scores:
        x, y, w = (
            row(rng, subject.width, inside),
            outcome(rng, subject.K, inside),
            weight(rng, inside),
        )
        accepted, _ = call(
            lambda: subject.learn(x, y, w),
            f"learn({x!r:.60}, {y!r:.30}, {w!r:.20})",
            probabilities=False,
            busy=True,
        )
        changes = accepted
    elif verb < 8:
        n = int(rng.integers(1, 30))
        X = np.array([good_row(rng, subject.width) for _ in range(n)])
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
        changes = (
            accepted or getattr(subject.model, "steps", 0) != steps
        )  # what is beyond double precision stops between two rows
    elif verb == 8:
        accepted, _ = call(lambda: subject.grow(rng), "grow", probabilities=False)
        changes = accepted
    else:
        accepted = together(subject, rng)
        changes = True
    changes = changes or isinstance(
        subject.model, mx.Mixture
    )  # it says that experts may have learned what another refused
    if not changes and len(probe) == subject.width:
        after = look()
        if not np.array_equal(np.asarray(before, dtype=object), np.asarray(after, dtype=object)):
            raise FoundError(
                f"a call that was refused has changed the forecast from {before!r:.80} to "
                f"{after!r:.80}"
            )
    else:
        probe = good_row(rng, subject.width)
        look()
    if rng.random() < 0.05:
        copied, twin = call(lambda: copy.deepcopy(subject.model), "copy", probabilities=False)
        if not copied:
            raise FoundError("a model cannot be copied")
        call(
            lambda: Subject(twin, subject.d, subject.K or 0).predict(probe),
            "predict of a copy",
            probabilities=probabilities,
        )
    return accepted


def together(subject: Subject, rng: Rng) -> bool:
    """Predict and learn from two threads at once: each answers or refuses."""
    X = [good_row(rng, subject.width) for _ in range(20)]
    outcomes = [int(rng.integers(subject.K)) if subject.K else 0.5 for _ in X]
    found: list[BaseException] = []

    def each(what: Callable[[Any, Any], Any]) -> None:
        try:
            for x, y in zip(X, outcomes, strict=True):
                call(
                    lambda x=x, y=y: what(x, y),
                    "a call from a thread",
                    probabilities=False,
                    busy=True,
                )
        except BaseException as error:
            found.append(error)

    compiled = hasattr(subject.model, "_core")  # the others do not promise anything
    jobs = (lambda x, y: subject.predict(x)), (lambda x, y: subject.learn(x, y, 1.0))
    threads = [threading.Thread(target=each, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
        if not compiled:
            thread.join()
    for thread in threads:
        thread.join()
    if found:
        raise found[0]
    return True


if __name__ == "__main__":
    main(try_case, KINDS)
