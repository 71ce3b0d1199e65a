"""How many different keys there were, in constant memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

BITS = 11
REGISTERS = 1 << BITS  # a standard error of 1.04 / sqrt(2048) = 2.3%


class Sketch:
    """Estimates the number of different keys (HyperLogLog; Flajolet and others, 2007).

    >>> from mixable import _core
    >>> sketch = Sketch()
    >>> sketch.add(_core.hash_strings([str(i) for i in range(100_000)], 0))
    >>> abs(sketch.count() / 100_000 - 1) < 0.1
    True
    """

    def __init__(self, registers: Any = None) -> None:
        if registers is None:
            registers = np.zeros(REGISTERS, np.uint8)
        is_registers = isinstance(registers, np.ndarray) and registers.dtype == np.uint8
        if not is_registers or registers.shape != (REGISTERS,) or (registers > 64 - BITS + 1).any():
            raise ValueError(f"a saved sketch must have {REGISTERS} registers")
        self.registers: NDArray[np.uint8] = registers

    def add(self, keys: Keys) -> None:
        """Count some keys."""
        place = (keys >> np.uint64(64 - BITS)).astype(np.int64)
        rest = keys << np.uint64(BITS)
        # frexp gives the place of the highest bit, exactly, once the lower ones are gone.
        high = (rest >> np.uint64(32)).astype(np.float64)
        low = (rest & np.uint64(0xFFFFFFFF)).astype(np.float64)
        lead = np.where(high > 0, 32 - np.frexp(high)[1], 64 - np.frexp(low)[1])
        rank = np.minimum(lead + 1, 64 - BITS + 1).astype(np.uint8)
        np.maximum.at(self.registers, place, rank)

    def add_one(self, key: int) -> None:
        """Count one key."""
        place = key >> (64 - BITS)
        rest = (key << BITS) & 0xFFFFFFFFFFFFFFFF
        rank = min(64 - rest.bit_length() + 1, 64 - BITS + 1)
        if rank > self.registers[place]:
            self.registers[place] = rank

    def count(self) -> int:
        """About how many different keys were counted."""
        m = float(REGISTERS)
        estimate = 0.7213 / (1 + 1.079 / m) * m * m / float((0.5**self.registers).sum())
        empty = int(np.count_nonzero(self.registers == 0))
        if estimate <= 2.5 * m and empty:
            estimate = m * math.log(m / empty)
        return round(estimate)
