"""Saving and loading: safetensors with a description in JSON. Loading runs no code from the file,
and checks it first.

A file holds the tensors of a model and, as metadata, `format` (the version of this layout),
`class`, `library` (the version that wrote it), `model` (everything else, as JSON in which tensors
are referred to by name) and `checksum` (of all that).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from importlib import import_module
from typing import Any

import numpy as np

from mixable import _validate
from mixable._config import __version__
from mixable._files import write_whole
from mixable.forecasters.table import FORECASTERS

FORMAT = 1

# Where the classes are that a file may contain. Nothing else is ever made from one.
HOMES = {
    **{entry.name: entry.home for entry in FORECASTERS},
    **{name: "mixable.estimators" for name in ("GAFClassifier", "GAFRegressor")},
    **{name: "mixable.integrals" for name in ("Sobol", "MonteCarlo", "Ladder", "Quadrature")},
    **{name: "mixable.losses" for name in ("Squared", "Logistic", "Huber")},
    **{name: "mixable.learner" for name in ("Learner", "Design", "KernelPlan")},
    "Scores": "mixable.metrics",
    "StreamModel": "mixable.streaming",
    "river.GAFClassifier": "mixable.river",
    "river.GAFRegressor": "mixable.river",
}

# What earlier versions called a class.
OLD_NAMES = {"Engine": "Learner"}

# What is only ever part of a model.
PARTS = {
    "Learner",
    "Design",
    "KernelPlan",
    *(name for name, home in HOMES.items() if home in ("mixable.integrals", "mixable.losses")),
}

SPARE_MEMORY = 2**28
"""Bytes that a model may need beyond 64 times the length of its file. Posteriors do not count:
their arrays are in the file.
"""


class DamagedFileError(ValueError):
    """The file is not what `save` wrote: cut short, changed, or something else altogether."""


class UnknownFormatError(ValueError):
    """The file was written by a later version of the library."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a forecaster, mixture or estimator to a file, all or nothing.

    The file is written under another name, brought to the disk, and renamed: whatever happens on
    the way, `path` holds either the old model or the new one. Saving changes nothing in the model.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from mixable import GAF
    >>> folder = tempfile.TemporaryDirectory()
    >>> f = GAF(2, 3)
    >>> f.learn([1.0, 2.0], 1)
    >>> save(f, Path(folder.name, "model.safetensors"))
    >>> load(Path(folder.name, "model.safetensors")).steps
    1
    >>> folder.cleanup()
    """
    write_whole(path, to_bytes(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote. It goes on with the same bits as if it had never been saved.

    Raises `DamagedFileError` for a file that is cut short, changed, or something else, and
    `UnknownFormatError` for one that a later version wrote (both are ValueErrors).
    """
    # Without waiting: a pipe would otherwise not be opened until someone writes to it.
    descriptor = os.open(
        path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{os.fspath(path)!r} is not a file")
        return from_bytes(file.read(), os.fspath(path))


def to_bytes(model: Any) -> bytes:
    """What `save` writes."""
    from safetensors.numpy import save as save_tensors

    name = _class_name(model)
    if name is None or name in PARTS:
        raise TypeError(
            f"{type(model).__name__} cannot be saved: it is not a model of this library"
        )
    tensors: dict[str, np.ndarray[Any, Any]] = {}
    text = json.dumps(_encode(model, tensors, "model"), allow_nan=False, sort_keys=True)
    metadata = {"format": str(FORMAT), "class": name, "library": __version__, "model": text}
    metadata["checksum"] = _checksum(metadata, tensors)
    return _in_order(bytes(save_tensors(tensors, metadata)))


def _in_order(data: bytes) -> bytes:
    """The same file with its header sorted: safetensors writes metadata in an order of chance, and
    equal models are to give equal files.
    """
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.dumps(json.loads(data[8:end]), sort_keys=True, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # so that tensors are aligned
    return len(header).to_bytes(8, "little") + header + data[end:]


def from_bytes(data: bytes, where: str = "the data") -> Any:
    """What `load` does with a file's contents."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as load_tensors

    if data[:1] == b"\x80" and data[8:9] != b"{":
        raise DamagedFileError(
            f"{where} is a pickle, not a saved model; it was not opened, since loading a pickle "
            "runs code"
        )
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or data[8:9] != b"{":
        raise DamagedFileError(
            f"{where} is not a saved model: it does not begin like a safetensors file"
        )
    if len(data) < 8 + size:
        raise DamagedFileError(
            f"{where} is cut short: its header alone has {size} bytes, and the file {len(data)}"
        )
    try:
        header = json.loads(data[8 : 8 + size])
        metadata = dict(header.get("__metadata__", {}))
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise DamagedFileError(f"{where} is damaged: its header cannot be read") from error
    if "format" not in metadata or "model" not in metadata:
        raise DamagedFileError(f"{where} is a safetensors file, but not one that mixable wrote")
    if str(metadata["format"]) not in map(str, range(1, FORMAT + 1)):
        raise UnknownFormatError(
            f"{where} has format {metadata['format']!s:.20}, and this version of mixable "
            f"({__version__}) reads up to {FORMAT}; "
            f"it was written by version {metadata.get('library', '?')}"
        )
    try:
        tensors = load_tensors(data)
    except (SafetensorError, ValueError, KeyError) as error:
        missing = 8 + size + _end_of_tensors(header) - len(data)
        if missing > 0:
            raise DamagedFileError(f"{where} is cut short: {missing} bytes are missing") from error
        raise DamagedFileError(f"{where} is damaged: {error}") from error
    if metadata.get("checksum") != _checksum(metadata, tensors):
        raise DamagedFileError(f"{where} is damaged: its checksum does not fit its contents")
    if metadata.get("class") in PARTS:
        raise DamagedFileError(
            f"{where} holds a {metadata['class']}, which is a part of a model and not one"
        )
    allowed = _validate.allowance.set(SPARE_MEMORY + 64.0 * len(data))
    try:
        model = _decode(json.loads(metadata["model"]), tensors)
        if tensors:
            raise DamagedFileError(
                f"{where} is damaged: nothing refers to its {next(iter(tensors))!r:.80}"
            )
    except (DamagedFileError, MemoryError):
        raise
    except Exception as error:
        raise DamagedFileError(
            f"{where} is damaged: what it describes is not a model: {error!s:.500}"
        ) from error
    finally:
        _validate.allowance.reset(allowed)
    if _class_name(model) != metadata.get("class"):
        raise DamagedFileError(
            f"{where} is damaged: it should hold a {metadata.get('class')}, and holds a "
            f"{type(model).__name__}"
        )
    return model


def _end_of_tensors(header: dict[str, Any]) -> int:
    """Where the last tensor ends, after the header; 0 if the header does not say."""
    try:
        return max(
            int(entry["data_offsets"][1])
            for name, entry in header.items()
            if name != "__metadata__"
        )
    except (LookupError, TypeError, ValueError):
        return 0


def _checksum(metadata: dict[str, str], tensors: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for name in ("format", "class", "library", "model"):
        digest.update(f"{name}={metadata.get(name)}\n".encode())
    for name in sorted(tensors):
        tensor = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape}\n".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()


def _class_name(value: Any) -> str | None:
    """The name of a class in HOMES; None if it is not there."""
    kind = value if isinstance(value, type) else type(value)
    for name in (kind.__name__, f"river.{kind.__name__}"):
        home = HOMES.get(name)
        if (
            home is not None
            and kind.__module__.partition(".")[0] == "mixable"
            and (home == "mixable.river") == (kind.__module__ == "mixable.river")
        ):
            return name
    return None


def _encode(value: Any, tensors: dict[str, Any], path: str) -> Any:
    """JSON for a value; what JSON has no word for is an object with one key that says what it is."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.generic) and not isinstance(value, np.longdouble):
        return {"scalar": _encode(value.item(), tensors, path), "dtype": value.dtype.str}
    if isinstance(value, int):
        return value if abs(value) < 2**53 else {"int": hex(value)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, (list, tuple)):
        items = [_encode(item, tensors, f"{path}.{i}") for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {
            "dict": [
                [
                    _encode(k, tensors, path),
                    _encode(v, tensors, f"{path}.{k if isinstance(k, str) else i}"),
                ]
                for i, (k, v) in enumerate(value.items())
            ]
        }
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fiub" and value.dtype.isnative and value.dtype.itemsize <= 8:
            while path in tensors:  # dictionaries may have keys that are not strings
                path += "~"
            tensors[path] = np.asarray(value, order="C")
            return {"tensor": path}
        if value.dtype.kind in "UO":
            return {"array": _encode(value.tolist(), tensors, path), "dtype": value.dtype.str}
    name = _class_name(value)
    if name is None:
        raise TypeError(f"{path} is a {type(value).__name__}, which cannot be saved")
    if isinstance(value, type):
        return {"class": name}
    return {"object": name, "state": _encode(_state(value), tensors, path)}


def _state(value: Any) -> dict[str, Any]:
    """The attributes of an object, or what it wants to be remembered by."""
    own = next(
        (
            kind.__dict__["__getstate__"]
            for kind in type(value).__mro__[:-1]
            if "__getstate__" in kind.__dict__
        ),
        None,
    )
    state = own(value) if own else dict(vars(value))
    return {
        name: item
        for name, item in state.items()
        if name not in ("_sklearn_version", "_metadata_request")
    }


def _decode(value: Any, tensors: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "scalar" in value:
        dtype, number = np.dtype(value["dtype"]), _decode(value["scalar"], tensors)
        if dtype.kind not in "fiub" or not isinstance(number, (bool, int, float)):
            raise DamagedFileError(
                f"the file holds a {value['dtype']!r:.80}, which is not a number"
            )
        return dtype.type(number)
    if "int" in value:
        return int(value["int"], 0)
    if "float" in value:
        return float(value["float"])
    if "tuple" in value:
        return tuple(_decode(item, tensors) for item in value["tuple"])
    if "dict" in value:
        return {_decode(k, tensors): _decode(v, tensors) for k, v in value["dict"]}
    if "tensor" in value:
        return tensors.pop(
            value["tensor"]
        ).copy()  # once: a file that names one often could take any amount of memory
    if "array" in value:
        return _array(_decode(value["array"], tensors), value["dtype"])
    name = str(value.get("class") or value.get("object"))
    name = OLD_NAMES.get(name, name)
    if name not in HOMES:
        raise DamagedFileError(
            f"the file holds a {name!r}, which this version of mixable does not know"
        )
    kind: Any = getattr(import_module(HOMES[name]), name.removeprefix("river."))
    if "class" in value:
        return kind
    state = _decode(value["state"], tensors)
    if hasattr(kind, "__dataclass_fields__"):
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
        raise DamagedFileError("the file holds an array of text with something else in it")
    _validate.claim(4.0 * len(items) * max(map(len, items), default=0), "an array of text")
    return np.array(items, dtype=np.str_)
