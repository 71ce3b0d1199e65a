"""The fallback of a pool in plain NumPy (core/pool/fallback.hpp), and the stream that it is for."""

import numpy as np
from scipy.optimize import root

from mixable.integrals import helmert
from mixable.paper.bounds.parameter_free import SHARE, fallback_plan


def epochs(n, weight=1.0, seed=0):
    """One input near +-0.9, in epochs that are four times as long each; labels by a fixed model.

    Scaled as it comes, that model moves all the time.
    """
    rng = np.random.default_rng(seed)
    lengths = 8 * 4 ** np.arange(20)
    epoch = np.searchsorted(np.cumsum(lengths), np.arange(n), side="right")
    x = 0.9 * (-1.0) ** epoch + rng.uniform(-0.1, 0.1, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-weight * x))).astype(int)
    return x[:, None], y


def softmax(z):
    p = np.exp(z - z.max())
    return p / p.sum()


class Gamblers:
    """One for each weight; `bounds.default` has what they promise."""

    def __init__(self, d, K):
        self.wealth, self.gain, self.square = np.ones((K, d)), np.zeros((K, d)), np.zeros((K, d))
        self.largest = np.zeros(d)

    def predict(self, x):
        self.reach = np.maximum(self.largest, np.abs(x))
        M = np.where(self.reach > 0, self.reach, 1.0)
        self.bet = np.clip(self.gain / (2 * (self.square + M**2)), -0.5 / M, 0.5 / M)
        self.p = softmax((self.bet * self.wealth) @ x)
        return self.p

    def learn(self, x, y, weight):
        self.largest = self.reach
        z = weight * np.outer(self.p - np.eye(len(self.p))[y], x)
        self.wealth = self.wealth * (1 - self.bet * z)
        self.gain, self.square = self.gain - z, self.square + z**2


class RawFolklore:
    """In raw coordinates: where a unit grows, so does A, and A theta stays."""

    def __init__(self, d, K, lam, beta):
        self.lam, self.beta, self.Q, self.units = lam, beta, helmert(K), np.zeros(d)
        self.A, self.b = np.zeros((d * (K - 1),) * 2), np.zeros(d * (K - 1))

    def predict(self, x):
        Q, k = self.Q, self.Q.shape[1]
        larger = np.abs(x) > self.units
        units = np.where(larger, 2 ** np.ceil(np.log2(np.where(larger, np.abs(x), 1))), self.units)
        self.now = units, self.A + np.diag(np.tile(self.lam * (units**2 - self.units**2), k))
        self.Phi = np.kron(np.eye(k), x[:, None])
        S = np.linalg.pinv(self.now[1], hermitian=True, rcond=1e-300)
        G, m = self.Phi.T @ S @ self.Phi, self.Phi.T @ S @ self.b
        about = m + 0.25 * Q.T @ np.diag(Q @ G @ Q.T)
        found = root(lambda u: u - about + 0.5 * G @ Q.T @ softmax(Q @ u), m, tol=1e-13)
        self.u, self.p = found.x, softmax(Q @ found.x)
        return self.p

    def learn(self, x, y, weight):
        Q, p = self.Q, self.p
        g, S = Q.T @ (p - np.eye(len(p))[y]), Q.T @ (np.diag(p) - np.outer(p, p)) @ Q
        self.units, A = self.now
        self.A = A + weight * self.beta / 2 * self.Phi @ S @ self.Phi.T
        self.b = self.b + weight * self.Phi @ (self.beta / 2 * S @ self.u - g / 2)


class Fallback:
    """All of it, with sparse features as columns of their own."""

    def __init__(self, d, K, *, extra=0):
        self.counts = np.zeros(K)
        plan = None if extra else fallback_plan(d, K)
        self.models = [Gamblers(1 + d + extra, K)]
        if plan:
            self.models.append(RawFolklore(1 + d, K, *plan))
        n = 1 + len(self.models)
        self.logs = np.log([1 - n * SHARE, *([SHARE] * n)])

    def step(self, pooled, x, y, weight=1.0):
        """What all say; `pooled` is the pool's forecast."""
        x = np.concatenate([[1.0], np.nan_to_num(x)])
        rates = (self.counts + 0.5) / (self.counts + 0.5).sum()
        said = np.array([pooled, rates, *(model.predict(x) for model in self.models)])
        p = np.exp(self.logs) @ said
        self.logs = self.logs + weight * np.log(said[:, y])
        self.logs -= np.log(np.exp(self.logs - self.logs.max()).sum()) + self.logs.max()
        self.counts[y] += weight
        for model in self.models:
            model.learn(x, y, min(weight, 1.0))
        return p
