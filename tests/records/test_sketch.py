"""How many different keys there were."""

import numpy as np
import pytest

from mixable.records.category import BITS, REGISTERS, Sketch


def keys_of(n, seed=0):
    return np.random.default_rng(seed).integers(2**64, size=n, dtype=np.uint64)


@pytest.mark.parametrize("n", [0, 1, 10, 1000, 6000, 200_000])
def test_counts_are_within_four_standard_errors(n):
    sketch = Sketch()
    sketch.add(keys_of(n))
    assert abs(sketch.count() - n) <= max(4 * 1.04 / REGISTERS**0.5 * n, 0.5)
    before = sketch.registers.copy()
    sketch.add(keys_of(n))  # again
    np.testing.assert_array_equal(sketch.registers, before)


def test_one_by_one_and_all_at_once_are_the_same():
    """Also where the rest of a key has no bit at all, one bit, or all."""
    edges = [place << (64 - BITS) | (1 << bit) for place, bit in enumerate(range(64 - BITS))]
    keys = [*keys_of(500).tolist(), *edges, 0, 2**64 - 1, 2000 << (64 - BITS)]
    one, many = Sketch(), Sketch()
    for key in keys:
        one.add_one(key)
    many.add(np.array(keys, np.uint64))
    np.testing.assert_array_equal(one.registers, many.registers)
    assert many.registers.max() == 64 - BITS + 1
    assert Sketch(many.registers).count() == many.count()


def test_registers_that_no_key_can_give_are_refused():
    good = np.zeros(REGISTERS, np.uint8)
    for bad in (good[1:], good.astype(np.int64), good.tolist(), good + np.uint8(64 - BITS + 2)):
        with pytest.raises(ValueError, match="2048 registers"):
            Sketch(bad)
