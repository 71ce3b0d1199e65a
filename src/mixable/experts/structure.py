"""The structures that a posterior may have: what is kept of A^-1, class by class.

"full" keeps all of it, K d numbers squared (in K - 1 coordinates; see ARCHITECTURE.md).
"blocks" keeps a d x d block for each class, "shared" one block that serves all classes, "diagonal"
a variance for each weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixable import _core, _validate
from mixable._natural import Gaussian, State
from mixable._types import Array

if TYPE_CHECKING:
    from mixable.experts.base import Forecaster

STRUCTURES = ("full", "blocks", "shared", "diagonal")

IN_MIXTURES = (*STRUCTURES, "growing")
"""Those that a posterior of a mixture may have. "growing": shared, of the features so far."""


def checked_structure(
    structure: str, name: str = "structure", among: tuple[str, ...] = STRUCTURES
) -> str:
    """Refuse what is not the name of a structure."""
    if not isinstance(structure, str) or structure not in among:
        names = ", ".join(map(repr, among))
        raise ValueError(f"{name} must be one of {names}, got {structure!r:.80}")
    return structure


def in_mixture(structure: str, n_classes: int) -> str:
    """The structure that a mixture uses: of two classes, the full posterior is one block."""
    return structure if n_classes > 2 or structure in ("diagonal", "growing") else "full"


def shapes(n_features: int, n_classes: int, structure: str) -> dict[str, tuple[int, int]]:
    """The shapes of the arrays of a saved state that say how large it is; "none": no posterior."""
    d, K = n_features, n_classes
    if structure == "none":
        return {"V": (K - 1, d)}
    if structure == "rates":
        return {"counts": (1, K)}
    if structure == "moments":
        return {"classes": (1, K), **dict.fromkeys(("count", "mean", "square"), (K + 1, d))}
    if structure == "full":
        return {"V": (K - 1, d), "A_inverse": ((K - 1) * d, (K - 1) * d)}
    if structure == "growing":
        return {"V": (1 if K == 2 else K, d)}
    rows = {"blocks": K * d, "shared": d, "diagonal": K}[structure]
    return {"V": (K, d), "S": (rows, d)}


def refuse_if_too_large(
    forecaster: Forecaster, n_classes: int, posteriors: list[tuple[str, float]], rank: int = 0
) -> None:
    """Raise MemoryError, with the number of bytes, if these posteriors do not fit.

    Each is given by its structure and its drift; `rank` is that of the update of a full one, K - 1
    if it is 0.
    """
    d, K = forecaster.n_features, n_classes
    what = f"{type(forecaster).__name__} with {d} features and {K} classes"
    total = 0.0
    for structure, drift in posteriors:
        rows, columns = [*shapes(d, K, structure).values(), (d, d)][1]
        _validate.memory(8.0 * rows * columns, what)  # the core's integers have limits
        k = K - 1 if structure == "full" else K  # growing: of two classes one, but it is small
        total += _core.posterior_bytes(k, d, rank or k, drift > 0, structure)
    _validate.memory(total, what)


MET = ("largest_square_met", "largest_weight_met")
"""In the state of a full posterior: of the inputs and the examples learned."""
UNKNOWN = -1.0


def gaussian(state: State, lam: float, drift: float) -> Gaussian:
    """What a saved posterior knows, whatever it keeps; lam and drift are its parameters."""
    V = state["V"]
    k, d = V.shape
    common: dict[str, Any] = {"steps": state["steps"], "sizes": (k, d), "drift": drift}
    common["lam"] = state.get("regulariser", lam) if drift == 0 else lam
    if "A_inverse" in state:
        P = state["P"]
        mean = V - (state["h"] @ P).reshape(k, d)
        if drift == 0:
            A = _from_lower(state["A"])
            for x, c in zip(state["curvature_x"], state["curvature_c"], strict=True):
                A = A + np.kron(c.reshape(k, k), np.outer(x, x))
        else:
            U = state["T"] @ P
            wider = state["pending"] * drift * np.eye(k * d)
            A = _inverse(_from_lower(state["A_inverse"]) - U.T @ U + wider)
        return Gaussian(kind="full", A=A[None], mean=mean.reshape(1, -1), **common)
    if "places" in state:
        places = state["places"][0].astype(int)
        S = np.eye(d) / lam
        S[np.ix_(places, places)] = state["S"] - state["Q"].T @ state["Q"]
        return Gaussian(kind="growing", A=_inverse(S)[None], mean=V, **common)
    if "roots" in state:
        n, X = state["pending"], state["X"]
        s = len(state["S"]) // d
        if drift == 0:
            A = _from_lower(state["A"].reshape(s, d, d))
            A = A + np.einsum("tc,ti,tj->cij", state["roots"] ** 2, X, X)
        else:
            P = state["P"].reshape(n, s, d)
            S = state["S"].reshape(s, d, d) - np.einsum("tci,tcj->cij", P, P)
            A = _inverse(S + n * drift * np.eye(d))
        return Gaussian(kind="blocks", A=A, mean=V, **common)
    flat = V.reshape(-1, 1)
    if "S" in state:
        A = 1.0 / state["S"].reshape(-1, 1, 1)
        return Gaussian(kind="diagonal", A=A, mean=flat, **common)
    return Gaussian(kind="mean", A=np.zeros((len(flat), 1, 1)), mean=flat, **common)


def saved(known: Gaussian) -> State:
    """The state of a posterior, with nothing pending."""
    k, d = known.sizes
    out: State = {"steps": known.steps, "V": known.mean.reshape(k, d)}
    if known.kind == "mean":
        return out
    S = np.linalg.inv(known.A)
    S = 0.5 * (S + S.swapaxes(-1, -2))
    if known.kind == "diagonal":
        return {**out, "S": S.reshape(k, d)}
    out["pending"], out["regulariser"] = 0, known.lam if known.drift == 0 else 0.0
    if known.kind == "growing":
        is_known = (known.mean != 0).any(axis=0)
        is_known |= (known.lam * np.eye(d) != known.A[0]).any(axis=0)
        places = np.flatnonzero(is_known)
        arrays = {"places": places[None].astype(float), "S": S[0][np.ix_(places, places)]}
        return {
            **out,
            **arrays,
            "Q": np.empty((0, len(places))),
            "learned": len(places),
            "owed": 0.0,
        }
    matrices, width = known.A.shape[:2]
    out.update(since_refresh=0, X=np.empty((0, d)), P=np.empty((0, width)))
    if known.drift == 0:
        out["A"] = known.A.reshape(-1, width)
    if known.kind == "full":
        out.update(curvature_pending=0, A_inverse=S[0], T=np.empty((0, 0)), h=np.empty((1, 0)))
        out.update(curvature_x=np.empty((0, d)), curvature_c=np.empty((0, k * k)))
        return out | dict.fromkeys(MET, UNKNOWN)
    return {**out, "S": S.reshape(-1, d), "roots": np.empty((0, matrices))}


def _inverse(S: Array) -> Array:
    return np.asarray(np.linalg.inv(S), dtype=np.float64)


def _from_lower(A: Array) -> Array:
    """A symmetric matrix from its lower triangle."""
    return np.asarray(np.tril(A) + np.tril(A, -1).swapaxes(-1, -2))
