"""The judge of a pool: two Gaussians over the weights of its experts, and the trust."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable.merging import gaussians, trust
from mixable.merging.gaussians import Change, Gaussian, State
from mixable.pool import DRIFT


def combine(
    onto: Any,
    terms: list[Any],
    base: Any,
    prior: Any,
    *,
    lam: float,
    share: float,
    weight: float = 1.0,
) -> State:
    """onto + the sum of (term - base), as a state; None stands for `prior`, a new judge.

    Experts rest in the merged model if they do in all, for as long as in the one that wakes them
    first. Steps that the first expert made alone are counted apart.
    """
    states = [term.state() for term in terms]
    new = prior.state()
    start, before = (new if each is None else each.state() for each in (onto, base))
    grown = [state["steps"] - before["steps"] for state in states]
    out: State = {"steps": start["steps"] + sum(grown)}
    out.update(trust.merged(start, states, before, grown, share))
    for i, drift in enumerate((0.0, DRIFT)):
        merged = gaussians.combine(
            _weights(start, i, lam, drift),
            [_weights(state, i, lam, drift) for state in states],
            _weights(before, i, lam, drift),
            [Change(weight=weight)] * len(states),
        )
        S = np.linalg.inv(merged.A[0])
        out.update({f"{i}.w": merged.mean, f"{i}.A": merged.A[0], f"{i}.S": 0.5 * (S + S.T)})
    for name in ("rest.gain", "rest.loss", "rest.alone"):
        out[name] = start[name] + sum(state[name] - before[name] for state in states)
    for name in ("rest.idle", "rest.left"):
        out[name] = min(state[name] for state in states)
    return out


def _weights(state: State, i: int, lam: float, drift: float) -> Gaussian:
    """What a judge knows of the weights of the experts."""
    w, A = state[f"{i}.w"], state[f"{i}.A"]
    common: dict[str, Any] = {"steps": state["steps"], "lam": lam, "drift": drift}
    return Gaussian(kind="blocks", A=A[None], mean=w, sizes=(1, len(A)), **common)
