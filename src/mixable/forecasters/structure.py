"""The structures that a posterior may have: what is kept of A^-1, class by class.

"full" keeps all of it, K d numbers squared (in K - 1 coordinates; see docs/how-it-works.md).
"blocks" keeps a d x d block for each class, "shared" one block that serves all classes, "diagonal"
a variance for each weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mixable import _core, _validate

if TYPE_CHECKING:
    from mixable.forecasters.base import Forecaster

STRUCTURES = ("full", "blocks", "shared", "diagonal")

IN_MIXTURES = (*STRUCTURES, "growing")
"""Those that a posterior of a mixture may have. "growing" is shared, of the features met so far."""


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
