"""Merging inputs: the statistics of the features, and what they mean for rows.

A forecaster knows rows that were scaled by the statistics of its own model. Where these differ,
rows of one model are rows of another after an affine change, which is exact for linear inputs with
an intercept. (The second view of an input is logarithmic beyond one deviation; it is changed as if
it were linear. Without an intercept only the scale is changed.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mixable._types import Array, Truths
from mixable.learner.inputs import ScaledInputs
from mixable.learner.kernel_inputs import KernelInputs
from mixable.learner.shapes import ShapedInputs

State = dict[str, Array]

STATISTICS = {"count", "mean", "square", "sizes", "early", "held", "units"}
"""What the state of a scaler has: "held" where rows were seen by a scale that was held, "units"
where entries may have changed their unit. A merged model does not know of units before."""

NEAR, STILL_NEAR = 0.25, 0.5
"""Means that differ by this many deviations, or deviations by this factor, are the same to a
kernel's features, to bins and leaves, which no affine change can bring to other statistics. Models
that began with the same statistics may differ more: those of one pass do, too, as it goes on.
"""


def combine(
    onto: State | None, terms: list[State], base: State | None, inputs: Any
) -> tuple[State, list[Any]]:
    """The state of merged inputs, and the changes (rows) of each term's rows into theirs.

    `inputs` is any of them, for its kind.
    """
    merged, held = _statistics(onto, terms, base), _held(terms)
    merged.update({} if held is None else {"held": held})
    if isinstance(inputs, KernelInputs | ShapedInputs):
        check_near(merged, terms, is_begun=base is not None)
        return {**merged, **_same_maps(terms)}, [None] * len(terms)
    assert isinstance(inputs, ScaledInputs)
    intercept, standardize, _ = inputs._options
    if not standardize or held is not None:
        return merged, [None] * len(terms)
    is_new = _has_new_unit(terms if onto is None else [*terms, onto], base)
    return merged, [_change(term, merged, is_new, intercept=intercept) for term in terms]


def reordered(state: State, order: NDArray[np.int_]) -> State:
    """The statistics of features in another order."""
    names = ("count", "mean", "square", "held")
    by_column = {name: state[name][:, order] for name in names if name in state}
    by_row = [name for name in ("sizes", "early", "units") if name in state]
    return {**state, **by_column, **{name: state[name][order] for name in by_row}}


def tempered(state: State, weight: float) -> State:
    """Statistics that count `weight` times, for another model to begin with: it may yet adapt."""
    out = dict(state)
    for name in [name for name in state if name.split(".")[-1] == "count"]:
        prefix = name.removesuffix("count")
        count = np.ceil(weight * state[name])
        out[name] = count
        out[f"{prefix}square"] = state[f"{prefix}square"] * count / np.maximum(state[name], 1.0)
        out[f"{prefix}early"] = np.full_like(state[f"{prefix}early"], np.nan)
    return out


def _statistics(onto: State | None, terms: list[State], base: State | None) -> State:
    """Count, mean and squares of all, by Chan's formula: sums about a common point add."""
    weights = np.array([term["count"] for term in terms])
    means = np.array([term["mean"] for term in terms])
    total = np.maximum(weights.sum(axis=0), 1.0)
    point = means[0] + (weights * (means - means[0])).sum(axis=0) / total

    def sums(state: State | None) -> Array:
        if state is None:
            return np.zeros((3, *point.shape))
        count, far = state["count"], state["mean"] - point
        return np.array([count, count * far, state["square"] + count * far**2])

    added = sums(onto) + sum(sums(term) - sums(base) for term in terms)
    count = np.maximum(np.round(added[0]), 0.0)
    far = added[1] / np.maximum(count, 1.0)
    square = np.maximum(added[2] - count * far**2, 0.0)
    # Differences of equal numbers are 0, whatever rounding says.
    square[square <= 1e-14 * added[2]] = 0.0
    mean = np.where(count > 0, point + far, 0.0)
    none = np.zeros_like(terms[0]["sizes"])
    before, begun = (none if state is None else state["sizes"] for state in (onto, base))
    sizes = before + np.sum([term["sizes"] - begun for term in terms], axis=0)
    n, total, squares = sizes.T
    # After a change of unit they may be none that there can be.
    possible = (n > 0) & (np.abs(total) <= 1000 * n) & (squares >= 0) & (squares <= 1e6 * n)
    sizes = np.where(possible[:, None], sizes, 0.0)
    out = {"count": count, "mean": mean, "square": square, "sizes": sizes}
    known = terms if onto is None else [*terms, onto]
    for i in np.flatnonzero(_has_new_unit(known, base)):
        assert base is not None
        new = [each for each in known if each["count"][0, i] < base["count"][0, i]]
        longest = max(new, key=lambda each: float(each["count"][0, i]))
        for name in ("count", "mean", "square"):
            out[name][0, i] = longest[name][0, i]
        sizes[i] = longest["sizes"][i]
    return {**out, "early": _early(terms, count[0], is_new=onto is None and base is None)}


def _has_new_unit(terms: list[State], base: State | None) -> Truths:
    """Whether the statistics of a feature have begun anew in one of the models, since the base.

    Then the others know the feature in another unit: nothing can be added up. Rows are the same in
    each unit.
    """
    counts = np.array([term["count"][0] for term in terms])
    return np.asarray((counts < (0.0 if base is None else base["count"][0])).any(axis=0))


def _early(terms: list[State], count: Array, *, is_new: bool) -> Array:
    """The first entries of each feature, where they are still needed and all known."""
    out = np.full_like(terms[0]["early"], np.nan)
    for i, n in enumerate(count.astype(int)):
        entries = np.concatenate([term["early"][i][: int(term["count"][0, i])] for term in terms])
        if is_new and len(entries) == n < out.shape[1]:
            out[i, :n] = entries
    return out


def _held(terms: list[State]) -> Array | None:
    """The scale by which all have seen their rows (`settle`), if it is one, held no longer."""
    first = terms[0].get("held")
    if first is None or any(
        "held" not in term or not np.array_equal(term["held"][:2], first[:2]) for term in terms
    ):
        return None
    return np.vstack([first[:2], np.zeros_like(first[:1])])


def _deviations(state: State) -> Array:
    return np.asarray(np.sqrt(state["square"] / np.maximum(state["count"], 1.0))[0])


def _change(own: State, merged: State, is_new: Truths, *, intercept: bool) -> Array | None:
    """The matrix that makes rows scaled by `own` those scaled by `merged`; not if the unit is."""
    mine, theirs = _deviations(own), _deviations(merged)
    varies, met = theirs > 0, own["count"][0] > 0
    scale = np.where(varies, mine, 1.0) / np.where(varies, theirs, 1.0)
    shift = (own["mean"][0] - merged["mean"][0]) / np.where(varies, theirs, 1.0)
    scale, shift = np.where(met, scale, 0.0), np.where(met & varies, shift, 0.0)
    scale, shift = np.where(is_new, 1.0, scale), np.where(is_new, 0.0, shift)
    if (scale == 1).all() and (shift == 0).all():
        return None
    if not intercept:
        return np.diag(scale)
    out = np.diag(np.concatenate([[1.0], scale]))
    out[1:, 0] = shift
    return out


def check_near(merged: State, terms: list[State], *, is_begun: bool) -> None:
    """Refuse models whose statistics are too far from each other for features that are curved.

    Models that were settled have seen their rows by one scale, whatever their statistics are.
    """
    if "held" in merged:
        return
    near = STILL_NEAR if is_begun else NEAR
    for term in terms:
        mine, theirs = _deviations(term), _deviations(merged)
        met = term["count"][0] > 0
        far = met & (np.abs(term["mean"][0] - merged["mean"][0]) > near * theirs)
        wide = met & (np.abs(mine - theirs) > near * theirs)
        if (far | wide).any():
            column = int(np.flatnonzero(far | wide)[0])
            raise ValueError(
                "models with kernel features, bins or leaves (kernel='auto' has them) can be "
                f"merged only if they scale their inputs alike, and feature {column} has another "
                "mean or deviation: let them start from a common model (base) that has learned "
                "some rows of all kinds, or take kernel=None"
            )


def _same_maps(terms: list[State]) -> State:
    """The feature maps, which must be the same in all."""
    first = terms[0]
    maps = {k: v for k, v in first.items() if k not in STATISTICS}
    for name, values in maps.items():
        for term in terms[1:]:
            other = term[name]
            if other.shape != values.shape or not np.array_equal(other, values):
                raise ValueError(
                    "models whose kernel features have other directions (landmarks or frequencies) "
                    "cannot be merged: let them start from a common model (base), and call "
                    "mixable.merging.settle on each before it learns; or take kernel=None"
                )
    return maps
