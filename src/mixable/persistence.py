"""Saving and loading: safetensors with a description in JSON.

Loading runs no code from the file, and checks it first.

A file holds the tensors of a model and, as metadata, `format` (the version of this layout),
`class`, `library` (the version that wrote it), `model` (everything else, as JSON in which tensors
are referred to by name) and `checksum` (of all that).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from mixable import _validate
from mixable._alone import call_alone
from mixable._config import __version__
from mixable._description import HOMES, OLD_NAMES, PARTS, class_name, decode, encode
from mixable._files import write_whole

__all__ = [
    "HOMES",
    "PARTS",
    "DamagedFileError",
    "UnknownFormatError",
    "dumps",
    "load",
    "loads",
    "save",
]

FORMAT = 1

LONGEST_HEADER = 100_000_000  # bytes: the limit of safetensors

SPARE_MEMORY = 2**28
"""Bytes that a model may need beyond 64 times the length of its file, posteriors aside."""


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
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{os.fspath(path)!r} is not a file; name the file that mixable.save wrote")
    with open(descriptor, "rb") as file:
        _checked_metadata(file, os.fspath(path))  # before all of it is read
        file.seek(0)
        return from_bytes(file.read(), os.fspath(path))


def dumps(model: Any) -> bytes:
    """Return a model as bytes: what `save` writes to a file.

    >>> from mixable import GAF
    >>> f = GAF(2, 3)
    >>> f.learn([1.0, 2.0], 1)
    >>> loads(dumps(f)).steps
    1
    """
    return to_bytes(model)


def loads(data: bytes) -> Any:
    """Return the model that `dumps` made bytes of; errors are those of `load`.

    Nothing in the bytes is executed: they may come from anywhere.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"data must be bytes, got {type(data).__name__}; to read a file use mixable.load(path)"
        )
    return from_bytes(bytes(data))


def to_bytes(model: Any) -> bytes:
    """What `save` writes, while nobody else uses the model."""
    written: bytes = call_alone(model, _to_bytes)
    return written


def _to_bytes(model: Any) -> bytes:
    name = class_name(model)
    if name is None or name in PARTS or isinstance(model, type):
        raise TypeError(why_unsaved(model))
    tensors: dict[str, np.ndarray[Any, Any]] = {}
    text = json.dumps(encode(model, tensors, "model"), allow_nan=False, sort_keys=True)
    metadata = {"format": str(FORMAT), "class": name, "library": __version__, "model": text}
    metadata["checksum"] = _checksum(metadata, tensors)
    return _written(tensors, metadata)


def _written(tensors: dict[str, np.ndarray[Any, Any]], metadata: dict[str, str]) -> bytes:
    """A safetensors file in a fixed order, which their own writer does not have.

    So equal models give equal files. Large numbers come first, so that all are aligned.
    """
    header: dict[str, Any] = {"__metadata__": metadata}
    pieces, end = [b"", b""], 0
    for name in sorted(tensors, key=lambda name: (-tensors[name].itemsize, name)):
        tensor, begin = tensors[name], end
        pieces.append(tensor.tobytes())
        end += len(pieces[-1])
        header[name] = {
            "dtype": _KINDS[tensor.dtype.str[1:]],
            "shape": tensor.shape,
            "data_offsets": (begin, end),
        }
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pieces[:2] = len(text).to_bytes(8, "little"), text
    return b"".join(pieces)


_KINDS = {"b1": "BOOL", **{f"{k}{n}": f"{k.upper()}{8 * n}" for k in "iu" for n in (1, 2, 4, 8)}}
_KINDS.update({f"f{n}": f"F{8 * n}" for n in (2, 4, 8)})


def from_bytes(data: bytes, where: str = "the data") -> Any:
    """What `load` does with a file's contents."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as load_tensors

    damaged = partial(_damaged, where)
    metadata = _checked_metadata(io.BytesIO(data), where)
    try:
        tensors = load_tensors(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise damaged(f"is damaged: {error}") from error
    if metadata.get("checksum") != _checksum(metadata, tensors):
        raise damaged("is damaged: its checksum does not fit its contents")
    return _described(metadata, tensors, len(data), where)


def _damaged(where: str, what: str) -> DamagedFileError:
    return DamagedFileError(f"{where} {what}")


def _checked_metadata(file: BinaryIO, where: str) -> dict[str, str]:
    """What the head of a file says of the model; what is none is refused, and not read."""
    damaged = partial(_damaged, where)
    length = file.seek(0, io.SEEK_END)
    file.seek(max(length - 1, 0))
    last = file.read(1)
    file.seek(0)
    head = file.read(9)
    if head[:1] == b"\x80" and last == b"." and head[8:] != b"{":  # as pickles begin and end
        unopened = "it was not opened, since loading a pickle runs code"
        raise damaged(
            f"is a pickle, not a saved model; {unopened}. If you trust who wrote it, load it by "
            "pickle and write it again by mixable.save"
        )
    size = int.from_bytes(head[:8], "little")
    if head[8:] != b"{":
        raise damaged(
            "is not a saved model: it does not begin like a safetensors file; give the file that "
            "mixable.save wrote"
        )
    if length < 8 + size:
        raise damaged(f"is cut short: its header alone has {size} bytes, and the file {length}")
    if size > LONGEST_HEADER:
        raise damaged(f"is damaged: no header has {size} bytes")
    try:
        file.seek(8)
        header = json.loads(file.read(size))
        metadata = dict(header.get("__metadata__", {}))
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise damaged("is damaged: its header cannot be read") from error
    if "format" not in metadata or "model" not in metadata:
        raise damaged("is a safetensors file, but not one that mixable wrote")
    if str(metadata["format"]) not in map(str, range(1, FORMAT + 1)):
        raise UnknownFormatError(
            f"{where} has format {metadata['format']!s:.20}, and this version of mixable "
            f"({__version__}) reads up to {FORMAT}; "
            f"it was written by version {metadata.get('library', '?')}"
        )
    missing = 8 + size + _end_of_tensors(header) - length
    if missing > 0:
        raise damaged(f"is cut short: {missing} bytes are missing")
    if missing < 0:
        raise damaged(f"is damaged: there are {-missing} bytes that its header does not know of")
    return metadata


def _described(
    metadata: dict[str, str], tensors: dict[str, np.ndarray[Any, Any]], size: int, where: str
) -> Any:
    """The model that the contents of a file of some size describe, which are checked here."""
    damaged = partial(_damaged, where)
    wanted = metadata.get("class") or ""
    if wanted in PARTS:
        raise damaged(f"holds a {wanted}, which is a part of a model and not one")
    allowed = _validate.allowance.set(SPARE_MEMORY + 64.0 * size)
    try:
        model = decode(json.loads(metadata["model"]), tensors)
        if tensors:
            raise damaged(f"is damaged: nothing refers to its {next(iter(tensors))!r:.80}")
    except (DamagedFileError, MemoryError):
        raise
    except Exception as error:
        raise damaged(f"is damaged: what it describes is not a model: {error!s:.500}") from error
    finally:
        _validate.allowance.reset(allowed)
    if class_name(model) != OLD_NAMES.get(wanted, wanted):
        found = type(model).__name__
        raise damaged(f"is damaged: it should hold a {wanted}, and holds a {found}")
    return model


def _end_of_tensors(header: dict[str, Any]) -> int:
    """Where the last tensor ends, after the header; 0 if the header does not say."""
    try:
        entries = [entry for name, entry in header.items() if name != "__metadata__"]
        return max(int(entry["data_offsets"][1]) for entry in entries)
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


# What an estimator of the library does by itself.
_NEEDLESS = {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "SimpleImputer"}


def why_unsaved(model: Any) -> str:
    """The reason, in words that say what to do next."""
    kind = type(model).__name__
    if isinstance(model, type):
        return f"{model.__name__} is a class, not a model: save an object, {model.__name__}(...)"
    library = type(model).__module__.partition(".")[0]
    steps = getattr(model, "steps", None)
    if library in ("sklearn", "river") and steps:
        return _of_pipeline(library, list(steps.items() if isinstance(steps, dict) else steps))
    if class_name(model) in PARTS:
        return f"{kind} cannot be saved by itself: save the model that it is a part of"
    return (
        f"{kind} cannot be saved: it is not a model of this library. Save the forecaster or "
        "estimator of mixable in it, and the rest by other means"
    )


def _of_pipeline(library: str, steps: list[tuple[str, Any]]) -> str:
    """A pipeline has steps of another library: those need another file, or are needless."""
    *before, (name, last) = steps
    if class_name(last) is None:
        return (
            f"a Pipeline cannot be saved, and its last step, {name!r}, is a {type(last).__name__}, "
            "not a model of this library"
        )
    place = "pipeline[-1]" if library == "sklearn" else f"pipeline[{name!r}]"
    text = f"a Pipeline cannot be saved whole. Save its model: mixable.save({place}, path)."
    others = [each for each, step in before if type(step).__name__ not in _NEEDLESS]
    needless = [each for each, step in before if type(step).__name__ in _NEEDLESS]
    if needless:
        text += (
            f" Leave out {_listed(needless)}: {type(last).__name__} scales numbers and takes NaN "
            "as missing by itself."
        )
    if others and library == "sklearn":
        text += (
            f" Keep {_listed(others)} by skops.io.dump(pipeline[:-1], other), which runs no code "
            "when it is loaded; then make_pipeline(skops.io.load(other), mixable.load(path)) is "
            "the pipeline."
        )
    elif others:
        text += f" Make {_listed(others)} again from your code, and put the loaded model behind."
    return text


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
