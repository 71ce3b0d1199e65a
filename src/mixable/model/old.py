"""What files of version 0.2 hold for regressions: read, and turned into pools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mixable import _core, _validate
from mixable.experts import AutoRidge
from mixable.experts.pool import judge_state
from mixable.model.design import Design
from mixable.model.kernel_inputs import KernelPlan
from mixable.model.pool import RecordPool
from mixable.model.pooled import PooledDesign
from mixable.model.shapes import StageDesign

LOG_OF_NORMAL = 0.6352  # E -log |x| of a standard normal x


class Old:
    """The state of an object of version 0.2."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = state


class CurvedDesign(Old):
    """A linear design and one on kernel features."""


class CurvedRidge(Old):
    """A linear AutoRidge and one on kernel features, mixed by their log densities."""


class RecordRidgeDesign(Old):
    """The settings of regressions on sparse features; and what corrects them."""


class RecordRidge(Old):
    """Regressions on sparse features, and an AutoRidge or a CurvedRidge that corrects them."""


def pooled(design: Any, forecaster: Any, scaler: Any) -> dict[str, Any]:
    """Design, forecaster and statistics of a saved learner, as they are by now."""
    if isinstance(design, CurvedDesign) and isinstance(forecaster, CurvedRidge):
        known = forecaster.state
        new = _pooled_design(design.state, standardize=_linear(design.state).standardize)
        experts, odds, rest = _experts(forecaster)
        state = {
            "experts": experts,
            "inputs": [scaler, {**_maps(known), **scaler}],
            "n_features": known["n_features"],
            "stage": None,
        }
        return _as_blend(new, state, odds, rest, {})
    if isinstance(design, RecordRidgeDesign) and isinstance(forecaster, RecordRidge):
        known = forecaster.state
        stage = StageDesign(grid=design.state["grid"], shapes=design.state["shapes"])
        new = _pooled_design(design.state, standardize=True, stage=stage)
        experts, odds, rest = _experts(known["head"])
        first: Any = new.parts[0]
        inputs: list[Any] = [first.inputs(len(stage.grid) + 1, scaled=True).state()]
        if len(experts) > 1:
            inputs.append(known["head"].state["maps"])
        state = {
            "experts": experts,
            "inputs": inputs,
            "n_features": known["n_features"],
            "stage": {"inputs": known["inputs"], "sparse": known["sparse"]},
        }
        return _as_blend(new, state, odds, rest, scaler)
    if isinstance(design, Old) or isinstance(forecaster, Old):
        raise ValueError("the design and the forecaster of the saved learner do not go together")
    return {"design": design, "forecaster": forecaster, "scaler": scaler}


def _linear(state: dict[str, Any]) -> Design:
    linear = state["linear"]
    if type(linear) is not Design or linear.kind is not AutoRidge:
        raise TypeError(f"a design of regressions needs a linear one, got {linear!r:.80}")
    return linear


def _pooled_design(
    state: dict[str, Any], *, standardize: bool, stage: StageDesign | None = None
) -> PooledDesign:
    parts = [_linear(state), *([] if state["curved"] is None else [state["curved"]])]
    made = object.__new__(PooledDesign)
    made.__setstate__(
        {"parts": parts, "standardize": standardize, "stage": stage, "rests": state["rests"]}
    )
    return made


def _experts(forecaster: Any) -> tuple[list[Any], float, dict[str, Any]]:
    """The experts, the logarithm of the odds of the second, and who was inactive."""
    if not isinstance(forecaster, CurvedRidge):
        return [forecaster], 0.0, {}
    known = forecaster.state
    odds = _validate.real(known["odds"], "odds", least=-10, most=10)
    return [known["linear"], known["curved"]], odds, dict(known["usefulness"])


def _maps(known: dict[str, Any]) -> dict[str, Any]:
    """What was saved of kernel features, without the statistics of columns scaled already."""
    if not isinstance(known["plan"], KernelPlan):
        raise TypeError(f"kernel features need a plan, got {known['plan']!r:.80}")
    return {
        name: value
        for name, value in known["maps"].items()
        if name == "amplitude" or name.startswith("map")
    }


def _as_blend(
    design: PooledDesign, state: dict[str, Any], odds: float, rest: dict[str, Any], scaler: Any
) -> dict[str, Any]:
    experts = state["experts"]
    for each in experts:
        if type(each) is not AutoRidge:
            raise TypeError(f"an expert of numbers must be AutoRidge, got {each!r:.80}")
    if len(experts) != len(design.parts):
        raise ValueError("the experts of the saved learner are not those of its design")
    made = object.__new__(RecordPool)
    made.__setstate__({**state, "design": design, "state": _judge(design, experts, odds, rest)})
    return {"design": design, "forecaster": made, "scaler": scaler}


def _judge(
    design: PooledDesign, experts: list[Any], odds: float, rest: dict[str, Any]
) -> dict[str, Any]:
    """The state of a judge that goes on from odds, and from what the experts take for noise."""
    state = dict(_core.NumberJudge(len(experts), 1, design.least_gain).state())
    state["steps"] = experts[0].steps
    share, mean = 1 / (1 + math.exp(-odds)), 1e-3  # of the targets
    state["guard.weight"] = state["guard.bayes"] = np.array([[1 - mean, mean]])
    if len(experts) == 2:
        weights = np.array([[(1 - mean) * (1 - share), (1 - mean) * share, mean]])
        state["experts.weight"] = state["experts.bayes"] = weights
        left = _validate.count(rest["left"], "left", least=0)
        state = judge_state({**state, "rest.left": left, "rest.alone": 0}, 2)
    level, seen = np.zeros((2, 1, 2 * len(experts) + 2))
    for place, expert in enumerate(experts):
        row = np.zeros(expert._row_length)  # of inputs that are all at their mean
        if design.intercept:
            row[:: expert.n_features] = 1.0
        std = float(expert.std(row))
        if 1e-100 < std < 1e100:
            level[0, place] = math.log(std) - LOG_OF_NORMAL
            seen[0, place] = min(expert.steps, 100)
    best = int(np.argmin(np.where(seen[0, : len(experts)] > 0, level[0, : len(experts)], np.inf)))
    pools = slice(len(experts) + 1, None)  # before them is the mean of the targets, not known
    level[0, pools], seen[0, pools] = level[0, best], seen[0, best]
    state["level"], state["seen"] = level, seen
    return state
