"""Combining columns that are made of categories: models have them in different orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mixable import _core
from mixable.experts.combined import before_growth
from mixable.model.inputs import Inputs
from mixable.model.made import FREQUENCIES, INDICATORS, MadeColumns, frequencies, indicators, seen
from mixable.model.pool import RecordPool

MOST = int(_core.MOST_INDICATORS)


class Known(NamedTuple):
    """A pool, and where its numbers, classes and columns of categories are in the combined one."""

    blend: RecordPool
    numbers: Sequence[int]
    classes: Sequence[int]
    categories: Sequence[int]


class United:
    """The columns of all pools together: those of the base first, then those of others."""

    def __init__(self, base: Known, start: Known, terms: Sequence[Known]) -> None:
        self.known = [base, start, *terms]
        cores = [_made(each).core for each in self.known]
        keys = [key for core in cores for key in core.indicators().tolist()]
        self.indicators = {key: at for at, key in enumerate(dict.fromkeys(keys))}
        rooms = [_made(each).room for each in self.known]
        self.room = max(len(self.indicators), *rooms)
        if self.room > MOST:
            raise ValueError(
                f"models have indicators of {self.room} values of categories, more than "
                f"{MOST}: let them start from a common model (base), and call "
                "mixable.merging.freeze on each before it learns"
            )
        self.picks = [self._picks(i) for i in range(len(base.blend.experts))]

    def _picks(self, i: int) -> list[int] | None:
        """What an expert of the combined pool sees."""
        base = self.known[0]
        if _made(base).picks[i] is None:
            return None
        kind = seen(base.blend.design.parts[i])
        n_features, K = base.blend.n_features, base.blend.n_classes or 0
        made = {INDICATORS: indicators(0, self.room), FREQUENCIES: frequencies(0, K)}[kind]
        own = _made(base).picks[i] or []  # its indicators are the first of all
        return list(dict.fromkeys([*own, *range(n_features), *made]))

    def _moved(self, known: Known, i: int) -> list[int | None]:
        """What an expert of one pool sees, in the combined one; None for what is not given yet."""
        own = _made(known)
        first, keys = MOST, own.core.indicators().tolist()
        out: list[int | None] = []
        for place in own.picks[i] or []:
            column = -1 - place
            if place >= 0:
                out.append(known.numbers[place])
            elif column >= first:
                out += frequencies(known.classes[column - first], known.classes[column - first] + 1)
            elif column < len(keys):
                at = self.indicators[keys[column]]
                out += indicators(at, at + 1)
            else:
                out.append(None)
        return out

    def expert(self, known: Known, i: int) -> tuple[Inputs, Any, list[int] | None]:
        """An expert with room for the columns of all: inputs, forecaster, and places of columns.

        Places are None for one that sees numbers alone.
        """
        blend, target = known.blend, self.picks[i]
        inputs, expert = blend.inputs[i], blend.experts[i]
        if target is None:
            return inputs, expert, None
        same = list(range(len(target)))
        if not expert.steps:  # in any order, then
            part = blend.design.parts[i]
            return part.inputs(len(target)), part.forecaster(len(target), blend.n_classes), same
        moved = self._moved(known, i)
        rest = [place for place in target if place not in moved]
        more = len(rest) - moved.count(None)
        order = [rest.pop(0) if place is None else place for place in moved] + rest
        places = [target.index(place) for place in order]
        if known in self.known[:2] and places != same:
            raise ValueError("what models are added to must have begun with their base")
        if more:
            expert = before_growth(expert)
            expert.add_features(more)
            inputs = inputs.with_features(len(target))
        return inputs, expert, places

    def state(self, weight: float) -> dict[str, Any]:
        """What all know of values: start + `weight` times the sum of (term - base)."""
        base, start, *terms = self.known
        signed = [(start, 1.0), *((term, weight) for term in terms)]
        if _made(base).core.values:
            signed.append((base, -weight * len(terms)))
        states: list[dict[str, Any]] = [_made(each).core.state() for each, _ in signed]
        keys, at = np.unique(np.concatenate([own["keys"] for own in states]), return_inverse=True)
        slots = np.zeros((len(keys), states[0]["slots"].shape[1]))
        totals, begin = np.zeros(len(states[0]["totals"])), 0
        columns = max((1 + max(each.categories, default=-1) for each, _ in signed), default=0)
        values = np.zeros(columns)
        for (each, sign), own in zip(signed, states, strict=True):
            rows = at[begin : begin + len(own["keys"])]
            begin += len(rows)
            slots[rows, 0] += sign * own["slots"][:, 0]
            for code, place in enumerate(each.classes):
                slots[rows, 2 + place] += sign * own["slots"][:, 2 + code]
                totals[place] += sign * own["totals"][code]
            known = list(each.categories)[: len(own["values"])]
            values[known] = np.maximum(values[known], own["values"])
        slots[:, 0] = np.maximum(np.round(slots[:, 0]), 1.0)
        slots, totals = np.maximum(slots, 0.0), np.maximum(totals, 0.0)
        for row, key in enumerate(keys.tolist()):
            slots[row, 1] = 1.0 + self.indicators.get(key, -1)
        most = int(_made(base).core.most_known)
        order = np.argsort(-slots[:, 0] - 1e9 * (slots[:, 1] > 0), kind="stable")[:most]
        core = {
            "keys": keys[order],
            "slots": slots[order].astype(np.float32),
            "totals": totals,
            "values": values,
        }
        return {"core": core, "room": self.room, "picks": self.picks}


def _made(known: Known) -> MadeColumns:
    made = known.blend.made
    assert made is not None
    return made
