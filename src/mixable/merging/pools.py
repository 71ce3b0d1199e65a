"""Forecasters of several kinds: the pool that GAFClassifier is, and the curved ridge regression."""

from __future__ import annotations

from typing import Any

from mixable.learner.blend import LAM, SHARE, Blend
from mixable.merging import fallback, judges, parts
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
    made.__setstate__({**first.__getstate__(), **known, "state": judge})
    return made


def _expert(blend: Blend | None, i: int) -> Part | None:
    return None if blend is None else Part(blend.inputs[i], blend.experts[i])


def _sure(part: Part | None) -> Part:
    assert part is not None
    return part
