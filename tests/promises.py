"""The cases of the promises' tests, at least one for each forecaster of the table, and data."""

import pickle

import numpy as np
from streams import logistic_stream

from mixable import (
    AIOLI,
    FTRL,
    GAF,
    OGD,
    ONS,
    SMP,
    VAW,
    AutoGAF,
    AutoRidge,
    Folklore,
    Foster,
    FreshStarts,
    GenericGAF,
    KernelGAF,
    Mixture,
    Pool,
    ScaleFree,
    SparseGAF,
)
from mixable.forecasters.table import BY_NAME
from mixable.integrals import Ladder, MonteCarlo
from mixable.losses import Logistic

D, K, N = 5, 3, 60
X, Y = logistic_stream(N, D, K)

LABELS = {
    "GAF": lambda: GAF(D, K),
    "GAF plug-in": lambda: GAF(D, K, alpha=np.inf),
    "GAF drifting": lambda: GAF(D, K, drift=1e-2, lam=1.0),
    "GAF Monte Carlo": lambda: GAF(D, K, integrator=MonteCarlo(20), seed=3),
    "GAF ladder": lambda: GAF(D, K, integrator=Ladder(1e-2)),
    **{
        f"GAF {structure}": lambda structure=structure: GAF(D, K, structure=structure)
        for structure in ("blocks", "shared", "diagonal")
    },
    "GAF blocks, drifting": lambda: GAF(D, K, structure="blocks", drift=1e-2, lam=1.0),
    "GAF diagonal, drifting": lambda: GAF(D, K, structure="diagonal", drift=1e-2, lam=1.0),
    **{
        f"Folklore {structure}": lambda structure=structure: Folklore(D, K, structure=structure)
        for structure in ("blocks", "shared", "diagonal")
    },
    **{
        f"AutoGAF {structure}": lambda structure=structure: AutoGAF(D, K, structure=structure)
        for structure in ("full", "shared", "diagonal")
    },
    "GAF from theory": lambda: GAF.from_theory(D, K, radius=3.0, bound=2.0, horizon=N),
    "GenericGAF": lambda: GenericGAF(Logistic(K), D, lam=0.1),
    "KernelGAF": lambda: KernelGAF(Logistic(K), D, lam=0.1, gamma=0.1),
    "Folklore": lambda: Folklore(D, K),
    "Folklore drifting": lambda: Folklore(D, K, drift=1e-2, lam=1.0),
    "ONS": lambda: ONS(D, K, beta=0.3),
    "ONS projected": lambda: ONS(D, K, beta=0.3, radius=2.0),
    "OGD": lambda: OGD(D, K, step=0.5),
    "OGD projected": lambda: OGD(D, K, radius=3.0),
    "FTRL": lambda: FTRL(D, K),
    "SMP": lambda: SMP(D, K, lam=0.5),
    "Foster": lambda: Foster(D, K, radius=4.0, m=15, moves=2),
    "ScaleFree": lambda: ScaleFree(D, K),
    "FreshStarts": lambda: FreshStarts(Folklore(D, K)),
    "AIOLI": lambda: AIOLI(D),
    "AutoGAF": lambda: AutoGAF(D, K),
    "AutoGAF, two threads": lambda: AutoGAF(D, K, threads=2),
    "AutoGAF from theory": lambda: AutoGAF.from_theory(D, K, bound=3.0, max_radius=4.0),
    "Mixture": lambda: Mixture([GAF(D, K), Folklore(D, K), OGD(D, K)], share=0.01),
    "Pool": lambda: Pool([GAF(D, K), Folklore(D, K), AutoGAF(D, K)]),
}
SPARSE = {
    "SparseGAF": lambda: SparseGAF(K),
    "SparseGAF, two classes": lambda: SparseGAF(2),
    "SparseGAF, shared weights": lambda: SparseGAF(K, max_features=3),
    "SparseGAF, one expert": lambda: SparseGAF(K, grid=[(0.1, 0.3)], alphas=[np.inf], share=0.0),
}
NUMBERS = {
    "VAW": lambda: VAW(D, lam=0.5),
    "VAW drifting": lambda: VAW(D, lam=0.5, drift=1e-2),
    "AutoRidge": lambda: AutoRidge(D),
    "Mixture": lambda: Mixture([VAW(D), VAW(D, lam=0.1)], target_bound=100.0),
}


class Case:
    """A forecaster of the table, and the labels to feed it: three classes, or two for AIOLI."""

    def __init__(self, name):
        self.make = LABELS[name]
        self.K = 2 if BY_NAME[type(self.make()).__name__].forecasts == "two labels" else K
        self.Y = np.minimum(Y, self.K - 1)

    def __call__(self):
        return self.make()


def fingerprint(f):
    """Everything a forecaster has learned, to the bit."""
    return pickle.dumps(f)


def changed(array, where, value):
    out = (
        array.astype(np.result_type(array, type(value)))
        if isinstance(value, float)
        else array.copy()
    )
    out[where] = value
    return out
