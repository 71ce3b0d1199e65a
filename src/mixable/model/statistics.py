"""Combining inputs: the statistics of the features, and what they mean for rows.

A forecaster knows rows that were scaled by the statistics of its own model. Where these differ,
rows of one model are rows of another after an affine change, which is exact for linear inputs with
an intercept. (The second view of an input is logarithmic beyond one deviation; it is changed as if
it were linear. Without an intercept only the scale is changed.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mixable._types import Array, Truths
from mixable.model.inputs import Inputs, ScaledInputs
from mixable.model.kernel_inputs import KernelInputs
from mixable.model.shapes import ShapedInputs

State = dict[str, Array]

BY_COLUMN = ("count", "mean", "square", "held", "anchors")
BY_ROW = ("sizes", "early", "units", "heavy")
"""What the state of a scaler has: "held" where rows were seen by a scale that was held, "units"
where entries may have changed their unit, "heavy" where tails are, "anchors" where features are
distances from their first entry. A combined model does not know
of units before."""

NEAR, STILL_NEAR = 0.25, 0.5
"""Means that differ by this many deviations, or deviations by this factor, are the same to a
kernel's features, to bins and leaves, which no affine change can bring to other statistics. Models
that began with the same statistics may differ more: those of one pass do, too, as it goes on.
"""


def combine(
    start: State, terms: Sequence[State], base: State, inputs: Inputs
) -> tuple[State, list[Array | None]]:
    """The state of start + the sum of (term - base), and the change of each term's rows into its.

    `inputs` is any of them, for its kind.
    """
    same = [None] * len(terms)
    if not start:  # raw inputs
        return {}, [*same]
    merged = _statistics(start, terms, base) | _heavy(terms)
    held = _held(terms)
    if held is not None:
        merged["held"] = held
    if isinstance(inputs, KernelInputs | ShapedInputs):
        check_near(merged, terms, is_begun=bool(base["count"].any()))
        return {**merged, **_same_maps(terms)}, [*same]
    assert isinstance(inputs, ScaledInputs)
    intercept, standardize, *_ = inputs._options
    if inputs.anchored:
        merged["anchors"] = _anchors((start, *terms))
        is_new = np.zeros(inputs.n_features, dtype=bool)
        return merged, [_change(term, merged, is_new, intercept=intercept) for term in terms]
    if not standardize or held is not None:
        return merged, [*same]
    is_new = _has_new_unit((*terms, start), base)
    return merged, [_change(term, merged, is_new, intercept=intercept) for term in terms]


def reordered(state: State, places: Sequence[int]) -> State:
    """The statistics of features that go to other places."""
    if list(places) == list(range(len(places))):
        return state
    if not state.keys() <= {*BY_COLUMN, *BY_ROW}:
        raise ValueError(
            "models with kernel features, bins or leaves must have the same features in one order: "
            "let them start from a common model (base) that has met them all"
        )
    order = np.argsort(places)
    return {name: v[:, order] if name in BY_COLUMN else v[order] for name, v in state.items()}


def tempered(state: State, weight: float) -> State:
    """Statistics that count `weight` times, for another model to begin with: it may yet adapt."""
    if not state:  # raw inputs
        return state
    count, early = np.ceil(weight * state["count"]), np.full_like(state["early"], np.nan)
    square = state["square"] * count / np.maximum(state["count"], 1.0)
    return {**state, "count": count, "square": square, "early": early}


def _statistics(start: State, terms: Sequence[State], base: State) -> State:
    """Count, mean and squares of all, by Chan's formula: sums about a common point add."""
    weights, means = (np.array([term[name] for term in terms]) for name in ("count", "mean"))
    total = np.maximum(weights.sum(axis=0), 1.0)
    point = means[0] + (weights * (means - means[0])).sum(axis=0) / total

    def sums(state: State) -> Array:
        count, far = state["count"], state["mean"] - point
        return np.array([count, count * far, state["square"] + count * far**2])

    added = sums(start) + sum(sums(term) - sums(base) for term in terms)
    count = np.maximum(np.round(added[0]), 0.0)
    far = added[1] / np.maximum(count, 1.0)
    square = np.maximum(added[2] - count * far**2, 0.0)
    # Differences of equal numbers are 0, whatever rounding says.
    square[square <= 1e-14 * added[2]] = 0.0
    sizes = start["sizes"] + sum(term["sizes"] - base["sizes"] for term in terms)
    n, total, squares = sizes.T
    # After a change of unit they may be none that there can be.
    possible = (n > 0) & (np.abs(total) <= 1000 * n) & (squares >= 0) & (squares <= 1e6 * n)
    sizes = np.where(possible[:, None], sizes, 0.0)
    out = {"count": count, "mean": np.where(count > 0, point + far, 0.0), "square": square}
    known = (*terms, start)
    for i in np.flatnonzero(_has_new_unit(known, base)):
        new = [each for each in known if each["count"][0, i] < base["count"][0, i]]
        longest = max(new, key=lambda each: float(each["count"][0, i]))
        for name in out:
            out[name][0, i] = longest[name][0, i]
        sizes[i] = longest["sizes"][i]
    is_new = not (start["count"].any() or base["count"].any())
    return {**out, "sizes": sizes, "early": _early(terms, count[0], is_new=is_new)}


def _has_new_unit(states: Sequence[State], base: State) -> Truths:
    """Whether the statistics of a feature have begun anew in one of the models, since the base.

    Then the others know the feature in another unit: nothing can be added up. Rows are the same in
    each unit. A model that has learned nothing did not begin as the base.
    """
    counts = [state["count"][0] for state in states if state["count"].any()]
    return np.asarray((np.array(counts) < base["count"][0]).any(axis=0))


def _early(terms: Sequence[State], count: Array, *, is_new: bool) -> Array:
    """The first entries of each feature, where they are still needed and all known."""
    out = np.full_like(terms[0]["early"], np.nan)
    for i, n in enumerate(count.astype(int)):
        entries = np.concatenate([term["early"][i][: int(term["count"][0, i])] for term in terms])
        if is_new and len(entries) == n < out.shape[1]:
            out[i, :n] = entries
    return out


def _heavy(terms: Sequence[State]) -> State:
    """The scale of features with heavy tails: the mean of what the models take it for, if all do.

    What the others have learned of such a feature was learned in another scale.
    """
    if not all("heavy" in term for term in terms):
        return {}
    scales = np.array([term["heavy"] for term in terms])  # (terms, features, 4)
    low, weights = scales[..., 0].copy(), np.array([term["count"][0] for term in terms])
    share = (weights / np.maximum(weights.sum(axis=0), 1.0))[..., None]
    scales[..., 0] = np.log(np.where(low > 0, low, 1.0))
    out = np.where((scales == scales[0]).all(axis=0), scales[0], (share * scales).sum(axis=0))
    out[:, 0] = np.exp(out[:, 0])
    out[~(low > 0).all(axis=0)] = 0.0
    return {"heavy": out} if out.any() else {}


def _held(terms: Sequence[State]) -> Array | None:
    """The scale by which all have seen their rows (`freeze`), if it is one, held no longer."""
    held = [term["held"] for term in terms if "held" in term]
    if len(held) < len(terms) or any(not np.array_equal(h[:2], held[0][:2]) for h in held):
        return None
    return np.vstack([held[0][:2], np.zeros_like(held[0][:1])])


def _anchors(states: Sequence[State]) -> Array:
    """Those of the first model that has a unit for a feature, or has seen it."""
    out = np.zeros_like(states[0]["anchors"])
    for state in reversed(states):
        knows_more = (state["anchors"][1] > 0) | ((state["count"][0] > 0) & (out[1] == 0))
        out = np.where(knows_more, state["anchors"], out)
    return out


def _line(state: State) -> tuple[Array, Array]:
    """What is 0 and what is 1 above 0 in rows scaled by a state."""
    if "anchors" in state:
        return state["anchors"][0], state["anchors"][1]
    return state["mean"][0], _deviations(state)


def _deviations(state: State) -> Array:
    return np.asarray(np.sqrt(state["square"] / np.maximum(state["count"], 1.0))[0])


def _change(own: State, merged: State, is_new: Truths, *, intercept: bool) -> Array | None:
    """The matrix that makes rows scaled by `own` those scaled by `merged`; not if the unit is."""
    (centre, mine), (point, theirs) = _line(own), _line(merged)
    varies, met = theirs > 0, own["count"][0] > 0
    unit = np.where(varies, theirs, 1.0)
    scale = np.where(met, np.where(varies, mine, 1.0) / unit, 0.0)
    shift = np.where(met & varies, (centre - point) / unit, 0.0)
    scale, shift = np.where(is_new, 1.0, scale), np.where(is_new, 0.0, shift)
    if (scale == 1).all() and (shift == 0).all():
        return None
    if not intercept:
        return np.diag(scale)
    out = np.diag(np.concatenate([[1.0], scale]))
    out[1:, 0] = shift
    return out


def check_near(merged: State, terms: Sequence[State], *, is_begun: bool) -> None:
    """Refuse models whose statistics are too far from each other for features that are nonlinear.

    Models that were settled have seen their rows by one scale, whatever their statistics are.
    """
    near, theirs = STILL_NEAR if is_begun else NEAR, _deviations(merged)
    for term in [] if "held" in merged else terms:
        far = np.abs(term["mean"][0] - merged["mean"][0]) > near * theirs
        far |= np.abs(_deviations(term) - theirs) > near * theirs
        none = np.zeros((len(theirs), 1))
        far |= (merged.get("heavy", none)[:, 0] > 0) != (term.get("heavy", none)[:, 0] > 0)
        far &= term["count"][0] > 0
        if far.any():
            raise ValueError(
                "models with kernel features, bins or leaves (kernel='auto' has them) can be "
                f"merged only if they scale their inputs alike, and feature {far.argmax()} has "
                "another mean or deviation: let them start from a common model (base) that has "
                "learned some rows of all kinds, or take kernel=None"
            )


def _same_maps(terms: Sequence[State]) -> State:
    """The feature maps, which must be the same in all."""
    every = [
        {k: v for k, v in term.items() if k not in (*BY_COLUMN, *BY_ROW, "memory")}
        for term in terms
    ]
    maps = every[0]
    if not all(
        own.keys() == maps.keys() and all(np.array_equal(own[name], maps[name]) for name in maps)
        for own in every
    ):
        raise ValueError(
            "models whose kernel features have other directions (landmarks or frequencies) "
            "cannot be merged: let them start from a common model (base), and call "
            "mixable.merging.freeze on each before it learns; or take kernel=None"
        )
    return maps
