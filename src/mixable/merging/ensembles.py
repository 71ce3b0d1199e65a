"""AutoGAF and AutoRidge: posteriors one by one, and the trust in experts by their losses.

A member that sleeps has forgotten. It counts as knowing what the most trusted member of its kind in
the same model knows, with its own lam, as when it wakes. So all are awake in what is merged, until
the next review, and models may be merged in any groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mixable.forecasters import AutoGAF, AutoRidge
from mixable.merging import gaussians, trust
from mixable.merging.gaussians import Change, Gaussian, State

SETTLED = 16  # inputs after which the scale stays; as in core/unit.hpp
MOST_MISSES = 1000  # and core/auto_rules.hpp
HITS = 16.0
LONGEST_PROBATION = 2048  # and core/roster.hpp


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """What an ensemble knows, and what it was made with."""

    state: State
    settings: tuple[tuple[float, ...], ...]
    readouts: int  # experts of each setting
    kinds: tuple[str, ...]  # the structure of each member
    share: float

    @classmethod
    def of(cls, model: AutoGAF | AutoRidge) -> Ensemble:
        """What a forecaster knows."""
        settings = model._settings
        kinds, readouts = ("full",) * len(settings), 0
        if isinstance(model, AutoGAF):
            guard = [model.guard_kind] if model.guard_kind else []
            rates = ["rates"] if model._choice.rates else []
            kinds, readouts = (*model.structures, *rates, *guard), len(model.alphas)
        else:
            readouts = len(model.noises) * len(model.tails)
        state = model._core.state()
        share = float(model.share)
        return cls(state=state, settings=settings, readouts=readouts, kinds=kinds, share=share)

    @property
    def members(self) -> range:
        """The settings and, after them, the class rates and the guard, if there are any."""
        return range(len(self.kinds))

    def setting(self, i: int) -> tuple[float, float]:
        """Lam and drift of a member, in its unit; the guard's lam is in its state."""
        if i >= len(self.settings):
            return 0.0, 0.0
        unit = float(self.state[f"{i}.unit"])
        return self.settings[i][0] * unit, self.settings[i][-1] / unit

    def is_awake(self, i: int, unit: float | None = None) -> bool:
        """Whether a member has a posterior (in that unit)."""
        awake = bool(self.state[f"{i}.awake"])
        return awake and unit in (None, self.state[f"{i}.unit"])

    def trust(self, i: int) -> float:
        """The weight of a member."""
        judge = self.state["judge"]
        weights = judge * self.state["weight"][0] + (1 - judge) * self.state["bayes"][0]
        n = len(self.settings)
        if i >= n:  # one expert each
            return float(weights[n * self.readouts + i - n])
        return float(weights[i * self.readouts : (i + 1) * self.readouts].sum())

    def own(self, i: int) -> Gaussian:
        """What a member that is awake knows."""
        prefix = f"{i}."
        own = {k[len(prefix) :]: v for k, v in self.state.items() if k.startswith(prefix)}
        return gaussians.read(own, *self.setting(i))

    def known(self, i: int, unit: float) -> Gaussian | None:
        """What a member knows, or would know if it woke now; None if nobody can teach it."""
        if self.is_awake(i, unit):
            return self.own(i)
        lam, drift = self.setting(i)
        others = [j for j in self.members if self.is_awake(j, unit) and self.are_alike(i, j)]
        if not others or not lam:
            return None
        other = self.own(max(others, key=self.trust))
        return other.taught(lam, drift, known=other.lam if other.drift == 0 else 0.0)

    def are_alike(self, i: int, j: int) -> bool:
        """Whether two members have the same structure: one may start from the other."""
        return i != j and self.kinds[i] == self.kinds[j]


def combine(
    onto: Ensemble | None, terms: list[Ensemble], base: Ensemble | None, changes: list[Change]
) -> State:
    """onto + the sum of (term - base), as a state; None stands for one without any example."""
    if any(len(term.kinds) != len(terms[0].kinds) for term in terms):
        raise ValueError(
            "a mixture of an earlier version cannot be merged with a new one: it has no expert "
            "for the class rates"
        )
    every = [term.state for term in terms]
    before = base.state if base else None
    start = onto.state if onto else None
    grown = [state["steps"] - (before["steps"] if before else 0) for state in every]
    out: State = {"steps": sum(grown) + (start["steps"] if start else 0)}
    out.update(_unit(start, every, grown))
    out.update(_trust(start, every, before, grown, terms[0].share))
    changes = [
        _with_scale(change, state["scale"], out["scale"], terms[0])
        for change, state in zip(changes, every, strict=True)
    ]
    for i in terms[0].members:
        out.update(_member(i, onto, terms, base, changes, grown))
        out[f"{i}.led"] = min(out[f"{i}.led"], out["steps"])
        out[f"{i}.until"] = min(out[f"{i}.until"], out["steps"] + LONGEST_PROBATION)
    out["leader"] = _leader(out, terms[0])
    return out


def _unit(start: State | None, every: list[State], grown: list[int]) -> State:
    """The scale, and the unit as a multiple of it."""
    seen = [(n, each) for n, each in zip(grown, every, strict=True) if n > 0 and each["scale"] > 0]
    if start is not None and start["scale"] > 0:
        scale, unit = start["scale"], start["unit"]
    elif seen:
        logs = sum(n * math.log(each["scale"]) for n, each in seen) / sum(n for n, _ in seen)
        scale = math.exp(logs)
        if len({each["scale"] for _, each in seen}) == 1:  # given: to the bit
            scale = seen[0][1]["scale"]
        unit = max(seen, key=lambda pair: (pair[0], pair[1]["unit"]))[1]["unit"]
    else:
        scale, unit = every[0]["scale"], every[0]["unit"]
    counts = SETTLED if any(each["inputs"] for each in every) else 0
    row = every[0]["kept"].shape[1]
    out = {"inputs": counts, "scale": scale, "unit": unit, "sizes": 0}
    return {**out, "kept": np.empty((0, row)), "sizes_kept": np.empty((1, 0))}


def _with_scale(change: Change, own: float, merged: float, like: Ensemble) -> Change:
    """The same change for rows that are divided by the root of a scale."""
    factor = math.sqrt(own / merged) if own > 0 and merged > 0 else 1.0
    constant = change.constant
    if constant is not None:
        constant = math.sqrt(merged) * constant
    rows = change.rows
    if factor != 1.0:
        member = next(i for i in like.members if like.is_awake(i) and like.kinds[i] != "rates")
        rows = factor * (np.eye(like.own(member).sizes[1]) if rows is None else rows)
    return replace(change, rows=rows, constant=constant)


def _trust(
    start: State | None, every: list[State], before: State | None, grown: list[int], share: float
) -> State:
    """Weights by the losses of all."""
    out: State = {"doubts": 0}
    for name in ("next_trial", "muster"):
        out[name] = max(each[name] for each in every)
    out.update(trust.merged(start, every, before, grown, share))
    out["active"] = np.max([each["active"] for each in every], axis=0)
    return out


def _member(
    i: int,
    onto: Ensemble | None,
    terms: list[Ensemble],
    base: Ensemble | None,
    changes: list[Change],
    grown: list[int],
) -> State:
    """One member of all."""
    states = [term.state for term in terms]
    out: State = {}
    for name in ("until", "led", "gain"):
        out[f"{i}.{name}"] = max(state[f"{i}.{name}"] for state in states)
    out.update(_memory(i, states, grown))
    largest = max(states, key=lambda state: (state["steps"], state[f"{i}.unit"]))
    unit = out[f"{i}.unit"] = largest[f"{i}.unit"]
    if terms[0].kinds[i] == "rates":
        return {**out, **_counts(i, onto, terms, base, changes)}
    pairs = zip((term.known(i, unit) for term in terms), changes, strict=True)
    known = [(own, change) for own, change in pairs if own is not None]
    out[f"{i}.awake"] = 1 if known else 0
    if known:
        each, moves = [own for own, _ in known], [change for _, change in known]
        start, before = (model.known(i, unit) if model else None for model in (onto, base))
        merged = gaussians.write(gaussians.combine(start, each, before, moves))
        out.update({f"{i}.{name}": value for name, value in merged.items()})
    return out


def _counts(
    i: int,
    onto: Ensemble | None,
    terms: list[Ensemble],
    base: Ensemble | None,
    changes: list[Change],
) -> State:
    """How often each class has come, and the steps: sums."""
    names = f"{i}.steps", f"{i}.counts"
    steps, counts = [onto.state[name] for name in names] if onto else (0, 0.0)
    before = [base.state[name] for name in names] if base else (0, 0.0)
    for term, change in zip(terms, changes, strict=True):
        more = change.weight * (term.state[names[1]] - before[1])
        counts = counts + (more if change.classes is None else more @ change.classes.T)
        steps += term.state[names[0]] - before[0]
    return {f"{i}.awake": 1, names[0]: steps, names[1]: np.maximum(counts, 0.0)}


def _memory(i: int, states: list[State], grown: list[int]) -> State:
    """The size of the misses of a regression: their mean over steps, by logarithm."""
    if f"{i}.memory0" not in states[0]:
        return {}
    pairs = list(zip(grown, states, strict=True))
    missed = [(n, state) for n, state in pairs if state[f"{i}.memory0"] > 0]
    if not missed:  # all were hit so far, and are counted
        hits = sum(state[f"{i}.memory1"] for state in states)
        return {f"{i}.memory0": 0.0, f"{i}.memory1": min(hits, HITS), f"{i}.memory2": 0.0}
    count = min(sum(state[f"{i}.memory0"] for _, state in missed), float(MOST_MISSES))
    total = max(sum(n for n, _ in missed), 1)
    # The two sizes, of all misses and for tails that are not normal, are logarithms.
    sizes = {
        name: sum(n * state[name] for n, state in missed) / total
        for name in (f"{i}.memory1", f"{i}.memory2")
    }
    return {f"{i}.memory0": count, **sizes}


def _leader(state: State, like: Ensemble) -> int:
    """The most trusted member of those awake."""
    merged = replace(like, state=state)
    return max((i for i in merged.members if merged.is_awake(i)), key=merged.trust)
