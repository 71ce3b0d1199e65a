"""What AutoGAF mixes over if nothing else is said, by the size of the problem.

The settings were chosen on 20 streams and judged on 24 others (docs: Choices names them). The
limits are where a structure becomes too slow or too large, as measured (docs: Speed).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mixable import _validate
from mixable.experts import ensemble
from mixable.experts.ensemble import as_list
from mixable.experts.structure import IN_MIXTURES, checked_structure, in_mixture
from mixable.paper.bounds import doubling_radii, theory_lam
from mixable.paper.losses import Logistic


class Expert(NamedTuple):
    """One expert of AutoGAF; lam and drift in units of the inputs' mean square and its inverse."""

    kind: str
    lam: float
    beta: float
    drift: float
    alpha: float


FREQUENCIES = "class frequencies"
"""What the expert is called that counts the classes, and sees no input."""

SETTING = ("lam", "beta", "drift")

GRID = (
    (1e-5, 1.0, 0.0),
    (0.01, 2.0, 0.0),
    (0.1, 1.0, 0.0),
    (1.0, 1.0, 0.0),
    (10.0, 1.0, 0.0),
    (0.1, 2.0, 1e-3),
    (0.1, 0.3, 1e-3),
    (0.01, 1.0, 0.1),
    (1e-3, 1.0, 0.0),
)
"""(lam, beta, drift) of each posterior."""

SURROGATES = ("tangent", "averaged")

AVERAGED = {GRID[-1]: 0.01}
AVERAGED_OF_TWO = {GRID[3]: 1.0, GRID[5]: 0.1}
"""The settings whose surrogate is averaged where their posterior is full, those of two classes, and
the lam that they have then; beta is 1, and there is no drift. Files rely on these."""

SQUASHED = (3e-3, 1.0, 0.0)  # a setting of the estimators besides (learner.grids)

FULL = (GRID[0], GRID[-1], GRID[1], SQUASHED)
"""The settings whose posterior is full where that is cheap. They lead where classes are separable,
and there blocks would lose up to a tenth. Four are computed at once with AVX2."""

EARLY_FULL = FULL[:2]  # of files that do not say what they chose

MOST_FULL_WEIGHTS = 128
"""The most weights (K - 1) d of which the posteriors of FULL are full."""

MOST_GUARDED_WEIGHTS = 32
"""The most weights of which the fallback, which is always active, has a full posterior."""

MOST_IN_BLOCKS = 100_000
"""The most numbers K d^2 in the blocks of one posterior. Beyond, a shared one is as good."""

MOST_ALL_IN_BLOCKS = 20_000
"""The same, if each posterior is to have blocks. Beyond, only those of LEADERS have, and the others
share one block: that takes 0.6 of the time. On 14 wide streams the loss was 1.002 times as large
(at most 1.013)."""

LEADERS = (GRID[2], GRID[3], GRID[6])
"""The settings that lead most often on wide streams. GRID[5] was one of them; without it the loss
was 0.998 times as large (docs: Choices)."""

MOST_CLASSES_IN_BLOCKS = 64
"""Blocks are read in K^2 operations, a shared one in K."""

MOST_FEATURES_SHARED = 1000
"""The most features of which posteriors keep a matrix."""


class Choice(NamedTuple):
    """What a mixture chose by its size. It is saved: the limits above may change, its file not.

    Without a fallback, that is still to be chosen; files without structures have the early ones.
    """

    structures: tuple[str, ...]
    fallback: str | None
    frequencies: bool = False  # whether one expert counts the classes


def saved_choice(choice: Choice) -> dict[str, Any]:
    """A choice by the names that files have for it since version 0.2."""
    return dict(zip(("structures", "guard", "rates"), choice, strict=True))


def checked_choice(saved: Any) -> Choice:
    """The choice of a saved mixture. Early files have none: then nobody counted the classes."""
    if saved is None:
        return Choice((), None)
    if saved["guard"] not in (None, "folklore", "gradient"):
        raise ValueError(f"fallback must be 'folklore' or 'gradient', got {saved['guard']!r:.80}")
    frequencies = _validate.flag(saved.get("rates", False), "rates")
    return Choice(tuple(as_list(saved["structures"], "structures")), saved["guard"], frequencies)


def _has_full(n_features: int, n_classes: int, most: int) -> bool:
    if n_classes == 2:  # then the full posterior is one block
        return n_features**2 <= MOST_IN_BLOCKS
    return (n_classes - 1) * n_features <= most


def fallback_kind(n_features: int, n_classes: int) -> str:
    """Which forecaster fallbacks the mixture: "folklore", or "gradient" if that is too slow."""
    full = _has_full(n_features, n_classes, MOST_GUARDED_WEIGHTS)
    return "folklore" if full else "gradient"


def fallback_plan(
    kind: str | None, product: float | str | None, n_features: int, n_classes: int
) -> tuple[str, float, float] | tuple[()]:
    """Kind, lam, beta of a fallback for B R = `product` ("auto": 10); or kind, radius, step."""
    if kind is None:
        return ()
    reach = product if isinstance(product, float) else 10.0
    if kind == "folklore":
        return kind, float(n_features), Logistic(n_classes).constants(reach, 1.0).beta
    # Inputs of mean square 1 have a norm of sqrt(d).
    return kind, reach / math.sqrt(n_features), reach / (math.sqrt(2) * n_features)


def averaged(parameters: dict[str, Any], structures: Sequence[str]) -> tuple[float | None, ...]:
    """The lam of each posterior of AutoGAF that has the averaged surrogate, None for the others.

    None has it if the settings are the user's.
    """
    grid, K = parameters["grid"], parameters["n_classes"]
    surrogate = parameters["surrogate"] or ("averaged" if K == 2 else "tangent")
    if surrogate == "tangent" or not set(GRID) <= set(grid):
        return (None,) * len(grid)
    lam = AVERAGED_OF_TWO if K == 2 else AVERAGED
    return tuple(
        lam.get(setting) if in_mixture(each, K) == "full" else None
        for setting, each in zip(grid, structures, strict=True)
    )


Settings = Sequence[tuple[float, ...]]


def structures(
    n_features: int, n_classes: int, grid: Settings = GRID, fullest: Settings = FULL
) -> tuple[str, ...]:
    """The structure of each posterior of a grid.

    >>> structures(18, 4)[1:3], structures(64, 10)[1:3]
    (('full', 'blocks'), ('shared', 'blocks'))
    >>> structures(784, 10)[0], structures(5000, 10)[0]
    ('shared', 'diagonal')
    """
    d, K = n_features, n_classes
    numbers = d * d * (1 if K == 2 else K)
    most = "shared"
    if d > MOST_FEATURES_SHARED:
        most = "diagonal"
    elif numbers <= MOST_IN_BLOCKS and K <= MOST_CLASSES_IN_BLOCKS:
        most = "blocks"
    full = _has_full(d, K, MOST_FULL_WEIGHTS)
    few = K > 2 and most == "blocks" and numbers > MOST_ALL_IN_BLOCKS

    def kept(setting: tuple[float, ...]) -> str:
        if full and setting in fullest:
            return "full"
        return "shared" if few and setting not in LEADERS else most

    return tuple(map(kept, grid))


def as_given(structure: Any, name: str = "structure") -> str | tuple[str, ...] | None:
    """A structure as it is kept."""
    if structure is None or isinstance(structure, str):
        return structure
    return tuple(as_list(structure, name))


def checked_grid(grid: Any, name: str) -> tuple[tuple[float, float, float], ...]:
    """The settings: lam, beta and drift of each."""
    return tuple((a, b, c) for a, b, c in ensemble.checked_grid(grid, name, SETTING))


def checked_alphas(alphas: Any, name: str) -> tuple[float, ...]:
    """The widths at which posteriors are read."""
    return tuple(_validate.mixability(alpha, name) for alpha in as_list(alphas, name))


def checked_fallback(fallback: Any, name: str) -> float | str | None:
    """B R of the fallback, "auto", or None."""
    is_word = fallback is None or (isinstance(fallback, str) and fallback == "auto")
    return fallback if is_word else _validate.scale(fallback, name)


def checked_structures(
    structure: str | Iterable[str] | None,
    grid: Sequence[tuple[float, ...]],
    n_features: int,
    n_classes: int,
) -> tuple[str, ...]:
    """The structure of each posterior of a grid; None chooses them by size."""
    if structure is None:
        return structures(n_features, n_classes, grid)
    if isinstance(structure, str):
        structure = (structure,) * len(grid)
    each = tuple(
        checked_structure(one, among=IN_MIXTURES) for one in as_list(structure, "structure")
    )
    if len(each) != len(grid):
        wanted = f"one entry for each of the {len(grid)} settings of the grid"
        raise ValueError(f"structure must have {wanted}, got {each!r:.80}")
    for one, (*_, drift) in zip(each, grid, strict=True):
        if one == "growing" and drift > 0:
            raise ValueError('structure="growing" takes no drift')
    return each


def checked_surrogate(value: Any, name: str = "surrogate") -> str | None:
    """Refuse what is not a choice of surrogates."""
    if value is not None and (not isinstance(value, str) or value not in SURROGATES):
        raise ValueError(f"{name} must be None or one of {SURROGATES}, got {value!r:.80}")
    return value


def choose(parameters: dict[str, Any], saved: Choice | None = None) -> Choice:
    """What AutoGAF has with these parameters; where they leave it open, as saved or by size."""
    sizes = parameters["n_features"], parameters["n_classes"]
    structure, fallback = parameters["structure"], parameters["fallback"]
    if structure is None and saved is not None:
        structure = saved.structures or structures(*sizes, parameters["grid"], EARLY_FULL)
    kind = None if fallback is None else "folklore"
    if fallback == "auto":
        kind = saved.fallback if saved is not None and saved.fallback else fallback_kind(*sizes)
    frequencies = fallback is not None if saved is None else saved.frequencies
    return Choice(checked_structures(structure, parameters["grid"], *sizes), kind, frequencies)


def grown(choice: Choice, n_classes: int, larger: dict[str, Any]) -> Choice:
    """The choice of a mixture that has grown: what was not full (of so many classes) stays so."""
    sizes = larger["n_features"], larger["n_classes"], larger["grid"]
    each = zip(choice.structures, structures(*sizes), structures(*sizes, ()), strict=True)
    kept = [new if in_mixture(old, n_classes) == "full" else less for old, new, less in each]
    return Choice(tuple(kept), None, choice.frequencies)


def theory_grid(
    d: int, K: int, bound: float, max_radius: float, constants: str
) -> list[tuple[float, float, float]]:
    """The paper's settings for doubling radii of the comparator."""
    dim = d * (K if constants == "paper" else K - 1)
    radii = doubling_radii(max_radius, bound)
    values = [Logistic(K).constants(radius, bound, kind=constants) for radius in radii]
    return [(theory_lam(dim, value) / bound**2, value.beta, 0.0) for value in values]


def as_run(
    grid: Sequence[tuple[float, float, float]], averaged: Sequence[float | None]
) -> tuple[tuple[float, float, float], ...]:
    """The settings with which posteriors run."""
    pairs = zip(grid, averaged, strict=True)
    return tuple(setting if lam is None else (lam, 1.0, 0.0) for setting, lam in pairs)


def experts(
    grid: Sequence[tuple[float, float, float]],
    alphas: Sequence[float],
    fallback: tuple[str, float, float] | tuple[()],
    averaged: Sequence[float | None],
    *,
    frequencies: bool,
) -> list[Expert]:
    """The experts of AutoGAF: settings, as run, at each width, class frequencies, fallback."""
    out = [
        Expert("averaged GAF" if lam else "GAF", *setting, alpha / (4 if lam else 1))
        for setting, lam in zip(grid, averaged, strict=True)
        for alpha in alphas
    ]
    if frequencies:
        out.append(Expert(FREQUENCIES, *4 * [math.nan]))
    if not fallback:
        return out
    kind, lam, beta = fallback
    if kind == "folklore":
        return [*out, Expert("fallback", lam, beta, drift=0.0, alpha=math.nan)]
    return [*out, Expert("fallback by gradient descent", *4 * [math.nan])]


def verdict(experts: Sequence[Expert], shares: Sequence[float]) -> list[str]:
    """What the weight of the experts says of a stream, in words."""
    pairs = list(zip(experts, shares, strict=True))
    drifting = sum(w for expert, w in pairs if expert.drift > 0)
    fallback = sum(w for expert, w in pairs if expert.kind.startswith("fallback"))
    frequencies = sum(w for expert, w in pairs if expert.kind == FREQUENCIES)
    bare = sum(w for expert, w in pairs if expert.alpha == math.inf)
    words = "is undecided between standing still and changing"
    if drifting < 0.1:
        words = "is stationary"
    elif drifting > 0.9:
        words = "behaves as if it changed"
    return [
        f"The stream {words}: {drifting:.0%} of the weight expects drift.",
        f"Hedging: {bare:.0%} of the weight is in the plain plug-in, {fallback:.0%} in the "
        f"fallback, {frequencies:.0%} in the class frequencies, the rest in hedged forecasts.",
    ]
