"""Sobol points for the standard normal, without scipy.stats: its import is slower than a race.

References
----------
Joe, S. and Kuo, F. Y. (2008). Constructing Sobol sequences with better two-dimensional projections.
SIAM J. Sci. Comput. 30.
Matousek, J. (1998). On the L2-discrepancy for anchored boxes. J. Complexity 14. (The linear
scramble.)
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mixable import _core
from mixable._types import Array


@lru_cache(maxsize=64)
def matched_sobol(k: int, n: int, seed: int) -> Array:
    """`n` points (k, n) for N(0, I), whose negatives are used too.

    They are scrambled Sobol, mapped by the normal quantile, then matched in second moments. With
    enough points (n >= 2 k) the covariance is made the identity; with fewer, only each coordinate's
    variance is.
    """
    w = _core.normal_quantile(scrambled_sobol(k, n, seed).ravel()).reshape(k, n)
    if n >= 2 * k:
        values, vectors = np.linalg.eigh(w @ w.T / n)
        w = (vectors / np.sqrt(values)) @ vectors.T @ w
    else:
        w = w / np.sqrt((w * w).mean(axis=1, keepdims=True))
    w.setflags(write=False)
    return np.ascontiguousarray(w)


_BITS = 32


def scrambled_sobol(k: int, n: int, seed: int) -> Array:
    """First `n` points (k, n) in (0, 1) of a Sobol sequence, scrambled and shifted at random.

    The initial direction numbers are Joe and Kuo's for the first 33 dimensions and random odd
    integers beyond.
    """
    rng = np.random.default_rng([seed, k])
    index = np.arange(n, dtype=np.uint64)
    gray = index ^ (index >> np.uint64(1))
    out = np.empty((k, n))
    polynomials = [0, *_primitive_polynomials(k - 1)]
    for j in range(k):
        V = _direction_numbers(j, polynomials[j], rng)
        # Linear scramble: multiply the bits, most significant first, by a random unit lower
        # triangular matrix.
        scrambled = np.zeros(_BITS, dtype=np.uint64)
        for bit in range(_BITS):
            row = int(rng.integers(0, 1 << bit)) << (_BITS - bit) | 1 << (_BITS - 1 - bit)
            parity = np.array([(int(v) & row).bit_count() & 1 for v in V], dtype=np.uint64)
            scrambled |= parity << np.uint64(_BITS - 1 - bit)
        x = np.full(n, rng.integers(0, 1 << _BITS), dtype=np.uint64)
        for bit in range(max(n - 1, 1).bit_length()):
            x ^= np.where(gray >> np.uint64(bit) & np.uint64(1), scrambled[bit], np.uint64(0))
        out[j] = (x + 0.5) / 2.0**_BITS
    return out


# new-joe-kuo-6, dimensions 2 to 33: the initial numbers m_1, m_2, ... that go with the primitive
# polynomials in order.
_JOE_KUO = """
1|1 3|1 3 1|1 1 1|1 1 3 3|1 3 5 13|1 1 5 5 17|1 1 5 5 5|1 1 7 11 19|1 1 5 1 1|1 1 1 3 11|1 3 5 5 31|
1 3 3 9 7 49|1 1 1 15 21 21|1 3 1 13 27 49|1 1 1 15 7 5|1 3 1 15 13 25|1 1 5 5 19 61|
1 3 7 11 23 15 103|1 3 7 13 13 15 69|1 1 3 13 7 35 63|1 3 5 9 1 25 53|1 3 1 13 9 35 107|
1 3 1 5 27 61 31|1 1 5 11 19 41 61|1 3 5 3 3 13 69|1 1 7 13 1 19 1|1 3 7 5 13 19 59|
1 1 3 9 25 29 41|1 3 5 13 23 1 55|1 3 7 3 13 59 17|1 3 1 3 5 53 69
"""
_INITIAL = [[int(number) for number in row.split()] for row in _JOE_KUO.split("|")]


def _direction_numbers(j: int, polynomial: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Direction numbers of dimension j, by a primitive polynomial; 0 is van der Corput's."""
    V = [1 << (_BITS - 1 - i) for i in range(_BITS)]
    if j > 0:
        s = polynomial.bit_length() - 1
        initial = (
            _INITIAL[j - 1]
            if j <= len(_INITIAL)
            else [2 * int(rng.integers(0, 1 << i)) + 1 for i in range(s)]
        )
        V[:s] = [number << (_BITS - 1 - i) for i, number in enumerate(initial)]
        for i in range(s, _BITS):
            V[i] = V[i - s] ^ V[i - s] >> s
            for lag in range(1, s):
                if polynomial >> (s - lag) & 1:
                    V[i] ^= V[i - lag]
    return np.array(V, dtype=np.uint64)


@lru_cache(maxsize=64)
def _primitive_polynomials(count: int) -> list[int]:
    """The first `count` primitive polynomials over GF(2), as bit masks, by degree."""
    found: list[int] = []
    degree = 1
    while len(found) < count:
        for p in range((1 << degree) + 1, 1 << (degree + 1), 2):
            x, order = 1, 0
            while order == 0 or x != 1:
                x <<= 1
                if x >> degree:
                    x ^= p
                order += 1
                if order >= 1 << degree:
                    break
            if x == 1 and order == (1 << degree) - 1:
                found.append(p)
        degree += 1
    return found[:count]
