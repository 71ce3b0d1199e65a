"""The files of tests/fuzz_files.py: a saved model in which a few things were changed, with a
checksum that fits.

A case must be cheap, since there are many. So the original is read once, and a change copies
only what holds it.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from fuzz_models import saved
from safetensors.numpy import load as load_tensors

from mixable import persistence

Rng = np.random.Generator
Place = tuple[Any, ...]

NUMBERS: list[int | float] = [-1, 0, 1, 2, 3, 7, 64, 2**31, 2**53, 2**63 - 1]
NUMBERS += [math.nan, math.inf, -math.inf, 0.5, -0.0, 1e-320, 1e-150, 1e15, 1e150, 1e308, -1e308]
OTHERS: list[Any] = [None, True, False, "", "a", "x" * 10_000, [], {}, [1], -(2**63)]
OTHERS += [{"dict": []}, {"tuple": []}, {"int": hex(10**30)}]
OTHERS += [
    {"scalar": 3_000_000_000, "dtype": "S1"},
    {"scalar": 1.0, "dtype": "<f8"},
    {"scalar": "a", "dtype": "<U9"},
    {"tensor": "none"},
]
OTHERS += [{"object": name, "state": {"dict": []}} for name in persistence.HOMES] + [
    {"class": name} for name in persistence.HOMES
]


@cache
def original(kind: str) -> tuple[dict[str, str], dict[str, Any], Any, list[Place]]:
    """Metadata, tensors and description of a model of this kind, and the places of the latter."""
    data = saved(kind)
    size = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    model = json.loads(metadata["model"])
    return metadata, load_tensors(data), model, places(model)


def places(value: Any, at: Place = ()) -> list[Place]:
    """Where the parts of a description are, all of them."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    here = [at] if at else []
    return here + [place for key, item in inner for place in places(item, (*at, key))]


def part(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def somewhere(model: Any, everywhere: list[Place], rng: Rng) -> Place:
    """A place that is still there after other changes."""
    while True:
        place = everywhere[rng.integers(len(everywhere))]
        try:
            part(model, place)
        except (LookupError, TypeError):
            continue
        return place


def changed(value: Any, place: Place, change: Callable[[Any, Any], None]) -> Any:
    """A description after `change(what holds the place, its key)`; the rest is not copied."""
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    if len(place) == 1:
        change(copy, place[0])
    else:
        copy[place[0]] = changed(value[place[0]], place[1:], change)
    return copy


def number(rng: Rng) -> Any:
    value = NUMBERS[rng.integers(len(NUMBERS))]
    return (
        {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value
    )


def change_description(model: Any, everywhere: list[Place], rng: Rng) -> Any:
    """A description with one change in it."""

    def change(holder: Any, key: Any) -> None:
        how = rng.integers(10)
        if how < 4:
            holder[key] = number(rng)
        elif how < 6:
            holder[key] = OTHERS[rng.integers(len(OTHERS))]
        elif how == 6:
            holder[key] = part(model, somewhere(model, everywhere, rng))
        elif how == 7:
            del holder[key]
        elif how == 8 and isinstance(holder, list):
            holder.extend(int(rng.integers(1, 50)) * [holder[key]])
        elif isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
            holder[key] = type(holder[key])(holder[key] * rng.choice([-1, 2, 0.5, 1e3, 1e-3]))
        else:
            holder[key] = [holder[key]]

    return changed(model, somewhere(model, everywhere, rng), change)


def change_tensor(tensors: dict[str, Any], rng: Rng) -> None:
    """Put another array in the place of one."""
    names = sorted(tensors)
    if not names:
        return
    name = names[rng.integers(len(names))]
    values = tensors[name]
    how = rng.integers(12)
    if how < 6 and values.size:
        positions = rng.integers(values.size, size=1 if how < 4 else values.size)
        values = values.copy()
        values.flat[positions] = np.asarray(
            NUMBERS[rng.integers(len(NUMBERS))], dtype=np.float64
        ).astype(values.dtype)
    elif how == 6:
        values = values * np.asarray(rng.choice([-1, 2, 0.5, 1e-8, 1e8, 1e150])).astype(
            values.dtype
        )
    elif how == 7:
        values = values.T
    elif how == 8:
        values = np.concatenate([values, values]) if values.ndim else np.tile(values, 3)
    elif how == 9:
        values = values[:-1] if values.ndim else values[None]
    elif how == 10:
        values = values.astype(rng.choice(["<f4", "<i8", "|u1", "|b1", "<f8"]))
    else:
        values = tensors[names[rng.integers(len(names))]]
    tensors[name] = np.asarray(values, order="C")


def forged(kind: str, seed: int, case: int) -> tuple[dict[str, str], dict[str, Any]]:
    """The contents of the file of a case: metadata without a checksum, and tensors."""
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode()), case])
    metadata, tensors, model, everywhere = original(kind)
    tensors = dict(tensors)
    with np.errstate(all="ignore"):
        for _ in range(int(rng.integers(1, 4))):
            if rng.random() < 0.5:
                model = change_description(model, everywhere, rng)
                if "state" not in model:  # nothing is left of it that could be changed
                    break
            else:
                change_tensor(tensors, rng)
    return {**metadata, "model": json.dumps(model)}, tensors


def loaded(metadata: dict[str, str], tensors: dict[str, Any], *, whole: bool) -> Any:
    """The model that such contents describe: by way of a file with a checksum that fits, or,
    in half the time, what `load` does with the contents of one.
    """
    if whole:
        metadata = {**metadata, "checksum": persistence._checksum(metadata, tensors)}
        return persistence.from_bytes(persistence._written(tensors, metadata))
    size = len(metadata["model"]) + sum(values.nbytes for values in tensors.values())
    frozen = {name: values.view() for name, values in tensors.items()}
    for values in frozen.values():
        values.flags.writeable = False  # as those of a file are
    return persistence._described(metadata, frozen, size, "the data")
