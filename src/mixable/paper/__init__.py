"""The paper's room: all that belongs to the paper, and is not in the way of the product.

Jezequel, R., Gaillard, P. and Rudi, A. (2021). Mixability made efficient: Fast online multiclass
logistic regression. NeurIPS. README.md, beside this file, goes through it section by section.

=============== ===================================================================================
`reference`     Section 3 for any loss, in NumPy: the specification that the core is tested against
`structured`    the same on posteriors that keep less than everything
`surrogates`    other surrogates than the paper's
`losses`        Sections 2 and 4: the protocol of a loss, logistic, squared, Huber; (A1)-(A4) tested
`integrals`     Eq. (6): the expectation of a softmax, sampled, in closed form, or with proofs
`bounds`        Theorem 1, Corollary 2, Proposition 3, Table 1, certificates, and what came after
`regret`        Eq. (1): the best linear model in hindsight
`batch`         online-to-batch conversion
`baselines`     OGD, ONS, Foster, AIOLI, Folklore, FTRL, SMP, VAW; ScaleFree
`fresh_starts`  copies of a forecaster that begin anew: for best weights that change
`kernel_gaf`    the forecaster in the space of a kernel, exactly
`experiments`   Section 5: races, Table 1 measured, the hard regime, what kernels cost
=============== ===================================================================================

`mixable.bounds`, `integrals`, `losses` and `regret` are these modules, and `mixable` has the
classes.
"""

from importlib import import_module
from typing import Any

__all__ = [
    "baselines",
    "batch",
    "bounds",
    "experiments",
    "fresh_starts",
    "integrals",
    "kernel_gaf",
    "losses",
    "reference",
    "regret",
    "structured",
    "surrogates",
]


def __getattr__(name: str) -> Any:
    """Import a module of the room when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return list(__all__)
