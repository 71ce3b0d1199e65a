"""What the forecasters without knobs share: many posteriors, mixed by loss, most of them asleep.

Vovk, V. (1990). Aggregating strategies. COLT. Herbster, M. and Warmuth, M. (1998). Tracking the
best expert. Machine Learning 32.
Freund, Y., Schapire, R., Singer, Y. and Warmuth, M. (1997). Using and combining predictors that
specialize. STOC.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mixable import _core, _validate
from mixable._types import Array, Truths
from mixable.forecasters.base import Parameter
from mixable.forecasters.compiled import CompiledForecaster

SENTINEL_DRIFT = 0.01
"""A posterior with this drift never sleeps: it notices when a stream begins to change."""


SLOW = 0.01
"""Seconds; a mixture that needs more for a step says so."""

Compiled = _core.AutoGAF | _core.AutoRidge


class Ensemble(CompiledForecaster):
    """What AutoGAF and AutoRidge share: members that sleep, and the trust in experts."""

    views = Parameter["tuple[int, ...] | None"]()
    share = Parameter[float]()
    sleep = Parameter["bool | None"]()
    threads = Parameter["int | None"]()
    scale = Parameter["float | None"]()

    _core: Compiled
    # Settings that need no posterior, since a state in which they sleep is about to be restored.
    _asleep: frozenset[int] = frozenset()

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = state["state"]
        if "judge" not in known:  # version 0.1.0 kept one vector of weights, and one unit
            names = [name for name in known if name.endswith(".awake")]
            units = {name.replace("awake", "unit"): 1.0 for name in names}
            sizes = {"unit": 1.0, "sizes": 0, "sizes_kept": np.empty((1, 0))}
            new = {"judge": 0.5, "bayes": known["weight"], **sizes, **units}
            state = {**state, "state": {**known, **new}}
        members = range(sum(name.endswith(".awake") for name in known))
        self._asleep = frozenset(i for i in members if known[f"{i}.awake"] == 0)
        try:
            super().__setstate__(state)
        finally:
            del self._asleep

    def _saved_posteriors(
        self, parameters: dict[str, Any], state: dict[str, Any]
    ) -> dict[str, str]:
        awake = [name for name, value in state.items() if name.endswith(".awake") and value]
        members = [name.removesuffix("awake") for name in awake]
        return dict.fromkeys(members, "full")

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

    def _plans(self, grid: Sequence[tuple[float, ...]]) -> list[tuple[Any, ...]]:
        """Return each setting with its view, whether it is the sentinel, and whether it is awake.

        The sentinel's drift is the nearest to SENTINEL_DRIFT.
        """

        def distance(drift: float) -> float:
            return abs(math.log(drift / SENTINEL_DRIFT)) if drift > 0 else math.inf

        nearest = int(np.argmin([distance(drift) for *_, drift in grid]))
        views = self.views or (0,) * len(grid)
        return [
            (*setting, view, position == nearest and setting[-1] > 0, position not in self._asleep)
            for position, (setting, view) in enumerate(zip(grid, views, strict=True))
        ]

    @property
    def weights(self) -> Array:
        """The trust in each expert; all together 1. Those asleep keep the trust they had."""
        return np.asarray(self._core.weights()[0])

    @property
    def awake(self) -> Truths:
        """Which experts are awake."""
        return np.asarray(self._core.weights()[1] > 0)

    @property
    def trust(self) -> Array:
        """The trust in each expert among those awake: 0 for sleepers, all together 1."""
        trust = np.where(self.awake, self.weights, 0.0)
        return np.asarray(trust / trust.sum())

    @property
    def input_scale(self) -> float:
        """The mean square that inputs are measured by: `scale`, or the first input's."""
        return float(self._core.scale)

    def _head_of_report(self, loss: str) -> list[str]:
        """Return the first lines of a report: who leads, and who is awake."""
        awake, trust = self.awake, self.trust
        order, experts = np.argsort(-trust, kind="stable"), self.experts
        lines = [
            f"{type(self).__name__} after {self.steps} examples of {self.n_features} features: "
            f"{np.count_nonzero(awake)} of {len(awake)} experts are awake.",
            f"Inputs are measured by a mean square of {self.input_scale:.4g}. Trust is by {loss} "
            f"loss, with a share of {self.share:g}.",
            "trust  expert",
        ]
        return lines + [
            f"{trust[i]:5.1%}  {in_words(experts[i])}{self._view_in_words(i)}"
            for i in order[:5]
            if trust[i] > 0
        ]

    def _view_in_words(self, expert: int) -> str:
        """Say which view of the inputs an expert has: experts may differ in nothing else."""
        views = self.views or ()
        if len(set(views)) < 2:
            return ""
        settings = [each for each in self.experts if getattr(each, "kind", "GAF").endswith("GAF")]
        setting = expert // (len(settings) // len(views))
        # Class rates and guard come after all others.
        return f", view {views[setting]}" if setting < len(views) else ""


def in_words(expert: NamedTuple) -> str:
    """The settings of an expert, those that it has."""
    values = {name: value for name, value in expert._asdict().items() if value == value}
    words = [f"{name} {value:g}" for name, value in values.items() if isinstance(value, float)]
    return ", ".join([value for value in values.values() if isinstance(value, str)] + words)


def as_list(items: Iterable[Any], name: str) -> Iterable[Any]:
    """Refuse what is not a list of things."""
    if not isinstance(items, Iterable) or isinstance(items, str):
        raise TypeError(f"{name} must be a list, got {items!r:.80}")
    return items


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
    grid: Iterable[Sequence[float]], names: tuple[str, ...], *, name: str = "grid"
) -> tuple[tuple[float, ...], ...]:
    """Check the settings of the posteriors."""
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


def checked_options(
    *,
    views: Iterable[int] | None,
    share: float,
    sleep: bool | None,
    threads: int | None,
    scale: float | None,
) -> dict[str, object]:
    """Check the parameters that all ensembles have."""
    if views is not None:
        views = tuple(_validate.count(view, "views", least=0) for view in as_list(views, "views"))
    return {
        "views": views,
        "share": _validate.real(share, "share", least=0, most=0.5),
        "sleep": None if sleep is None else _validate.flag(sleep, "sleep"),
        "threads": None if threads is None else _validate.count(threads, "threads"),
        "scale": None if scale is None else _validate.scale(scale, "scale"),
    }
