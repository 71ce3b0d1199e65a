"""Every bound of Table 1 holds, and grows as the table says."""

import numpy as np
import pytest

from mixable import AIOLI, GAF, OGD, ONS, VAW, Folklore, Foster, bounds, regret
from mixable.datasets import make_hazan
from mixable.losses import log_loss


def circle(n, K, B, seed=0):
    """Well-specified: inputs on the unit circle, labels from weights of norm B."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    W = rng.normal(size=(K, 2))
    W -= W.mean(axis=0)
    W *= B / np.linalg.norm(W)
    return X, (X @ W.T + rng.gumbel(size=(n, K))).argmax(axis=1)


@pytest.mark.parametrize("name", ["OGD", "ONS", "Folklore", "Folklore tight", "AIOLI", "Foster"])
def test_regret_is_under_the_bound_where_predicting_the_uniform_distribution_breaks_it(name):
    B, R = 2.0, 1.0
    K = 2 if name == "AIOLI" else 3
    n = {"OGD": 20_000, "ONS": 40_000, "Foster": 200}.get(name, 20_000)
    if name == "Foster":
        B = 8.0
    X, y = circle(n, K, B)
    if name == "OGD":
        p, bound = OGD.from_theory(2, K, radius=B, bound=R).run(X, y), bounds.ogd(n, 2, K, B, R)
    elif name == "ONS":
        p, bound = ONS.from_theory(2, K, radius=B, bound=R).run(X, y), bounds.ons(n, 2, K, B, R)
    elif name == "AIOLI":
        margin = np.sqrt(2) * B
        f = AIOLI.from_theory(2, radius=margin, bound=R, horizon=n)
        p, bound = f.run(X, y), bounds.aioli(n, 2, margin, R)
    elif name == "Foster":
        p, bound = (
            Foster.from_theory(2, K, radius=B, horizon=n, m=5).run(X, y),
            bounds.foster(n, 2, K, B, R) + 2,
        )
    else:
        kind = "tight" if "tight" in name else "paper"
        p = Folklore.from_theory(2, K, radius=B, bound=R, horizon=n, constants=kind).run(X, y)
        bound = bounds.folklore(n, 2, K, B, R, constants=kind)
    best = regret.best_in_hindsight(X, y, B, n_classes=K).loss
    assert log_loss(p, y).sum() - best <= bound
    assert n * np.log(K) - best > bound


def test_vaw_is_under_both_its_bounds():
    rng = np.random.default_rng(0)
    n, d, B, R, Y = 5000, 3, 1.0, 1.0, 1.0
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    theta = np.array([0.8, -0.5, 0.3])
    y = np.clip(X @ theta * B / np.linalg.norm(theta) + 0.1 * rng.normal(size=n), -Y, Y)
    f = VAW.from_theory(d, radius=B, bound=R, target_bound=Y, horizon=n)
    loss = ((f.run(X, y) - y) ** 2).sum()
    best = regret.best_in_hindsight(X, y, B, loss="squared").loss
    assert loss - best <= bounds.vaw(n, d, B, R, Y) < bounds.squared(n, d, B, R, Y)
    assert (y**2).sum() - best > bounds.vaw(n, d, B, R, Y)  # predicting 0 breaks it


@pytest.mark.parametrize("chi", [-1, 1])
def test_every_bound_holds_in_the_hard_regime(chi):
    n = 10_000
    X, y = make_hazan(n, chi, seed=0)
    margin = np.log(n)
    B = margin / np.sqrt(2)  # of the 2 x 1 matrix
    best = regret.best_in_hindsight(X, y, B, n_classes=2).loss
    runs = {
        "GAF": (
            GAF.from_theory(1, 2, radius=B, bound=1.0, horizon=n),
            bounds.gaf(n, 1, 2, B, 1.0, "paper") + 2,
        ),
        "GAF tight": (
            GAF.from_theory(1, 2, radius=B, bound=1.0, horizon=n, constants="tight"),
            bounds.gaf(n, 1, 2, B, 1.0, "tight") + 2,
        ),
        "Folklore": (
            Folklore.from_theory(1, 2, radius=B, bound=1.0),
            bounds.folklore(n, 1, 2, B, 1.0, 1.0, "paper"),
        ),
        "AIOLI": (
            AIOLI.from_theory(1, radius=margin, bound=1.0),
            bounds.aioli(n, 1, margin, 1.0, lam=1.0),
        ),
        "ONS": (ONS.from_theory(1, 2, radius=B, bound=1.0), bounds.ons(n, 1, 2, B, 1.0)),
        "OGD": (OGD.from_theory(1, 2, radius=B, bound=1.0), bounds.ogd(n, 1, 2, B, 1.0)),
    }
    for name, (forecaster, bound) in runs.items():
        assert log_loss(forecaster.run(X, y), y).sum() - best <= bound, name
    few = 150
    X, y = make_hazan(few, chi, seed=0)
    B = np.log(few) / np.sqrt(2)
    p = Foster.from_theory(1, 2, radius=B, horizon=few, m=10).run(X, y)
    assert (
        log_loss(p, y).sum() - regret.best_in_hindsight(X, y, B, n_classes=2).loss
        <= bounds.foster(few, 1, 2, B, 1.0) + 2
    )


def test_bounds_grow_as_table_1_says():
    """Doubling n adds a constant to the logarithmic ones; B enters OGD linearly, ONS exponentially,
    GAF and FOLKLORE polynomially.
    """
    arguments = {"n_features": 5, "n_classes": 3, "bound": 1.0}
    for name in ("gaf", "folklore", "ons", "foster"):
        at = [
            getattr(bounds, name)(n, radius=3.0, **arguments) for n in (10**7, 2 * 10**7, 4 * 10**7)
        ]
        assert at[2] - at[1] == pytest.approx(at[1] - at[0], rel=1e-3), name
    assert bounds.ogd(400, radius=3.0, **arguments) == pytest.approx(
        2 * bounds.ogd(100, radius=3.0, **arguments)
    )
    assert bounds.ons(1000, radius=12.0, **arguments) > 1000 * bounds.ons(
        1000, radius=6.0, **arguments
    )
    assert bounds.gaf(1000, radius=12.0, **arguments) < 5 * bounds.gaf(
        1000, radius=6.0, **arguments
    )
    assert bounds.foster(1000, radius=12.0, **arguments) < 1.5 * bounds.foster(
        1000, radius=6.0, **arguments
    )
    assert bounds.corollary2(1000, radius=3.0, **arguments) > bounds.gaf(
        1000, radius=3.0, **arguments
    )


def test_proposition_3():
    assert bounds.proposition3(10_000, 5, 3, 2.0, 1.0, m=100).regret == np.inf
    several = [
        bounds.proposition3(10_000, 5, 3, 2.0, 1.0, m=m).regret for m in (1e6, 1e9, 1e12, 1e15)
    ]
    assert several == sorted(several, reverse=True)
    assert several[-1] - bounds.gaf(10_000, 5, 3, 2.0, 1.0) < 20
    mu, _ = bounds.proposition3(10_000, 5, 3, 2.0, 1.0, m=1e9, delta=0.1)
    assert mu == pytest.approx((3 * np.log(3e5) / 1e9) ** (1 / 3))


def test_as_many_points_as_it_says_are_enough():
    tight = bounds.gaf(10_000, 18, 7, 5.0, 1.0, "tight")
    m = bounds.points(10_000, 7, tight / 10)
    found = bounds.proposition3(10_000, 18, 7, 5.0, 1.0, m=m, constants="tight").regret
    assert found == pytest.approx(1.1 * tight)


def gafs(n, d, K, radius):
    return [row for row in bounds.table1(n, d, K, radius) if row.algorithm.split(",")[0] == "GAF"]


def test_which_gaf_is_covered_is_said_for_each_number_of_classes():
    for K, name in ((2, "Quadrature"), (4, "Certified"), (5, "Envelope"), (26, "Envelope")):
        for row in gafs(1000, 5, K, 2.0):
            assert f"integrals.{name}()" in row.covers
            assert "proved" in row.covers
    assert "integrator=Envelope()" in gafs(10, 1, 4, 50.0)[-1].covers


def test_regret_and_cost_of_a_row_are_of_the_same_forecaster():
    """Up to version 0.2.0, exact regret stood beside the cost of `Envelope`."""
    n, d, K, B = 1000, 5, 7, 2.0
    exact = bounds.sharp(n, d, K, B, 1.0)
    f = GAF.from_theory(d, K, radius=B, bound=1.0, horizon=n, constants="sharp")
    more = 2 + n * 3e-6 + bounds.envelope(n, d, K, f.lam, f.beta, 1.0)
    paper, _, sharp = gafs(n, d, K, B)
    assert sharp.regret == pytest.approx(exact + more)
    assert sharp.cost < n * ((K * d) ** 3 + 1000 * K)
    assert f"add {more:,.4g} nats" in sharp.covers
    mu, regret = bounds.proposition3(
        n, d, K, B, 1.0, m=bounds.points(n, K, more=3.0), constants="paper"
    )
    assert mu == pytest.approx(1 / n)
    assert paper.regret == pytest.approx(regret)
    assert paper.cost > n * K**2 * bounds.points(n, K, more=3.0)


def test_three_classes_are_paired_with_their_lattice():
    """The regret grows by its tolerance, and its points are those that the core takes."""
    sharp = gafs(1000, 5, 3, 2.0)[-1]
    assert sharp.regret == pytest.approx(bounds.sharp(1000, 5, 3, 2.0, 1.0) + 2 + 1000e-5)
    assert sharp.cost < 1e7  # n^3 points would be 1e13
    assert sharp.remark == "Certified: 112 points"


def test_the_default_has_a_row():
    for d, words in ((3, "nothing known"), (40, "sqrt(n)")):
        (row,) = [
            row for row in bounds.table1(5000, d, 2, 2.0) if row.algorithm == "GAFClassifier()"
        ]
        assert row.regret == bounds.default(5000, d, 2, 2.0, 1.0)
        assert words in row.remark
        assert "raw columns" in row.covers
