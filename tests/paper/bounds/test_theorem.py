"""Theorem 1 and its proof: the exact identity, and regret under the bound."""

import copy

import numpy as np
import pytest
from streams import best_loss_in_ball, logistic_stream, share

from mixable import GAF, bounds
from mixable.integrals import MonteCarlo, Rung, helmert
from mixable.losses import Constants, Logistic, log_loss


class Grid:
    """A tensor grid fine enough to count as exact, for up to three classes: also an example of an
    integrator of one's own.
    """

    def rungs(self, k, seed):
        z = np.linspace(-8.5, 8.5, 171)
        points = np.array(np.meshgrid(*[z] * k)).reshape(k, -1)
        weights = np.exp(-0.5 * (points**2).sum(axis=0))
        return [
            Rung(
                "symmetric",
                np.inf,
                points.shape[1],
                points=np.ascontiguousarray(points),
                weights=weights / (2 * weights.sum()),
            )
        ]


@pytest.mark.parametrize("K", [2, 3])
def test_exact_identity(K):
    """sum loss(p_t) - L~_n(theta_{n+1}) = sum Omega_t + 1/2 ln |A_n| / |lam I| for alpha = 1, mu =
    0 and exact integrals.
    """
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
                loss.value(z0, y[t])
                + loss.gradient(z0, y[t]) @ dz
                + beta / 2 * np.einsum("it,ij,jt->t", dz, loss.hessian(z0, y[t]), dz)
            )
            gap += rung.weights * np.exp(surrogate - true)
        omega += -np.log(gap.sum())
        centres.append(f.coef)
    final = lam * (f.coef**2).sum()
    for s, centre in enumerate(centres):
        z0, dz = centre @ X[s], (f.coef - centre) @ X[s]
        final += (
            loss.value(z0, y[s])
            + loss.gradient(z0, y[s]) @ dz
            + beta / 2 * dz @ loss.hessian(z0, y[s]) @ dz
        )
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
    """The adversary sees each forecast and picks the label it gives the least probability, on
    inputs that come in bursts.
    """
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
    assert bounds.gaf(20_000, 2, 3, 2.0, 1.0, "paper") == pytest.approx(expected)
    assert round(expected) == 463
    with pytest.raises(ValueError, match="Theorem 1 needs lam"):
        bounds.theorem1(
            100, 6, Constants(alpha=1.0, beta=0.3, gamma=1.0, zeta=4.0), radius=1.0, lam=1.0
        )


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


def theorem_1(n, d, K, B, R, kind, lam):
    """Written out again: least lam allowed, and the bound at lam."""
    if kind == "paper":
        dim, beta, gamma, zeta = K * d, 1 / (np.log(K) / 2 + B * R + 1), R**2, 4 * R**2
    else:
        entropy = np.log(K) / 2 if K > 2 else 0.0
        dim, beta = (K - 1) * d, 1 / (entropy + B * R / np.sqrt(2) + 1)
        gamma, zeta = R**2 / 2, 0.142 * R**2
    lam = np.maximum(lam, max(4, dim) * zeta)
    width = dim * (0.5 + 2 * np.sqrt(3) / beta)
    return lam, lam * B**2 + width * np.log(1 + n * beta * gamma / (2 * lam))


SIZES = [
    (
        10**6,
        100,
        10,
        0.5,
        1.0,
    ),  # at the least lam allowed the tight constants give 55,050 nats, the paper's 38,520
    (20_000, 2, 3, 2.0, 1.0),
    (1000, 5, 2, 0.1, 3.0),
    (300, 1, 2, 20.0, 0.5),
    (10**9, 30, 4, 0.01, 1.0),
]


@pytest.mark.parametrize("sizes", SIZES)
def test_the_least_bound_of_gaf_is_above_none_on_a_grid(sizes):
    grid = np.geomspace(1e-3, 1e9, 2401)
    best = bounds.gaf(*sizes)
    found = {kind: bounds.gaf(*sizes, kind) for kind in ("paper", "tight")}
    for kind, value in found.items():
        lams, all_bounds = theorem_1(*sizes, kind, grid)
        assert (best <= all_bounds * (1 + 1e-12)).all()
        assert (value <= all_bounds * (1 + 1e-12)).all()
        assert (value.lam, float(value)) == pytest.approx(theorem_1(*sizes, kind, value.lam))
        assert value.constants == kind
        assert value.lam >= lams.min() * (1 - 1e-12)
    assert best == min(found.values())
    assert (best.lam, best.constants) == (found[best.constants].lam, best.constants)
    again = copy.copy(best)
    assert (again, again.lam, again.constants) == (best, best.lam, best.constants)


def test_an_adversary_that_sees_the_forecast_needs_the_union_over_labels():
    """One step, points at the corners (a very wide posterior), and the label that the points
    happened to miss most.

    The printed eps has log(n / delta); it fails in five draws of six where it should hold in half
    of them.
    """
    K, m, mu, delta, trials = 200, 9600, 0.5, 0.5, 400
    sizes = (1, 1, K, 1.0, 1.0)
    eps = bounds.proposition3(*sizes, m=m, mu=mu, delta=delta).regret - bounds.gaf(*sizes) - 2 * mu
    assert eps <= 0.5
    corners = np.random.default_rng(0).multinomial(m, np.full(K, 1 / K), size=trials) / m
    excess = -np.log(K * ((1 - mu) * corners + mu / K))
    worst = excess.max(axis=1)
    assert share(worst > eps) <= delta
    printed = np.sqrt(K * np.log(1 / delta) / (mu * m))
    assert share(excess[:, 0] > printed) <= delta
    assert share(worst > printed) > 0.7


@pytest.mark.parametrize("dim", [2, 6])
def test_theorem_1_needs_all_of_its_least_lam(dim):
    constants = Constants(alpha=0.5, beta=0.3, gamma=1.0, zeta=4.0)
    least = max(4, dim) * 4.0 / 0.5
    assert bounds.theorem1(10, dim, constants, radius=1.0, lam=least).lam == least
    for part in (0.99, 0.1):
        with pytest.raises(ValueError, match="Theorem 1 needs lam"):
            bounds.theorem1(10, dim, constants, radius=1.0, lam=part * least)
    assert bounds.theorem1(10, dim, constants, radius=1000.0).lam == pytest.approx(least)


def test_with_probabilities_bounded_below_points_of_the_order_n_squared_are_enough():
    """Points at the corners, the worst that they can be; the label that came off worst counts."""
    n, K, p, delta, more = 20, 4, 0.25, 0.2, 2.0
    m = bounds.points(n, K, more, delta, least=p)
    assert bounds.sampling(n, K, m, p, delta) == pytest.approx(more)
    rng = np.random.default_rng(0)

    def broken(m):
        """How often, in 300 runs, n forecasts lose more than they may."""
        draws = rng.multinomial(int(m), np.full(K, p), size=(300, n)) / int(m)
        lost = -np.log(np.maximum(draws.min(axis=2), 1e-9) / p)
        return share(lost.sum(axis=1) > more), share(lost.max(axis=1) > more / n)

    assert max(broken(m)) <= delta
    assert broken(m / 8)[1] > delta  # in a single step; the sum of all is smaller
    assert broken(m / 64)[0] > delta
    ratios = [
        bounds.points(2 * each, K, 1.0, least=p) / bounds.points(each, K, 1.0, least=p)
        for each in (10**4, 10**8)
    ]
    assert ratios == pytest.approx([4, 4], rel=0.1)
    assert bounds.points(10**6, K, 1.0) > 1e5 * bounds.points(10**6, K, 1.0, least=p)
    with pytest.raises(ValueError, match="least"):
        bounds.sampling(n, K, m, 0.0)


def test_a_run_with_few_points_is_within_what_sampling_may_add():
    """Two classes and weights near 0: no probability is below a quarter."""
    rng, n = np.random.default_rng(0), 60
    X, y = rng.uniform(-1, 1, size=(n, 2)), rng.integers(0, 2, n)
    options = {"lam": 10.0, "mu": 0.0}
    exact = GAF(2, 2, **options).run(X, y)
    assert exact.min() > 0.25
    price = bounds.sampling(n, 2, 20_000, least=0.25)
    for seed in range(10):
        p = GAF(2, 2, **options, integrator=MonteCarlo(20_000), seed=seed).run(X, y)
        assert (log_loss(p, y) - log_loss(exact, y)).sum() <= price < 5.0
