"""What the paper proves, on streams: the exact identity behind Theorem 1, and the bound itself where it means something."""

import numpy as np
import pytest
from streams import best_loss_in_ball, logistic_stream

from mixable import GAF, bounds
from mixable.integrals import Rung, helmert
from mixable.losses import Constants, Logistic, log_loss


class Grid:
    """A tensor grid fine enough to count as exact, for up to three classes: also an example of an integrator of one's own."""

    def rungs(self, k, seed):
        z = np.linspace(-8.5, 8.5, 171)
        points = np.array(np.meshgrid(*[z] * k)).reshape(k, -1)
        weights = np.exp(-0.5 * (points**2).sum(axis=0))
        return [Rung("symmetric", np.inf, points.shape[1], np.ascontiguousarray(points), weights / (2 * weights.sum()))]


@pytest.mark.parametrize("K", [2, 3])
def test_exact_identity(K):
    """sum loss(p_t) - L~_n(theta_{n+1}) = sum Omega_t + 1/2 ln |A_n| / |lam I| for alpha = 1, mu = 0 and exact integrals."""
    d, n, lam, beta = 2, 25, 0.8, 0.6
    X, y = logistic_stream(n, d, K)
    loss = Logistic(K)
    f = GAF(d, K, lam=lam, beta=beta, alpha=1.0, mu=0.0, integrator=Grid())
    (rung,) = Grid().rungs(K - 1, 0)
    Q = helmert(K)
    total, omega, centres = 0.0, 0.0, []
    for t in range(n):
        total += -np.log(f.predict(X[t])[y[t]])
        f.learn(X[t], int(y[t]))
        z0 = f.coef @ X[t]
        Phi = np.kron(np.eye(K), X[t][:, None])
        S = Q.T @ Phi.T @ np.linalg.solve(f.precision(), Phi) @ Q / 2
        L = np.linalg.cholesky(S)
        gap = np.zeros(rung.m)
        for sign in (1, -1):
            z = z0[:, None] + sign * Q @ L @ rung.points
            dz = z - z0[:, None]
            true = np.log(np.exp(z - z[y[t]]).sum(axis=0))
            surrogate = (
                loss.value(z0, y[t]) + loss.gradient(z0, y[t]) @ dz + beta / 2 * np.einsum("it,ij,jt->t", dz, loss.hessian(z0, y[t]), dz)
            )
            gap += rung.weights * np.exp(surrogate - true)
        omega += -np.log(gap.sum())
        centres.append(f.coef)
    final = lam * (f.coef**2).sum()
    for s, centre in enumerate(centres):
        z0, dz = centre @ X[s], (f.coef - centre) @ X[s]
        final += loss.value(z0, y[s]) + loss.gradient(z0, y[s]) @ dz + beta / 2 * dz @ loss.hessian(z0, y[s]) @ dz
    log_determinant = np.linalg.slogdet(f.precision())[1] - d * K * np.log(lam)
    assert abs(total - final - omega - 0.5 * log_determinant) < 1e-8


@pytest.mark.parametrize("constants", ["paper", "tight"])
def test_regret_is_under_the_bound_where_the_uniform_forecast_breaks_it(constants):
    d, K, R, B, n = 2, 3, 1.0, 2.0, 20_000
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, n)
    X = R * np.column_stack([np.cos(angle), np.sin(angle)])
    W = rng.normal(size=(K, d))
    W -= W.mean(axis=0)
    W *= B / np.linalg.norm(W)
    y = (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)
    f = GAF.from_theory(d, K, radius=B, bound=R, horizon=n, constants=constants)
    loss = log_loss(f.run(X, y), y).sum()
    best = best_loss_in_ball(X, y, K, B)
    bound = bounds.gaf(n, d, K, B, R, constants) + 2  # smoothing with mu = 1/n costs at most 2 nats
    assert loss - best <= bound
    assert n * np.log(K) - best > 4 * bound
    assert loss - best < bound / 3


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("constants", ["paper", "tight"])
def test_regret_is_under_the_bound_against_an_adversary(K, constants):
    """The adversary sees each forecast and picks the label it gives the least probability, on inputs that come in bursts."""
    d, R, B, n = 2, 1.0, 3.0, 3000
    rng = np.random.default_rng(1)
    f = GAF.from_theory(d, K, radius=B, bound=R, horizon=n, constants=constants)
    X, y, total = np.empty((n, d)), np.empty(n, dtype=int), 0.0
    for t in range(n):
        X[t] = [np.cos(t // 50), np.sin(t // 50)] if t % 3 else rng.normal(size=d)
        X[t] *= R / max(np.linalg.norm(X[t]), R)
        p = f.predict(X[t])
        y[t] = p.argmin()
        total += -np.log(p[y[t]])
        f.learn(X[t], int(y[t]))
    assert total - best_loss_in_ball(X, y, K, B) <= bounds.gaf(n, d, K, B, R, constants) + 2


def test_paper_bound_by_hand():
    """K = 3, d = 2, R = 1, B = 2, n = 20,000: lam = 24, beta = 1/(ln(3)/2 + 3)."""
    beta = 1 / (np.log(3) / 2 + 3)
    expected = 24 * 4 + 6 * (0.5 + 2 * np.sqrt(3) / beta) * np.log1p(20_000 * beta / 48)
    assert bounds.gaf(20_000, 2, 3, 2.0, 1.0) == pytest.approx(expected)
    assert round(expected) == 463
    with pytest.raises(ValueError, match="Theorem 1 needs lam"):
        bounds.theorem1(100, 6, Constants(1.0, 0.3, 1.0, 4.0), radius=1.0, lam=1.0)


def test_from_theory():
    f = GAF.from_theory(3, 4, radius=2.0, bound=1.5, horizon=1000)
    assert (f.lam, f.alpha, f.mu) == (12 * 4 * 2.25, 1.0, 1e-3)
    assert f.beta == pytest.approx(1 / (np.log(4) / 2 + 4))
    tight = GAF.from_theory(3, 4, radius=2.0, bound=1.5, constants="tight")
    assert tight.lam == pytest.approx(9 * 0.142 * 2.25)
    assert tight.mu == 0
    with pytest.raises(ValueError, match="constants"):
        GAF.from_theory(3, 4, radius=2.0, bound=1.5, constants="loose")
    with pytest.raises(ValueError, match="radius"):
        GAF.from_theory(3, 4, radius=0.0, bound=1.5)
