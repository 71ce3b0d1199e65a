"""The cases of the promises' tests, at least one for each forecaster of the table, and data."""

import pickle
from fractions import Fraction

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
    Trees,
)
from mixable.experts.table import BY_NAME
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
TREES = {"Trees": lambda: Trees(D, K), "Trees of numbers": lambda: Trees(D)}  # test_trees.py
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


BAD_ROWS = [
    (np.array([1.0, np.nan, 0, 0, 0]), ValueError, r"x\[1\] is nan"),
    (np.array([0, 0, 0, 0, -np.inf]), ValueError, r"x\[4\] is -inf"),
    (np.zeros(D + 1), ValueError, r"x must have shape \(5,\)"),
    (np.zeros((1, 1, D)), ValueError, "x must have shape"),
    (np.float64(3.0), ValueError, "x must have shape"),
    (["a"] * D, TypeError, "x must be numeric"),
    (np.array([1, 2, None, 4, 5], dtype=object), ValueError, r"x\[2\] is nan"),
    (np.array([1, 2, 3, "four", 5], dtype=object), TypeError, r"x\[3\] is not made of numbers"),
    (np.zeros(D, dtype=complex), TypeError, "x must be real"),
    (None, TypeError, "x"),
    ([[1.0] * D, [1.0]], ValueError, "x is ragged"),
    ([10**400, 1, 2, 3, 4], ValueError, r"x\[0\] holds a number too large"),
    (
        np.array(["1", "2", "3", "4", "5"], dtype=object),
        TypeError,
        r"x\[0\] is not made of numbers",
    ),
    (np.ma.masked_array(np.zeros(D), mask=[0, 1, 0, 0, 0]), ValueError, "x has masked entries"),
]


BAD_LABELS = [
    (-1, ValueError, "y is -1; labels are 0 to"),
    (K, ValueError, "y is 3"),
    (2**70, ValueError, "y is"),
    (1.0, TypeError, "y must be an integer label, got float"),
    ("1", TypeError, "y must be an integer label, got str"),
    (None, TypeError, "y must be an integer label"),
]


BAD_WEIGHTS = [
    *((weight, ValueError) for weight in (-0.5, np.nan, np.inf, 10**400)),
    *((weight, TypeError) for weight in ("2", None, 1j)),
]


BAD_RUNS = [
    ((changed(X, (7, 2), np.nan), Y), ValueError, r"X\[7, 2\] is nan"),
    ((changed(X, (59, 0), np.inf), Y), ValueError, r"X\[59, 0\] is inf"),
    ((X[:, :4], Y), ValueError, r"X must have shape \(n, 5\), got \(60, 4\)"),
    ((X[0], Y[:1]), ValueError, "X must have shape"),
    ((X[:0], Y[:0]), ValueError, "X is empty"),
    ((X, Y[:-1]), ValueError, "y must have"),
    ((X, changed(Y, 5, K)), ValueError, r"(y\[5\]|row 5: y) is 3"),
    ((X, changed(Y, 50, -1)), ValueError, r"(y\[50\]|row 50: y) is -1"),
    ((X, Y.astype(float)), TypeError, "y must be (an )?integer label"),
    ((X, Y, np.full(N, -1.0)), ValueError, r"weight\[0\] is -1"),
    ((X, Y, changed(np.ones(N), 33, np.nan)), ValueError, r"weight\[33\] is nan"),
    ((X, Y, np.ones(N - 1)), ValueError, r"weight must have shape \(60,\)"),
    (([[1.0, 2, 3, 4, 5], [1.0]], [0, 1]), ValueError, "X is ragged"),
    ((np.array([["a"] * D]), [0]), TypeError, "X must be numeric"),
]


FEW = 12  # rows, where it matters what an argument is, and not how much was learned


def layouts(a):
    """The same numbers as every kind of array that people have."""
    read_only = a.copy()
    read_only.setflags(write=False)
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]))
    wide[..., ::2] = a
    yield "list", a.tolist()
    yield "object", a.astype(object)
    yield "fractions", np.vectorize(Fraction, otypes=[object])(a)
    yield "Fortran", np.asfortranarray(a)
    yield "strided", wide[..., ::2]
    yield "reversed", a[..., ::-1].copy()[..., ::-1]
    yield "read-only", read_only
    yield "big-endian", a.astype(">f8")
    yield "long double", a.astype(np.longdouble)
    yield (
        "unaligned",
        np.frombuffer(b"." + a.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(a.shape),
    )
