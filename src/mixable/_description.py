"""A model as JSON and tensors, and back: what stands in the files of `persistence`."""

from __future__ import annotations

import math
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from mixable import _validate
from mixable.experts.table import FORECASTERS

LEARNER_PARTS = (
    "Learner",
    "Design",
    "PooledDesign",
    "ShapeDesign",
    "TreeDesign",
    "BayesDesign",
    "RecentDesign",
    "KernelPlan",
    "StageDesign",
    "RecordPool",
)
OLD_PARTS = ("CurvedDesign", "CurvedRidge", "RecordRidge", "RecordRidgeDesign")  # of version 0.2

INTEGRALS = ["Sobol", "MonteCarlo", "Ladder", "Quadrature", "Pairwise", "Certified", "Envelope"]
LOSSES = ["Squared", "Logistic", "Huber"]

# Where the classes are that a file may contain. Nothing else is ever made from one.
HOMES = {entry.name: entry.home for entry in FORECASTERS} | {
    name: home
    for home, names in {
        "mixable.bandits": ["Agent"],
        "mixable.bandits.contexts": ["Contexts"],
        "mixable.bandits.values": ["Values"],
        "mixable.estimators": ["GAFClassifier", "GAFRegressor"],
        "mixable.events": ["EventModel"],
        "mixable.events.decisions": ["Decisions"],
        "mixable.experts": ["NaiveBayes", "RecentLabels"],
        "mixable.kernels": ["Auto", "RBF"],
        "mixable.metrics": ["Scores", "NumberScores"],
        "mixable.model": LEARNER_PARTS,
        "mixable.model.old": OLD_PARTS,
        "mixable.paper.integrals": INTEGRALS,
        "mixable.paper.losses": LOSSES,
        "mixable.records": ["Columns", "Encoder"],
        "mixable.river": ["river.GAFClassifier", "river.GAFRegressor"],
    }.items()
    for name in names
}

# What earlier versions called a class.
OLD_NAMES = {
    "Blend": "RecordPool",
    "Engine": "Learner",
    "ServedModel": "EventModel",
    "StreamModel": "EventModel",
}

# What is only ever part of a model.
PARTS = {*LEARNER_PARTS, *OLD_PARTS, *INTEGRALS, *LOSSES, "NaiveBayes", "RecentLabels"}
PARTS |= {"Auto", "RBF", "Columns", "Contexts", "Values"}


def class_name(value: Any) -> str | None:
    """The name of a class in HOMES; None if it is not there."""
    return _name_of(value if isinstance(value, type) else type(value))


@cache
def _name_of(kind: type) -> str | None:
    for name in (kind.__name__, f"river.{kind.__name__}"):
        home = HOMES.get(name)
        is_ours = home is not None and kind.__module__.partition(".")[0] == "mixable"
        if is_ours and (home == "mixable.river") == (kind.__module__ == "mixable.river"):
            return name
    return None


def encode(value: Any, tensors: dict[str, Any], path: str) -> Any:
    """JSON for a value; what JSON cannot write is an object whose first key says what it is."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if type(value) is float and math.isfinite(value):  # as most values are
        return value
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        return {"scalar": encode(value.item(), tensors, path), "dtype": value.dtype.str}
    if isinstance(value, int):
        return value if abs(value) < 2**53 else {"int": hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (list, tuple)):
        items = [
            item if type(item) is str else encode(item, tensors, f"{path}.{i}")
            for i, item in enumerate(value)
        ]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        pairs = []
        for i, (k, v) in enumerate(value.items()):
            inner = f"{path}.{k if isinstance(k, str) else i}"
            pairs.append([encode(k, tensors, path), encode(v, tensors, inner)])
        return {"dict": pairs}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fiub" and value.dtype.isnative and value.dtype.itemsize <= 8:
            while path in tensors:  # dictionaries may have keys that are not strings
                path += "~"
            tensors[path] = np.asarray(value, order="C")
            return {"tensor": path}
        if value.dtype.kind in "UO":
            return {"array": encode(value.tolist(), tensors, path), "dtype": value.dtype.str}
    name = class_name(value)
    if name is None:
        raise TypeError(f"{path} is a {type(value).__name__}, which cannot be saved")
    if isinstance(value, type):
        return {"class": name}
    return {"object": name, "state": encode(_state(value), tensors, path)}


def _state(value: Any) -> dict[str, Any]:
    """The attributes of an object, or what it wants to be remembered by."""
    state = value.__getstate__() if _has_own_state(type(value).__mro__[:-1]) else vars(value)
    left_out = ("_sklearn_version", "_metadata_request")
    return {name: item for name, item in state.items() if name not in left_out}


@cache
def _has_own_state(kinds: tuple[type, ...]) -> bool:
    return any("__getstate__" in vars(kind) for kind in kinds)


def decode(value: Any, tensors: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return [decode(item, tensors) for item in value] if isinstance(value, list) else value
    if "dict" in value:
        return {
            key if isinstance(key, str) else decode(key, tensors): decode(item, tensors)
            for key, item in value["dict"]
        }
    if "scalar" in value:
        dtype, number = np.dtype(value["dtype"]), decode(value["scalar"], tensors)
        if dtype.kind not in "fiub" or not isinstance(number, (bool, int, float)):
            raise ValueError(f"the file holds a {value['dtype']!r:.80}, no number")
        return dtype.type(number)
    if "int" in value:
        return int(value["int"], 0)
    if "float" in value:
        return float(value["float"])
    if "tuple" in value:
        return tuple(decode(item, tensors) for item in value["tuple"])
    if "tensor" in value:
        # Once: a file that names one often could use any amount of memory.
        return tensors.pop(value["tensor"]).copy()
    if "array" in value:
        return _array(decode(value["array"], tensors), value["dtype"])
    name = str(value.get("class") or value.get("object"))
    name = OLD_NAMES.get(name, name)
    if name not in HOMES:
        raise ValueError(f"the file holds a {name!r}, which this version does not know")
    kind: Any = getattr(import_module(HOMES[name]), name.removeprefix("river."))
    if "class" in value:
        return kind
    state = decode(value["state"], tensors)
    if hasattr(kind, "__dataclass_fields__") and not hasattr(kind, "__setstate__"):
        return kind(**state)
    made = kind.__new__(kind)
    if hasattr(kind, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    return made


def _array(items: list[Any], dtype: str) -> np.ndarray[Any, Any]:
    """An array of text or of things of any kind; each text takes as much room as the longest."""
    if dtype == "|O":
        return np.array(items, dtype=object)
    if not all(isinstance(item, str) for item in items):
        raise ValueError("the file holds an array of text with something else in it")
    _validate.claim(4.0 * len(items) * max(map(len, items), default=0), "an array of text")
    return np.array(items, dtype=np.str_)
