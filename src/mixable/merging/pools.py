"""Forecasters of several kinds: the pool that GAFClassifier is, and the curved ridge regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixable.learner.blend import LAM, SHARE, Blend
from mixable.learner.curved_ridge import CurvedRidge
from mixable.merging import fallback, inputs, judges, parts
from mixable.merging.parts import Coordinates, Part


def blends(
    onto: Blend | None, terms: list[Blend], base: Blend | None, where: list[Coordinates]
) -> Blend:
    """Experts one by one, each by its own kind, and their judge."""
    first = terms[0]
    merged = [
        parts.combine(
            _expert(onto, i), [_sure(_expert(term, i)) for term in terms], _expert(base, i), where
        )
        for i in range(len(first.experts))
    ]
    cores = [None if model is None else model._core for model in (onto, base)]
    prior, own = first._new_core(), [term._core for term in terms]
    options = {"lam": LAM, "share": SHARE, "weight": where[0].weight}
    judge = judges.combine(cores[0], own, cores[1], prior, **options)
    made = object.__new__(Blend)
    known: dict[str, Any] = {
        "inputs": [each for each, _ in merged],
        "experts": [each for _, each in merged],
    }
    known["fallback"] = fallback.combine(onto, terms, base, where)
    made.__setstate__({**first.__getstate__(), **known, "state": judge, "recent": None})
    return made


def _expert(blend: Blend | None, i: int) -> Part | None:
    return None if blend is None else Part(blend.inputs[i], blend.experts[i])


def _sure(part: Part | None) -> Part:
    assert part is not None
    return part


def curved_ridges(
    onto: Part | None, terms: list[Part], base: Part | None, where: list[Coordinates]
) -> tuple[Any, CurvedRidge]:
    """Merge the linear forecaster with the inputs, the curved one with its kernel features."""

    def linear(part: Part) -> Part:
        return Part(part.inputs, part.forecaster.linear)

    def curved(part: Part) -> Part:
        return Part(part.forecaster.inputs, part.forecaster.curved)

    halves = [
        parts.combine(
            None if onto is None else half(onto),
            [half(term) for term in terms],
            None if base is None else half(base),
            where,
        )
        for half in (linear, curved)
    ]
    (statistics, straight), (maps, bent) = halves
    own = [term.inputs.state() for term in terms]
    inputs.check_near(statistics, own, is_begun=base is not None)
    least = 0 if base is None else curved(base).steps
    grown = [curved(term).steps - least for term in terms]
    all_of = [term.forecaster for term in terms]
    known = {
        "linear": straight,
        "curved": bent,
        "maps": maps,
        # The share lets odds forget, so they are no sum of losses.
        "odds": float(np.average([each.odds for each in all_of], weights=grown))
        if any(grown)
        else all_of[0].odds,
        "usefulness": {
            "gain": _added("gain", onto, terms, base),
            "idle": min(each.usefulness.idle for each in all_of),
            "left": min(each.usefulness.left for each in all_of),
        },
    }
    made = object.__new__(CurvedRidge)
    made.__setstate__({**all_of[0].__getstate__(), **known})
    return statistics, made


def _added(name: str, onto: Part | None, terms: list[Part], base: Part | None) -> float:
    def of(part: Part | None) -> float:
        return 0.0 if part is None else float(getattr(part.forecaster.usefulness, name))

    return of(onto) + sum(of(term) - of(base) for term in terms)
