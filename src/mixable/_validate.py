"""What the public functions accept, and the errors for what they don't: each names the argument
and, in tables, the first offending row.

The compiled core recognises plain finite float64 rows by itself and comes here for everything else.
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import sys
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def as_floats(x: Any, name: str) -> Array:
    """Return `x` as a C-contiguous float64 array; TypeError for what is not made of real numbers."""
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
        raise TypeError(f"{name} must be numeric, got dtype {raw.dtype}")
    try:
        if raw.dtype == object and any(isinstance(item, (str, bytes)) for item in raw.ravel()):
            raise TypeError("text among the numbers")
        return np.require(raw, np.float64, ["C_CONTIGUOUS", "ALIGNED"])
    except (TypeError, ValueError, OverflowError) as error:
        for position, item in enumerate(raw.reshape(len(raw), -1) if raw.ndim else [raw]):
            try:
                if any(
                    isinstance(entry, (str, bytes))
                    for entry in np.asarray(item, dtype=object).ravel()
                ):
                    raise TypeError
                np.asarray(item, dtype=np.float64)
            except OverflowError:
                raise ValueError(
                    f"{name}[{position}] holds a number too large for double precision"
                ) from error
            except (TypeError, ValueError):
                place = f"{name}[{position}]" if raw.ndim else name
                raise TypeError(f"{place} is not made of numbers: {item!r:.80}") from error
        raise TypeError(f"{name} must be numeric: {error}") from error


def row(x: ArrayLike, n_features: int, name: str = "x") -> Array:
    """One input (n_features,), finite."""
    values = as_floats(x, name)
    if values.ndim != 1 or len(values) != n_features:
        raise ValueError(f"{name} must have shape ({n_features},), got {values.shape}")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {values[bad[0]]}; inputs must be finite")
    return values


def table(X: ArrayLike, n_features: int, name: str = "X") -> Array:
    """A table of inputs (n, n_features) with at least one row, finite."""
    values = as_floats(X, name)
    if values.ndim != 2 or values.shape[1] != n_features:
        raise ValueError(f"{name} must have shape (n, {n_features}), got {values.shape}")
    if not len(values):
        raise ValueError(f"{name} is empty")
    if not np.isfinite(values).all():
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"{name}[{i}, {j}] is {values[i, j]}; inputs must be finite")
    return values


def inputs(x: ArrayLike, n_features: int) -> Array:
    """What `predict` takes: one input, or a table of them."""
    values = as_floats(x, "x")
    return table(values, n_features, "x") if values.ndim == 2 else row(values, n_features)


def label(y: Any, n_classes: int, name: str = "y") -> int:
    """A class label, an integer in 0..K-1; True and False count as 1 and 0."""
    try:
        value = int(y) if isinstance(y, np.bool_) else operator.index(y)
    except TypeError:
        raise TypeError(f"{name} must be an integer label, got {type(y).__name__}") from None
    if not 0 <= value < n_classes:
        raise ValueError(f"{name} is {value}; labels are 0 to {n_classes - 1}")
    return value


def labels(y: ArrayLike, n_classes: int, n: int) -> NDArray[np.int_]:
    """A column of `n` labels."""
    try:
        values = np.asarray(y)
    except ValueError as error:
        raise ValueError("y is ragged: its entries differ in length") from error
    if values.dtype == object and values.ndim == 1:
        values = np.array(
            [label(item, n_classes, f"y[{i}]") for i, item in enumerate(values)], dtype=np.int_
        )
    if values.dtype.kind not in "iub":
        raise TypeError(f"y must be integer labels, got dtype {values.dtype}")
    if values.shape != (n,):
        raise ValueError(f"y must have shape ({n},) to go with X, got {values.shape}")
    bad = np.flatnonzero((values < 0) | (values >= n_classes))
    if len(bad):
        raise ValueError(f"y[{bad[0]}] is {values[bad[0]]}; labels are 0 to {n_classes - 1}")
    return np.ascontiguousarray(values, dtype=np.int_)


def target(y: Any) -> float:
    """A real outcome, finite."""
    return real(y, "y")


LARGEST_TARGET = 1e100
"""The largest target that is learned, for its square to be finite."""


def targets(y: ArrayLike, n: int, most: float = math.inf) -> Array:
    """A column of `n` real outcomes, finite and at most `most` in size."""
    values = as_floats(y, "y")
    if values.shape != (n,):
        raise ValueError(f"y must have shape ({n},) to go with X, got {values.shape}")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"y[{bad[0]}] is {values[bad[0]]}; targets must be finite")
    bad = np.flatnonzero(np.abs(values) > most)
    if len(bad):
        raise ValueError(
            f"y[{bad[0]}] is {values[bad[0]]}; targets must be at most {most:g} in size"
        )
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
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise ValueError(
            f"weight[{bad[0]}] is {values[bad[0]]}; weights must be finite and at least 0"
        )
    return values


LARGEST_WEIGHT = 1e12
LARGEST_TARGET = 1e99
"""What can be learned in double precision, with some room."""


def example_weight(value: Any, name: str) -> float:
    """A weight that an estimator can learn."""
    return real(value, name, least=0, most=LARGEST_WEIGHT)


def example_weights(values: Array, name: str) -> None:
    """Refuse weights that cannot be learned in double precision."""
    if (values > LARGEST_WEIGHT).any():
        raise ValueError(
            f"{name} must be at most {LARGEST_WEIGHT:g}: more cannot be learned in double precision"
        )


def target_in_range(value: Any, name: str) -> float:
    """A number that an estimator can learn."""
    return real(value, name, least=-LARGEST_TARGET, most=LARGEST_TARGET)


def targets_in_range(values: Array, name: str) -> None:
    """Refuse numbers that cannot be learned in double precision."""
    if (np.abs(values) > LARGEST_TARGET).any():
        raise ValueError(
            f"{name} must be at most {LARGEST_TARGET:g} in size: more cannot be learned in double "
            "precision"
        )


def count(value: Any, name: str, least: int = 1, most: int = 2**63 - 1) -> int:
    """An integer of at least `least` and at most `most`, that is of 63 bits."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None
    if not least <= number <= most:
        wanted = (
            f"at least {least}"
            if number < least
            else f"at most {most}"
            if most < 2**63 - 1
            else "below 2^63"
        )
        raise ValueError(f"{name} must be {wanted}, got {number}")
    return number


def real(
    value: Any,
    name: str,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    infinite: bool = False,
) -> float:
    """A real parameter with `least <= value <= most` and `value > above`; infinite only where that
    has a meaning.
    """
    if isinstance(value, (str, bytes, complex)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except TypeError:
        raise TypeError(f"{name} must be one number, got {type(value).__name__}") from None
    if (
        math.isnan(number)
        or (math.isinf(number) and not infinite)
        or number < least
        or number <= above
        or number > most
    ):
        wanted = (
            [f"above {above:g}"] * (above > -math.inf)
            + [f"at least {least:g}"] * (least > -math.inf)
            + [f"at most {most:g}"] * (most < math.inf)
        )
        raise ValueError(
            f"{name} must be "
            f"{' and '.join(wanted) or 'a number'}{'' if infinite else ', and finite'}, got "
            f"{number}"
        )
    return number


def flag(value: Any, name: str) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r:.80}")
    return bool(value)


def scale(value: Any, name: str) -> float:
    """A radius, a bound: positive, and far enough from the limits of double precision to be
    squared.
    """
    return real(value, name, least=1e-100, most=1e100)


def regulariser(lam: Any) -> float:
    """A lam whose inverse is finite, too."""
    return real(lam, "lam", above=0, least=1e-300, most=1e300)


def drift(value: Any, lam: float) -> float:
    """A drift that leaves A^-1 finite for long, in units of what it was at the start, 1 / lam."""
    return real(value, "drift", least=0, most=min(1e100 / regulariser(lam), 1e300))


def size(x: Array, most: float, name: str) -> None:
    """Refuse inputs that are finite but too large: |x|^2 above `most`, in one row or any row of a
    table.
    """
    with np.errstate(over="ignore"):
        squares = np.atleast_1d((x * x).sum(axis=-1))
    bad = np.flatnonzero(~(squares <= most))
    if len(bad):
        place = f"{name}[{bad[0]}]" if x.ndim == 2 else name
        raise ValueError(
            f"{place} is too large: |x|^2 is {squares[bad[0]]:.3g}, and double precision allows at "
            f"most {most:.3g}; scale the inputs"
        )


def saved(value: Any, shape: tuple[int, ...], name: str, most: float = sys.float_info.max) -> Array:
    """An array from a file: float64, of this shape, its entries finite and at most `most` in size."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        raise TypeError(f"the saved {name} must be an array of float64")
    if value.shape != shape or not (np.abs(value) <= most).all():
        raise ValueError(
            f"the saved {name} must have shape {shape} and entries of at most {most:g} in size, "
            f"got {value.shape}"
        )
    return value


allowance: ContextVar[float] = ContextVar("allowance", default=math.inf)
"""Bytes that sizes may claim which no array confirms: while a file is loaded, in proportion to its
length.
"""


def claim(needed: float, what: str) -> None:
    """Refuse a size that would not fit in memory, or that a file of this length does not justify."""
    if needed > allowance.get():
        raise ValueError(
            f"{what} would need {needed:.0f} bytes, which a file of this length does not justify"
        )
    memory(needed, what)


def memory(needed: float, what: str) -> None:
    """Refuse a size whose matrices would not fit in memory."""
    available = available_memory()
    if needed > available:
        raise MemoryError(
            f"{what} would need {needed:.0f} bytes ({needed / 2**30:.1f} GiB); {available:.0f} "
            "bytes are available"
        )


def available_memory() -> float:
    """Bytes that a new array can hope for: what Linux calls MemAvailable or a container's limit
    leaves, else all physical memory.
    """
    limits = [math.inf]
    try:
        with open("/proc/meminfo") as info:
            limits += [
                1024.0 * float(line.split()[1]) for line in info if line.startswith("MemAvailable:")
            ]
        with (
            open("/sys/fs/cgroup/memory.max") as most,
            open("/sys/fs/cgroup/memory.current") as used,
        ):
            limits.append(float(most.read()) - float(used.read()))
    except (OSError, ValueError):  # another system, no container, or a container without a limit
        pass
    if len(limits) == 1:
        with contextlib.suppress(AttributeError, ValueError, OSError):
            limits.append(float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES")))
    return min(limits)
