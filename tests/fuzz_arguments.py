"""What fuzz_api.py calls the library with: parameters, rows, outcomes and weights, good and bad."""

from __future__ import annotations

import decimal
import fractions
import math
from collections.abc import Callable
from typing import Any

import numpy as np

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
        "certified",
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
        out["threads"] = pick(rng, 1, 2, 3, None, 0, 10**6, "2")
    if rng.random() < 0.2:
        out["sleep"] = pick(rng, True, False, 1, None)
    return out


def sparse(rng: Rng) -> dict[str, Any]:
    out: dict[str, Any] = {"max_features": pick(rng, None, None, 1, 2, 0, 2**40, "3")}
    if rng.random() < 0.4:
        n = rng.integers(1, 10)
        out["grid"] = [(parameter(rng, 1.0), parameter(rng, 0.3)) for _ in range(n)]
    if rng.random() < 0.3:
        out["alphas"] = [parameter(rng, 16.0) for _ in range(rng.integers(1, 4))]
    if rng.random() < 0.2:
        out["share"] = parameter(rng, 1e-3)
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


def structure(rng: Rng) -> Any:
    return pick(rng, *3 * ["blocks", "shared", "diagonal"], "full", "none", None)


def structured_mixture(rng: Rng, d: int, K: int) -> Any:
    """AutoGAF over a structure for each posterior, or one for all, read at any width."""
    settings = grid(rng, 3)
    n = len(settings.get("grid", mx.AutoGAF.GRID))
    each = [structure(rng) for _ in range(n)] if rng.random() < 0.3 else structure(rng)
    if rng.random() < 0.3:
        settings["alphas"] = [parameter(rng, 1.0) for _ in range(rng.integers(1, 4))]
    return mx.AutoGAF(d, K, **settings, structure=each, fallback=pick(rng, "auto", 10.0, None))


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
    "SparseGAF": lambda rng, d, K: mx.SparseGAF(K, **sparse(rng)),
    "VAW": lambda rng, d, K: mx.VAW(d, **shared(rng, "lam", "drift")),
    "FTRL": lambda rng, d, K: mx.FTRL(d, K, **shared(rng, "lam")),
    "ScaleFree": lambda rng, d, K: mx.ScaleFree(d, K),
    "FreshStarts": lambda rng, d, K: mx.FreshStarts(mx.Folklore(d, K)),
    "SMP": lambda rng, d, K: mx.SMP(d, K, **shared(rng, "lam")),
    "Foster": lambda rng, d, K: mx.Foster(
        d,
        K,
        **shared(rng, "radius"),
        m=pick(rng, 1, 5, 0, 10**9),
        moves=pick(rng, None, 1, 3, -1, 2**40),
    ),
    "AutoGAF": lambda rng, d, K: mx.AutoGAF(
        d, K, **grid(rng, 3), integrator=integrator(rng), fallback=pick(rng, 10.0, None, math.nan)
    ),
    "AutoRidge": lambda rng, d, K: mx.AutoRidge(d, **grid(rng, 2)),
    "Trees": lambda rng, d, K: mx.Trees(
        d, pick(rng, K, K, None, 1, "2"), categories=pick(rng, (), (), [0], [d], "a", [0.5])
    ),
    "GenericGAF": lambda rng, d, K: mx.GenericGAF(
        loss(rng, K), d, **shared(rng, "lam", "beta", "alpha", "drift")
    ),
    "KernelGAF": lambda rng, d, K: mx.KernelGAF(
        loss(rng, K), d, **shared(rng, "lam", "beta", "alpha", "gamma")
    ),
    "Mixture": mixture,
    "Pool": lambda rng, d, K: mx.Pool(
        [mx.GAF(d, K), mx.OGD(d, pick(rng, K, K, K + 1)), mx.AutoGAF(d, K)],
        **shared(rng, "lam"),
        share=parameter(rng, 0.01),
    ),
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
    "GAF-structure": lambda rng, d, K: mx.GAF(
        d,
        K,
        **shared(rng, "lam", "beta", "alpha", "drift"),
        structure=structure(rng),
        integrator=pick(rng, None, None, None, "Pairwise", "sobol"),
        mu=pick(rng, 0.0, 1e-6, 0.5, 1.0),
    ),
    "Folklore-structure": lambda rng, d, K: mx.Folklore(
        d, K, **shared(rng, "lam", "beta", "drift"), structure=structure(rng)
    ),
    "AutoGAF-structures": lambda rng, d, K: structured_mixture(rng, d, K),
}
KINDS = list(MAKERS)
SLOW = (mx.FTRL, mx.SMP, mx.Foster, mx.GenericGAF, mx.KernelGAF)
"""They are written in Python, and some fit all of the past at each step: fewer rows for them."""
BY_ROW = (mx.FreshStarts, mx.ScaleFree, mx.Mixture, mx.Pool)
"""Forecasters of the core, in a loop in Python."""


def kernel(rng: Rng) -> dict[str, Any]:
    out: dict[str, Any] = {
        "standardize": pick(rng, True, True, False, 1),
        "fit_intercept": pick(rng, True, True, False, None),
    }
    how = rng.random()
    if how < 0.3:
        out |= {"kernel": None}
    elif how < 0.6:
        out |= {"kernel": mx.kernels.Auto(3)}
    elif how < 0.8:
        m, method = pick(rng, 1, 4, 0, "4"), pick(rng, "fourier", "nystroem", "none")
        out |= {"kernel": mx.kernels.RBF(m, method=method)}
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


SCALES = np.array([1.0, 1.0, 1.0, 1e-3, 1e3])


def good_row(rng: Rng, d: int) -> Any:
    return rng.normal(size=d) * SCALES[rng.integers(len(SCALES))]


def good_rows(rng: Rng, n: int, d: int) -> Any:
    return rng.normal(size=(n, d)) * SCALES[rng.integers(len(SCALES), size=(n, 1))]


def row(rng: Rng, d: int, inside: Callable[[], Any]) -> Any:
    """An input, good or bad."""
    x = good_row(rng, d)
    how = rng.integers(14)
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
