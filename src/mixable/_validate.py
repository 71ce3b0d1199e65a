"""What the public functions accept; an error names the argument and the first bad row.

The compiled core recognises plain finite float64 rows by itself and comes here for everything else.
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import secrets
import sys
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mixable._types import Array, Labels, Truths

T = TypeVar("T")

# What double precision allows, with some room.
LARGEST_TARGET = 1e100  # its square is finite
LARGEST_ESTIMATOR_TARGET = 1e99  # before it is centred
LARGEST_WEIGHT = 1e12
LARGEST_SCALE = 1e100  # of a radius or a bound, which are squared
LARGEST_LAM = 1e300  # its inverse is finite, too
FINITE = "inputs must be finite (GAFClassifier and GAFRegressor take NaN as missing)"
FINITE_OR_MISSING = "inputs must be finite, or NaN for what is missing"
MOST_STEPS = 2**53 - 1  # of a saved model: exact as float64, and so is the next


def as_floats(x: Any, name: str) -> Array:
    """Return `x` as a C-contiguous float64 array; TypeError unless it is made of real numbers."""
    if x is None:
        raise TypeError(f"{name} must be an array of numbers, got None")
    if isinstance(x, np.ma.MaskedArray) and np.ma.getmaskarray(x).any():
        raise ValueError(f"{name} has masked entries; fill them first")
    try:
        raw = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{name} is ragged: its rows differ in length") from error
    if raw.dtype.kind == "c":
        raise TypeError(f"{name} must be real, got {raw.dtype}")
    if raw.dtype.kind not in "fiubO":
        text = f"; convert text by np.asarray({name}, float)" if raw.dtype.kind in "US" else ""
        raise TypeError(f"{name} must be numeric, got dtype {raw.dtype}{text}")
    try:
        return _numbers(raw)
    except (TypeError, ValueError, OverflowError) as error:
        for position, item in enumerate(raw.reshape(len(raw), -1) if raw.ndim else [raw]):
            place = f"{name}[{position}]" if raw.ndim else name
            try:
                _numbers(np.asarray(item))
            except OverflowError:
                raise ValueError(
                    f"{place} holds a number too large for double precision"
                ) from error
            except (TypeError, ValueError):
                raise TypeError(f"{place} is not made of numbers: {item!r:.80}") from error
        raise TypeError(f"{name} must be numeric: {error}") from error


def _numbers(raw: NDArray[Any]) -> Array:
    if raw.dtype == object and any(isinstance(item, (str, bytes)) for item in raw.ravel()):
        raise TypeError("text among the numbers")
    return np.require(raw, np.float64, ["C_CONTIGUOUS", "ALIGNED"])


def row(x: ArrayLike, n_features: int, name: str = "x", *, missing: bool = False) -> Array:
    """One input (n_features,), finite; NaN is allowed where entries may be `missing`."""
    values = as_floats(x, name)
    if values.ndim != 1 or len(values) != n_features:
        raise ValueError(f"{name} must have shape ({n_features},), got {values.shape}")
    _refuse_entries(values, name, missing)
    return values


def _refuse_entries(values: Array, name: str, missing: bool) -> None:
    bad = np.isinf(values) if missing else ~np.isfinite(values)
    refuse(bad, values, name, FINITE_OR_MISSING if missing else FINITE)


def refuse(bad: Truths, values: NDArray[Any], name: str, why: str) -> None:
    """Raise ValueError for the first entry that is bad, or the number itself."""
    for place in np.argwhere(bad)[:1].tolist():
        raise ValueError(f"{name}{place or ''} is {values[tuple(place)]}; {why}")


def table(X: ArrayLike, n_features: int, name: str = "X", *, missing: bool = False) -> Array:
    """A table of inputs (n, n_features) with at least one row, each as `row` allows."""
    values = as_floats(X, name)
    if values.ndim != 2 or values.shape[1] != n_features:
        raise ValueError(f"{name} must have shape (n, {n_features}), got {values.shape}")
    if not len(values):
        raise ValueError(f"{name} is empty")
    _refuse_entries(values, name, missing)
    return values


def inputs(x: ArrayLike, n_features: int, *, missing: bool = False) -> Array:
    """What `predict` takes: one input, or a table of them."""
    values = as_floats(x, "x")
    check = table if values.ndim == 2 else row
    return check(values, n_features, "x", missing=missing)


def label(y: Any, n_classes: int, name: str = "y") -> int:
    """A class label, an integer in 0..K-1; True and False count as 1 and 0."""
    try:
        value = int(y) if isinstance(y, np.bool_) else operator.index(y)
    except TypeError:
        raise TypeError(f"{name} must be an integer label, got {type(y).__name__}") from None
    if not 0 <= value < n_classes:
        raise ValueError(f"{name} is {value}; {_labels_are(n_classes)}")
    return value


def _labels_are(n_classes: int) -> str:
    return f"labels are 0 to {n_classes - 1}, others need a larger n_classes"


def labels(y: ArrayLike, n_classes: int, n: int) -> Labels:
    """A column of `n` labels."""
    try:
        values = np.asarray(y)
    except ValueError as error:
        raise ValueError("y is ragged: its entries differ in length") from error
    if values.dtype == object and values.ndim == 1:
        checked = [label(item, n_classes, f"y[{i}]") for i, item in enumerate(values)]
        values = np.array(checked, dtype=np.int_)
    if values.dtype.kind not in "iub":
        raise TypeError(f"y must be integer labels, got dtype {values.dtype}")
    if values.shape != (n,):
        raise ValueError(f"y must have shape ({n},) to go with X, got {values.shape}")
    refuse((values < 0) | (values >= n_classes), values, "y", _labels_are(n_classes))
    return np.ascontiguousarray(values, dtype=np.int_)


def target(y: Any) -> float:
    """A real outcome, finite."""
    return real(y, "y")


def targets(y: ArrayLike, n: int, most: float = math.inf) -> Array:
    """A column of `n` real outcomes, finite and at most `most` in size."""
    values = as_floats(y, "y")
    if values.shape != (n,):
        raise ValueError(f"y must have shape ({n},) to go with X, got {values.shape}")
    refuse(~np.isfinite(values), values, "y", "targets must be finite")
    refuse(np.abs(values) > most, values, "y", f"targets must be at most {most:g} in size")
    return values


def weight(value: Any) -> float:
    """An example's weight: finite and at least 0."""
    return real(value, "weight", least=0)


def weights(value: ArrayLike | None, n: int) -> Array | None:
    """A column of `n` weights, or None for all 1."""
    if value is None:
        return None
    values = as_floats(value, "weight")
    if values.shape != (n,):
        raise ValueError(f"weight must have shape ({n},) to go with X, got {values.shape}")
    bad = ~(np.isfinite(values) & (values >= 0))
    refuse(bad, values, "weight", "weights must be finite and at least 0")
    return values


def example_weight(value: Any, name: str) -> float:
    """A weight that an estimator can learn."""
    return real(value, name, least=0, most=LARGEST_WEIGHT)


def example_weights(values: Array, name: str) -> None:
    """Refuse weights that cannot be learned in double precision."""
    if (values > LARGEST_WEIGHT).any():
        raise ValueError(_too_large(name, f"{LARGEST_WEIGHT:g}"))


def target_in_range(value: Any, name: str) -> float:
    """A number that an estimator can learn."""
    return real(value, name, least=-LARGEST_ESTIMATOR_TARGET, most=LARGEST_ESTIMATOR_TARGET)


def targets_in_range(values: Array, name: str) -> None:
    """Refuse numbers that cannot be learned in double precision."""
    if (np.abs(values) > LARGEST_ESTIMATOR_TARGET).any():
        raise ValueError(_too_large(name, f"{LARGEST_ESTIMATOR_TARGET:g} in size"))


def _too_large(name: str, most: str) -> str:
    return f"{name} must be at most {most}: more cannot be learned in double precision"


def count(value: Any, name: str, *, least: int = 1, most: int = 2**63 - 1) -> int:
    """An integer of at least `least` and at most `most`, that is of 63 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None
    if not least <= number <= most:
        wanted = f"at most {most}" if most < 2**63 - 1 else "below 2^63"
        if number < least:
            wanted = f"at least {least}"
        raise ValueError(f"{name} must be {wanted}, got {number}")
    return number


def seed(value: Any, name: str) -> int:
    """An integer of at least 0; None draws one of 63 bits from the operating system."""
    return secrets.randbits(63) if value is None else count(value, name, least=0)


def real(
    value: Any,
    name: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    infinite: bool = False,
) -> float:
    """A real parameter with `least <= value <= most` and `value > above`; may be `infinite`."""
    if isinstance(value, (str, bytes, complex)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except TypeError:
        raise TypeError(f"{name} must be one number, got {type(value).__name__}") from None
    is_in_range = number > above and least <= number <= most  # NaN is not
    if not is_in_range or (math.isinf(number) and not infinite):
        limits = (("above", above), ("at least", least), ("at most", most))
        wanted = [f"{words} {limit:g}" for words, limit in limits if math.isfinite(limit)]
        finite = "" if infinite else ", and finite"
        raise ValueError(
            f"{name} must be {' and '.join(wanted) or 'a number'}{finite}, got {number}"
        )
    return number


def optional(check: Callable[..., T]) -> Callable[..., T | None]:
    """The same check, for what may be None."""

    def checked(value: Any, name: str, **limits: float) -> T | None:
        return None if value is None else check(value, name, **limits)

    return checked


def flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r:.80}")
    return bool(value)


def instance(value: Any, kind: type, name: str) -> None:
    """Refuse what is of another type."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {kind.__name__}, got {type(value).__name__}")


def scale(value: Any, name: str) -> float:
    """A radius or a bound: positive, and its square is finite and above 0."""
    return real(value, name, least=1 / LARGEST_SCALE, most=LARGEST_SCALE)


def regulariser(lam: Any, name: str = "lam") -> float:
    """A lam whose inverse is finite, too."""
    return real(lam, name, above=0, least=1 / LARGEST_LAM, most=LARGEST_LAM)


def mixability(alpha: Any, name: str) -> float:
    """An alpha whose inverse is finite; it may be infinite itself."""
    return real(alpha, name, least=1 / LARGEST_LAM, infinite=True)


def drift(value: Any, lam: float) -> float:
    """A drift that leaves A^-1 finite for long, in units of what it was at the start, 1 / lam."""
    most = min(LARGEST_SCALE / regulariser(lam), LARGEST_LAM)
    return real(value, "drift", least=0, most=most)


def size(x: Array, most: float, name: str) -> None:
    """Refuse an input, or a table of them, with |x|^2 above `most`."""
    with np.errstate(over="ignore"):
        squares = np.atleast_1d((x * x).sum(axis=-1))
    bad = np.flatnonzero(~(squares <= most))
    if len(bad):
        place = f"{name}[{bad[0]}]" if x.ndim == 2 else name
        raise ValueError(
            f"{place} is too large: |x|^2 is {squares[bad[0]]:.3g}, and double precision allows at "
            f"most {most:.3g}; scale the inputs"
        )


def saved(
    value: Any, shape: tuple[int, ...], name: str, *, most: float = sys.float_info.max
) -> Array:
    """An array from a file: float64, of this shape, its entries at most `most` in size."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        raise TypeError(f"the saved {name} must be an array of float64")
    if value.shape != shape or not (np.abs(value) <= most).all():
        raise ValueError(
            f"the saved {name} must have shape {shape} and entries of at most {most:g} in size, "
            f"got {value.shape}"
        )
    return value


allowance: ContextVar[float] = ContextVar("allowance", default=math.inf)
"""Bytes that sizes may claim which no array confirms; while a file is loaded, a limit."""

SMALL = 2.0**20
"""Bytes that there always are. To ask how many there are takes 0.2 ms."""


def claim(needed: float, what: str) -> None:
    """Refuse a size that memory does not allow, or the length of the file that asks for it."""
    if needed > allowance.get():
        raise ValueError(
            f"{what} would need {needed:.0f} bytes, which a file of this length does not justify"
        )
    memory(needed, what)


def memory(needed: float, what: str) -> None:
    """Refuse a size whose matrices would not fit in memory."""
    if needed <= SMALL:
        return
    available = available_memory()
    if needed > available:
        raise MemoryError(
            f"{what} would need {needed:.0f} bytes ({needed / 2**30:.1f} GiB); {available:.0f} "
            "bytes are available"
        )


def available_memory() -> float:
    """Bytes for a new array: MemAvailable or what a container has left, else all of memory."""
    limits = [math.inf]
    try:
        with open("/proc/meminfo") as info:
            free = [line.split()[1] for line in info if line.startswith("MemAvailable:")]
            limits += [1024.0 * float(kilobytes) for kilobytes in free]
        group = Path("/sys/fs/cgroup")
        most, used = (group / name for name in ("memory.max", "memory.current"))
        limits.append(float(most.read_text()) - float(used.read_text()))
    except (OSError, ValueError):  # another system, no container, or a container without a limit
        pass
    if len(limits) == 1:
        with contextlib.suppress(AttributeError, ValueError, OSError):
            limits.append(float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES")))
    return min(limits)
