"""Random Fourier features with orthogonal frequencies: they need no data.

Rahimi, A. and Recht, B. (2007). Random features for large-scale kernel machines. NeurIPS.
Yu, F., Suresh, A., Choromanski, K., Holtmann-Rice, D. and Kumar, S. (2016). Orthogonal random
features. NeurIPS.
"""

from __future__ import annotations

import copy
import math

import numpy as np

from mixable import _core, _validate
from mixable._types import Array, Truths


class Fourier:
    """Cosine and sine of random frequencies.

    Inner products come close to the kernel exp(-gamma |x - x'|^2). Frequencies come in blocks of
    n_features orthogonal ones, with the lengths of normal vectors: a smaller error than with
    independent ones, as in scikit-learn's `RBFSampler`. Cosine and sine of each, so that every
    |phi(x)|^2 is exactly 1 (if n_components is even).

    Parameters
    ----------
    n_features
        Length of the inputs.
    n_components
        Number of features: cosines first, then sines.
    gamma
        Inverse squared width of the kernel.
    seed
        Seeds the frequencies.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [0.5, 0.5]])
    >>> phi = Fourier(2, 1000, gamma=1.0).transform(x)
    >>> round(float(phi[0] @ phi[1]), 1), round(math.exp(-0.5), 1)
    (0.6, 0.6)
    """

    def __init__(self, n_features: int, n_components: int, *, gamma: float, seed: int = 0) -> None:
        d = _validate.count(n_features, "n_features", least=0)
        self.n_components = _validate.count(n_components, "n_components")
        self.gamma = _validate.scale(gamma, "gamma")
        self.seed = _validate.count(seed, "seed", least=0)
        what = f"Fourier with {self.n_components} components"
        _validate.memory(16.0 * max(d, 1) * self.n_components, what)
        rng = np.random.default_rng(self.seed)
        pairs, odd = divmod(self.n_components, 2)
        block = max(d, 1)
        begins = range(0, pairs + odd, block)
        blocks = [_orthogonal(rng, d, min(block, pairs + odd - begin)) for begin in begins]
        self.frequencies = self._pairs(np.hstack(blocks))  # (d, n_components)
        # A cosine without its sine has a random phase, or it would favour inputs near 0.
        self.phases = np.concatenate(
            [np.zeros(pairs), rng.uniform(0, 2 * math.pi, odd), np.full(pairs, -math.pi / 2)]
        )

    def transform(self, Z: Array) -> Array:
        """Features (n, n_components) of the rows of Z (n, n_features)."""
        waves = np.cos(Z @ self.frequencies + self.phases)
        return np.asarray(math.sqrt(2 / self.n_components) * waves)

    def learn(self, Z: Array, counts: Truths | None = None) -> tuple[Array, Fourier]:
        """The same, and the map afterwards: there is nothing to learn."""
        return self.transform(Z), self

    def compiled(self) -> _core.Waves:
        """The map, compiled."""
        return _core.Waves(np.ascontiguousarray(self.frequencies), self.phases)

    def add_features(self, k: int) -> Fourier:
        """The map for `k` more features, at the end; where these are 0 it is the same."""
        larger = copy.copy(self)
        rng = np.random.default_rng([self.seed, len(self.frequencies)])
        more = self._pairs(rng.normal(size=(k, (self.n_components + 1) // 2)))
        larger.frequencies = np.vstack([self.frequencies, more])
        return larger

    def state(self) -> dict[str, Array]:
        """Everything that it knows, for `restore`."""
        arrays = {"frequencies": self.frequencies, "phases": self.phases}
        return {"gamma": np.array([self.gamma]), **arrays}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from what `state` returned; ValueError if it is not for a map of this size."""
        for name in ("frequencies", "phases"):
            wanted, found = getattr(self, name).shape, state[name]
            if found.shape != wanted or not np.isfinite(found).all():
                what = f"finite numbers of shape {wanted}"
                raise ValueError(f"{name} must be {what}, got shape {found.shape}")
        self.gamma = _validate.scale(float(state["gamma"][0]), "gamma")
        self.frequencies, self.phases = state["frequencies"], state["phases"]

    def _pairs(self, normal: Array) -> Array:
        """Frequencies in units of the kernel's width, for cosines and then again for sines."""
        both = np.hstack([normal, normal])[:, : self.n_components]
        return np.asarray(math.sqrt(2 * self.gamma) * both)


def _orthogonal(rng: np.random.Generator, d: int, count: int) -> Array:
    """Orthogonal columns (d, count <= d), each a standard normal vector; one column if d = 0."""
    if d == 0:
        return np.empty((0, 1))
    # The signs make QR's orthogonal columns uniform over all such.
    Q, R = np.linalg.qr(rng.normal(size=(d, count)))
    return np.asarray(Q * np.sign(np.diag(R)) * np.sqrt(rng.chisquare(d, size=count)))
