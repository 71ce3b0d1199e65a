"""The saved models that tests/fuzz_files.py changes: the fixtures, and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fuzz_pools
import fuzz_sparse
import numpy as np
import pandas as pd
from make_fixtures import FOLDER, MODELS, classifier, learned

import mixable as mx
from mixable import persistence

# More states than the fixtures have: examples that are pending, those that are inactive, drift,
# every loss and integrator, nothing learned yet.
RNG = np.random.default_rng(1)
WIDE, LABELS = RNG.normal(size=(700, 3)), RNG.integers(0, 3, 700)
STRUCTURED = [(0.1, 1.0, 0.0), (0.1, 1.0, 0.0), (0.1, 1.0, 1e-3), (1.0, 1.0, 0.0)]


def agent_that_learned() -> Any:
    """With posteriors of two actions, widths, and a decision that waits."""
    agent = mx.bandits.Agent(explore="optimistic")
    for t in range(6):
        agent.choose({"one": t, "who": "ab"[t % 2]}, ["x", t % 2], id=t)
        if t < 5:
            agent.learn(t, t % 2)
    return agent


# They keep all examples and go through them at each step: fewer than the fixtures have.
SMALL: dict[str, Callable[[], Any]] = {
    "FTRL": lambda: learned(mx.FTRL(2, 2), WIDE[:4, :2], [0, 1, 0, 0]),
    "SMP": lambda: learned(mx.SMP(2, 2), WIDE[:4, :2], [0, 1, 0, 0]),
    "Foster": lambda: learned(mx.Foster(2, 2, m=4, moves=2), WIDE[:4, :2], [0, 1, 0, 0]),
}
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
    "AutoGAF-inactive": lambda: learned(mx.AutoGAF(3, 3), WIDE, LABELS),
    "AutoGAF-early": lambda: learned(mx.AutoGAF(3, 3, integrator="ladder"), WIDE[:9], LABELS[:9]),
    "AutoRidge-inactive": lambda: learned(mx.AutoRidge(3), WIDE, WIDE[:, 0]),
    "AutoRidge-early": lambda: learned(
        mx.AutoRidge(3, grid=[(0.1, 0.0), (0.1, 0.01)], noises=[0.5, 1.0]), WIDE[:9], WIDE[:9, 0]
    ),
    **{
        f"Trees-{n}-{K}": lambda n=n, K=K: learned(
            mx.Trees(3, K, categories=[2]), np.round(WIDE[:n]), LABELS[:n] if K else WIDE[:n, 0]
        )
        for n, K in ((25, 3), (47, None), (90, 7), (90, 3))
    },
    "Agent-learned": lambda: agent_that_learned(),
    "ONS-radius": lambda: learned(mx.ONS(3, 3, radius=1.0), WIDE[:30], LABELS[:30]),
    "VAW-drift": lambda: learned(mx.VAW(3, drift=0.1), WIDE[:30], WIDE[:30, 0]),
    "GenericGAF-Huber": lambda: learned(
        mx.GenericGAF(mx.losses.Huber(), 3, drift=0.01), WIDE[:20], np.clip(WIDE[:20, 0], -1, 1)
    ),
    "GenericGAF-Squared": lambda: learned(
        mx.GenericGAF(mx.losses.Squared(), 3), WIDE[:20], np.clip(WIDE[:20, 0], -1, 1)
    ),
    "KernelGAF-linear": lambda: learned(
        mx.KernelGAF(mx.losses.Logistic(3), 3, gamma=None), WIDE[:5], LABELS[:5]
    ),
    "Mixture-numbers": lambda: learned(
        mx.Mixture([mx.VAW(3), mx.VAW(3, lam=9.0)], target_bound=9.0), WIDE[:9], WIDE[:9, 0]
    ),
    "GAFClassifier-views": lambda: classifier(kernel=mx.kernels.RBF(4)),
    "GAFClassifier-names": lambda: mx.GAFClassifier(kernel=mx.kernels.Auto(3)).fit(
        pd.DataFrame(WIDE[:20], columns=["a", "b", "c"]), LABELS[:20]
    ),
    "GAFRegressor-rbf": lambda: mx.GAFRegressor(kernel=mx.kernels.RBF(4, method="nystroem")).fit(
        WIDE[:40], WIDE[:40, 0]
    ),
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
    "AutoGAF-every-structure": lambda: learned(
        mx.AutoGAF(3, 3, grid=STRUCTURED, structure=["full", "blocks", "shared", "diagonal"]),
        WIDE[:43],
        LABELS[:43],
    ),
    "AutoGAF-structures-inactive": lambda: learned(
        mx.AutoGAF(3, 3, structure="shared"), WIDE, LABELS
    ),
    "AutoGAF-gradient": lambda: learned(mx.AutoGAF(3, 12), WIDE[:40], np.arange(40) % 12),
}
KINDS = list({**MODELS, **FRESH})


def saved(kind: str) -> bytes:
    """The file of a model of this kind, before it is changed."""
    path = FOLDER / f"{kind}.safetensors"
    if path.exists() and kind not in SMALL:
        return path.read_bytes()
    return persistence.to_bytes({**FRESH, **SMALL}[kind]())
