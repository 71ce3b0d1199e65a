"""What weights in single precision have lost by rounding when they were merged.

Models may be merged in groups: what a merged model lost then counts when it is merged again. It is
kept until the model learns, and saved with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable._types import Array

State = dict[str, Any]
Lost = tuple[int, Array]  # the steps at which it was lost, and how much, shaped as the slots

NAME = "lost"
MOST = 2.0**-23  # of a number


def rounded(exact: Array) -> State:
    """Slots in single precision, and what they have lost, for a state."""
    slots = exact.astype(np.float32)
    return {"slots": slots, NAME: (exact - slots).astype(np.float32)}


def with_lost(state: State, lost: Lost | None) -> State:
    """The state with what was lost, unless it has learned since."""
    is_known = lost is not None and lost[0] == state["steps"]
    if lost is None or not is_known or lost[1].shape != state["slots"].shape:
        return state
    return {**state, NAME: lost[1]}


def taken(state: State) -> tuple[State, Lost | None]:
    """A state that was saved, without what it had lost, and that; ValueError if it is not sound."""
    rest = dict(state)
    if NAME not in rest:
        return rest, None
    lost, slots = np.array(rest.pop(NAME)), rest["slots"]
    if lost.dtype != np.float32 or lost.shape != slots.shape:
        raise ValueError(f"what the slots have lost must be float32 of shape {slots.shape}")
    if not (np.abs(lost) <= MOST * np.abs(slots) + np.finfo(np.float32).tiny).all():
        raise ValueError("the slots cannot have lost so much by rounding")
    return rest, (int(rest["steps"]), lost)


def exact_slots(state: State) -> Array:
    """The slots as they were before they were rounded, as far as that is known."""
    slots = np.asarray(state["slots"], dtype=np.float64)
    return slots + state[NAME] if NAME in state else slots
