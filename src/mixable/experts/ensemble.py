"""What the forecasters without knobs share: many posteriors, mixed by loss, most of them inactive.

Vovk, V. (1990). Aggregating strategies. COLT. Herbster, M. and Warmuth, M. (1998). Tracking the
best expert. Machine Learning 32.
Freund, Y., Schapire, R., Singer, Y. and Warmuth, M. (1997). Using and combining predictors that
specialize. STOC.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mixable import _core, _renamed, _validate
from mixable._natural import Change, Gaussian, State, combine, combined_weights
from mixable._types import Array, Truths
from mixable.experts.base import Parameter
from mixable.experts.compiled import CompiledForecaster
from mixable.experts.structure import gaussian, saved

if TYPE_CHECKING:
    from typing_extensions import Self

DRIFT_EXPERT = 0.01
"""A posterior with this drift is always active: it notices when a stream begins to change."""


SLOW = 0.01
"""Seconds; a mixture that needs more for a step says so."""

SETTLED, LONGEST_PROBATION = 16, 2048  # as in core/mixture/unit.hpp and core/mixture/roster.hpp
MOST_MISSES, HITS = 1000.0, 16.0  # as in core/mixture/auto_rules.hpp

Compiled = _core.AutoGAF | _core.AutoRidge


@dataclass(frozen=True, kw_only=True)
class Members:
    """The posteriors of an ensemble: of its settings, then class frequencies and fallback."""

    state: State
    settings: Sequence[tuple[float, ...]]
    readouts: int  # experts of each setting
    kinds: Sequence[str]  # the structure of each member

    def own(self, i: int) -> State:
        """The state of a member."""
        prefix = f"{i}."
        return {k[len(prefix) :]: v for k, v in self.state.items() if k.startswith(prefix)}

    def is_active(self, i: int, unit: float | None = None) -> bool:
        """Whether a member has a posterior (in that unit)."""
        return bool(self.state[f"{i}.awake"]) and unit in (None, self.state[f"{i}.unit"])

    def weight(self, i: int) -> float:
        """The weight of all experts that read a member."""
        judge, n = self.state["judge"], len(self.settings)
        weights = judge * self.state["weight"][0] + (1 - judge) * self.state["bayes"][0]
        if i >= n:  # one expert each
            return float(weights[n * self.readouts + i - n])
        return float(weights[i * self.readouts : (i + 1) * self.readouts].sum())

    def leader(self, which: Callable[[int], bool]) -> int | None:
        """The member of most weight of some of those active."""
        among = [i for i in range(len(self.kinds)) if self.is_active(i) and which(i)]
        return max(among, key=self.weight, default=None)

    def setting(self, i: int) -> tuple[float, float]:
        """Lam and drift of a member, in its unit; the fallback's lam is in its state."""
        if i >= len(self.settings):
            return 0.0, 0.0
        unit = float(self.state[f"{i}.unit"])
        return self.settings[i][0] * unit, self.settings[i][-1] / unit

    def gaussian(self, i: int, unit: float | None = None) -> Gaussian | None:
        """What a member knows, or would know if it woke now; None if nobody can teach it.

        One that sleeps knows what the member of most weight of its kind does, with its own lam.
        """
        if self.is_active(i, unit):
            return gaussian(self.own(i), *self.setting(i))
        lam, drift = self.setting(i)
        other = self.leader(lambda j: self.kinds[j] == self.kinds[i] and self.is_active(j, unit))
        if other is None or not lam:
            return None
        return gaussian(self.own(other), *self.setting(other)).taught(lam, drift)


def as_list(items: Iterable[Any], name: str) -> Iterable[Any]:
    """Refuse what is not a list of things."""
    if not isinstance(items, Iterable) or isinstance(items, str):
        raise TypeError(f"{name} must be a list, got {items!r:.80}")
    return items


def _checked_views(views: Iterable[int], name: str) -> tuple[int, ...]:
    return tuple(_validate.count(view, name, least=0) for view in as_list(views, name))


class Ensemble(CompiledForecaster):
    """What AutoGAF and AutoRidge share: members that sleep, and the weight of experts."""

    views = Parameter(_validate.optional(_checked_views))
    share = Parameter(_validate.real, least=0, most=0.5)
    sleep = Parameter(_validate.optional(_validate.flag))
    threads = Parameter(_validate.optional(_validate.count))
    scale = Parameter(_validate.optional(_validate.scale))

    _core: Compiled
    _settings: tuple[tuple[float, ...], ...]  # of each posterior: lam first, drift last
    _kinds: tuple[str, ...]  # structures of the posteriors, then of class frequencies and fallback
    _readouts: int  # experts of each posterior
    # Settings that need no posterior, since a state in which they sleep is about to be restored.
    _inactive: frozenset[int] = frozenset()

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = state["state"]
        if "judge" not in known:  # version 0.1.0 kept one vector of weights, and one unit
            names = [name for name in known if name.endswith(".awake")]
            units = {name.replace("awake", "unit"): 1.0 for name in names}
            sizes = {"unit": 1.0, "sizes": 0, "sizes_kept": np.empty((1, 0))}
            new = {"judge": 0.5, "bayes": known["weight"], **sizes, **units}
            state = {**state, "state": {**known, **new}}
        members = range(sum(name.endswith(".awake") for name in known))
        self._inactive = frozenset(i for i in members if known[f"{i}.awake"] == 0)
        try:
            super().__setstate__(state)
        finally:
            del self._inactive

    def _saved_posteriors(
        self, parameters: dict[str, Any], state: dict[str, Any]
    ) -> dict[str, str]:
        active = [name for name, value in state.items() if name.endswith(".awake") and value]
        members = [name.removesuffix("awake") for name in active]
        return dict.fromkeys(members, "full")

    def _members(self, state: State | None = None) -> Members:
        known = self._core.state() if state is None else state
        own: dict[str, Any] = {"settings": self._settings, "readouts": self._readouts}
        return Members(state=known, kinds=self._kinds, **own)

    def _combine(
        self, others: Sequence[Self], base: Self | None, changes: Sequence[Change]
    ) -> Self:
        """Members one by one, weights of experts by their losses.

        A member that sleeps counts as knowing what it would if it woke. So all are active in what
        is combined, until the next review, and models may be combined in any groups.
        """
        terms = [other._members() for other in others]
        start, before = (
            (each if each is not None and each.steps else others[0]._fresh())._members()
            for each in (self, base)
        )
        if any(len(term.kinds) != len(start.kinds) for term in terms):
            raise ValueError(
                "a mixture of an earlier version cannot be merged with a new one: it has no expert "
                "for the class frequencies"
            )
        states = [term.state for term in terms]
        grown = [state["steps"] - before.state["steps"] for state in states]
        out: State = {"steps": start.state["steps"] + sum(grown), "doubts": 0}
        for name in ("next_trial", "muster"):
            out[name] = max(state[name] for state in states)
        out["active"] = np.max([state["active"] for state in states], axis=0)
        out.update(_unit(start.state, states, grown))
        out.update(combined_weights(start.state, states, before.state, grown, self.share))
        changes = [
            _with_scale(change, term, out["scale"])
            for change, term in zip(changes, terms, strict=True)
        ]
        for i in range(len(start.kinds)):
            member = _combined_member(i, start, terms, before, changes, grown)
            member["led"] = min(member["led"], out["steps"])
            member["until"] = min(member["until"], out["steps"] + LONGEST_PROBATION)
            out.update({f"{i}.{name}": value for name, value in member.items()})
        out["leader"] = others[0]._members(out).leader(lambda i: True)
        return others[0]._restored(out)

    @property
    def _n_experts(self) -> int:
        return len(self.experts)

    def _claim_memory(self, width: int) -> None:
        """Refuse more rows, experts of `width` numbers and settings than there is room for."""
        n = self._n_experts
        # The core's buffers have some 64 + 16 rows.
        numbers = 100.0 * self._row_length + 100.0 * n * width
        what = f"{type(self).__name__} with {self._n_views} views and {n} experts"
        _validate.claim(8 * numbers, what)

    def _say_if_slow(self) -> None:
        """Warn if a step will take more than 10 ms."""
        seconds = self._core.seconds
        if seconds > SLOW:
            what = f"{type(self).__name__} with {self._n_views} x {self.n_features} features"
            classes = self._parameters.get("n_classes")
            what += f" and {classes} classes" if classes else ""
            warnings.warn(
                f"a step of {what} will take about {1e3 * seconds:.0f} ms: use fewer features or a "
                'smaller grid, or structure="diagonal"; of the estimators, effort="low"',
                stacklevel=3,
            )

    @property
    def experts(self) -> Sequence[NamedTuple]:
        """The experts, in the order of `weights`."""
        raise NotImplementedError

    @property
    def _row_length(self) -> int:
        return self.n_features * self._n_views

    @property
    def _n_views(self) -> int:
        return 1 if self.views is None else max(self.views) + 1

    def _view(self, rows: Array, member: int) -> Array:
        """What a member sees of the rows of a table, in its unit."""
        view = self.views[member] if self.views and member < len(self.views) else 0
        own = rows[:, view * self.n_features : (view + 1) * self.n_features]
        return np.asarray(own / math.sqrt(self.input_scale or 1.0))

    def _plans(self, grid: Sequence[tuple[float, ...]]) -> list[tuple[Any, ...]]:
        """Return each setting with its view, whether it is the drift expert, and whether it is
        active.

        The drift expert's drift is the nearest to SENTINEL_DRIFT.
        """

        def distance(drift: float) -> float:
            return abs(math.log(drift / DRIFT_EXPERT)) if drift > 0 else math.inf

        nearest = int(np.argmin([distance(drift) for *_, drift in grid]))
        views = self.views or (0,) * len(grid)
        return [
            (
                *setting,
                view,
                position == nearest and setting[-1] > 0,
                position not in self._inactive,
            )
            for position, (setting, view) in enumerate(zip(grid, views, strict=True))
        ]

    @property
    def weights(self) -> Array:
        """The weight of each expert; all together 1. Those inactive keep the weight they had."""
        return np.asarray(self._core.weights()[0])

    @property
    def active(self) -> Truths:
        """Which experts are active."""
        return np.asarray(self._core.weights()[1] > 0)

    awake = _renamed.attribute("awake", "active")
    trust = _renamed.attribute("trust", "expert_weights")

    @property
    def expert_weights(self) -> Array:
        """The weight of each expert among those active; together 1."""
        shares = np.where(self.active, self.weights, 0.0)
        return np.asarray(shares / shares.sum())

    @property
    def input_scale(self) -> float:
        """The mean square that inputs are measured by: `scale`, or the first input's."""
        return float(self._core.scale)

    def _head_of_report(self, loss: str) -> list[str]:
        """Return the first lines of a report: who leads, and who is active."""
        active, shares = self.active, self.expert_weights
        order, experts = np.argsort(-shares, kind="stable"), self.experts
        lines = [
            f"{type(self).__name__} after {self.steps} examples of {self.n_features} features: "
            f"{np.count_nonzero(active)} of {len(active)} experts are active.",
            f"Inputs are measured by a mean square of {self.input_scale:.4g}. Weight is by {loss} "
            f"loss, with a share of {self.share:g}.",
            "weight  expert",
        ]
        return lines + [
            f"{shares[i]:5.1%}  {in_words(experts[i])}{self._view_in_words(i)}"
            for i in order[:5]
            if shares[i] > 0
        ]

    def _view_in_words(self, expert: int) -> str:
        """Say which view of the inputs an expert has: experts may differ in nothing else."""
        views = self.views or ()
        if len(set(views)) < 2:
            return ""
        settings = [each for each in self.experts if getattr(each, "kind", "GAF").endswith("GAF")]
        setting = expert // (len(settings) // len(views))
        # Class frequencies and fallback come after all others.
        return f", view {views[setting]}" if setting < len(views) else ""


def _unit(start: State, states: list[State], grown: list[int]) -> State:
    """The scale of inputs, and the unit as a multiple of it."""
    seen = [(n, each) for n, each in zip(grown, states, strict=True) if n > 0 and each["scale"] > 0]
    scale, unit = states[0]["scale"], states[0]["unit"]
    if start["steps"] and start["scale"] > 0:
        scale, unit = start["scale"], start["unit"]
    elif seen:
        scale = seen[0][1]["scale"]
        if len({each["scale"] for _, each in seen}) > 1:  # else it was given: to the bit
            logs = sum(n * math.log(each["scale"]) for n, each in seen)
            scale = math.exp(logs / sum(n for n, _ in seen))
        unit = max(seen, key=lambda pair: (pair[0], pair[1]["unit"]))[1]["unit"]
    inputs = SETTLED if any(each["inputs"] for each in states) else 0
    rows = {"kept": np.empty((0, states[0]["kept"].shape[1])), "sizes_kept": np.empty((1, 0))}
    return {"inputs": inputs, "scale": scale, "unit": unit, "sizes": 0, **rows}


def _with_scale(change: Change, term: Members, scale: float) -> Change:
    """The same change for rows that are divided by the root of a scale."""
    own, rows, constant = term.state["scale"], change.rows, change.constant
    if own > 0 and scale > 0 and own != scale:
        V = next(value for name, value in term.state.items() if name.endswith(".V"))
        rows = math.sqrt(own / scale) * (np.eye(V.shape[1]) if rows is None else rows)
    if constant is not None:
        constant = math.sqrt(scale) * constant
    return replace(change, rows=rows, constant=constant)


def _combined_member(
    i: int,
    start: Members,
    terms: list[Members],
    before: Members,
    changes: Sequence[Change],
    grown: list[int],
) -> State:
    """The state of one member of all."""
    own = [term.own(i) for term in terms]
    out: State = {name: max(each[name] for each in own) for name in ("until", "led", "gain")}
    if "memory0" in own[0]:
        out.update(_misses(own, grown))
    unit = max(terms, key=lambda term: (term.state["steps"], term.state[f"{i}.unit"])).state[
        f"{i}.unit"
    ]
    out["unit"] = unit
    if start.kinds[i] == "rates":
        begin, old = start.own(i), before.own(i)
        steps, counts = begin["steps"], begin["counts"]
        for each, change in zip(own, changes, strict=True):
            more = change.weight * (each["counts"] - old["counts"])
            counts = counts + (more if change.classes is None else more @ change.classes.T)
            steps += each["steps"] - old["steps"]
        return {**out, "awake": 1, "steps": steps, "counts": np.maximum(counts, 0.0)}
    pairs = zip((term.gaussian(i, unit) for term in terms), changes, strict=True)
    known = [(each, change) for each, change in pairs if each is not None]
    if not known:
        return {**out, "awake": 0}
    first, last = (m.gaussian(i, unit) if m.state["steps"] else None for m in (start, before))
    merged = combine(first, [each for each, _ in known], last, [change for _, change in known])
    return {**out, "awake": 1, **saved(merged)}


def _misses(own: list[State], grown: list[int]) -> State:
    """The size of the misses of a regression: their mean over steps, by logarithm."""
    missed = [(n, each) for n, each in zip(grown, own, strict=True) if each["memory0"] > 0]
    if not missed:  # all were hit so far, and are counted
        hits = sum(each["memory1"] for each in own)
        return {"memory0": 0.0, "memory1": min(hits, HITS), "memory2": 0.0}
    total = max(sum(n for n, _ in missed), 1)
    # The two sizes, of all misses and for tails that are not normal, are logarithms.
    sizes = {
        name: sum(n * each[name] for n, each in missed) / total for name in ("memory1", "memory2")
    }
    return {"memory0": min(sum(each["memory0"] for _, each in missed), MOST_MISSES), **sizes}


def in_words(expert: NamedTuple) -> str:
    """The settings of an expert, those that it has."""
    values = {name: value for name, value in expert._asdict().items() if value == value}
    words = [f"{name} {value:g}" for name, value in values.items() if isinstance(value, float)]
    return ", ".join([value for value in values.values() if isinstance(value, str)] + words)


def check_experts(
    grid: Sequence[object], views: Sequence[int] | None, *, readouts: Sequence[object], name: str
) -> None:
    """Refuse a mixture without read-outs, and views that do not go with the grid."""
    if not readouts:
        raise ValueError(f"{name} is empty")
    if views is not None and len(views) != len(grid):
        wanted = f"one entry for each of the {len(grid)} settings of the grid"
        raise ValueError(f"views must have {wanted}, got {len(views)}")


def checked_grid(
    grid: Iterable[Sequence[float]], name: str, names: tuple[str, ...]
) -> tuple[tuple[float, ...], ...]:
    """Check the settings of the posteriors, which have these names."""
    try:
        settings = tuple(tuple(setting) for setting in grid)
    except TypeError:
        raise TypeError(
            f"{name} must be a list of ({', '.join(names)}), got {grid!r:.80}"
        ) from None
    for position, setting in enumerate(settings):
        if len(setting) != len(names):
            raise ValueError(f"{name}[{position}] must be ({', '.join(names)}), got {setting!r}")
    if not settings:
        raise ValueError(f"{name} is empty")
    limits = {which: (0, 1e3) if which == "drift" else (1e-10, 1e10) for which in names}
    return tuple(
        tuple(
            _validate.real(value, f"{name}[{position}]: {which}", least=least, most=most)
            for (which, (least, most)), value in zip(limits.items(), setting, strict=True)
        )
        for position, setting in enumerate(settings)
    )
