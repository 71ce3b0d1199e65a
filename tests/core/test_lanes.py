"""Posteriors in the lanes of vectors: the same as each by itself, in every build of the core."""

import numpy as np
import pytest
from streams import logistic_stream

from mixable.integrals import Pairwise, ladder
from mixable.paper.surrogates import SURROGATES

# Enough for a bank in every build, and one or more that are left over.
SETTINGS = [
    (10.0 ** -(i % 5), 0.5 + 0.25 * (i % 4), [0.0, 1e-3, 0.0, 0.1, 0.0][i % 5]) for i in range(11)
]
ALPHAS = [4.0, 16.0, np.inf]
AVERAGED = SURROGATES.index("averaged")


def mixture(core, d, classes, settings=SETTINGS, views=1, mu=0.0, structure="blocks"):
    grid = [(*s, i % views, False, True, structure, False) for i, s in enumerate(settings)]
    rungs = ladder(Pairwise(), classes, 0)
    return core.AutoGAF(d, classes, grid, ALPHAS, (), mu, 1.0, 0.0, False, 1, rungs, views)


def alone(core, d, classes, settings=SETTINGS, mu=0.0, structure="blocks"):
    def made(*options):
        if structure == "full":
            return core.GAF(d, classes, *options, ladder(Pairwise(), classes, 0))
        return core.StructuredGAF(d, classes, structure, *options)

    return [made(lam, beta, alpha, mu, drift) for lam, beta, drift in settings for alpha in ALPHAS]


def assert_experts_are(f, members, X, y, weight, views):
    """Let a mixture and its members by themselves learn a stream, and compare all forecasts."""
    d = X.shape[1] // views
    rows = [np.ascontiguousarray(X[:, v * d : (v + 1) * d]) for v in range(views)]
    expected = [
        member.run(rows[i // len(ALPHAS) % views], y.astype(np.int_), weight)
        for i, member in enumerate(members)
    ]
    for t, each in enumerate(np.stack(expected, axis=1)):
        np.testing.assert_allclose(f.components(X[t])[:, 1:], each, rtol=0, atol=1e-9)
        f.learn(X[t], int(y[t]), float(weight[t]))


@pytest.mark.parametrize("structure", ["blocks", "shared", "full"])
@pytest.mark.parametrize("mu", [0.0, 0.01])
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize(("d", "classes"), [(1, 3), (4, 3), (7, 5), (18, 4), (3, 20)])
def test_a_bank_is_its_members(core, d, classes, views, mu, structure):
    """Forecasts, weights and covariances, with weighted examples and sudden large inputs."""
    X, y = logistic_stream(150, views * d, classes)
    X[100] *= 1e4
    weight = np.random.default_rng(1).choice([0.5, 1.0, 1.0, 3.0], size=len(y))
    f = mixture(core, d, classes, views=views, mu=mu, structure=structure)
    members = alone(core, d, classes, mu=mu, structure=structure)
    assert_experts_are(f, members, X, y, weight, views)
    saved = f.state()
    for i in range(len(SETTINGS)):
        own = members[i * len(ALPHAS)]
        np.testing.assert_allclose(saved[f"{i}.V"], own.mean(), rtol=0, atol=1e-8)
        if saved[f"{i}.pending"] == 0:
            S = own.covariance()
            kept = saved[f"{i}.A_inverse" if structure == "full" else f"{i}.S"]
            if structure == "full":  # of which the lower half is kept
                kept, S = np.tril(kept), np.tril(S)
            np.testing.assert_allclose(kept, S, rtol=0, atol=1e-8 * np.abs(S).max())


@pytest.mark.parametrize("structure", ["blocks", "shared", "full"])
def test_tables_single_rows_and_restored_states_are_the_same(core, structure):
    X, y = logistic_stream(300, 6, 4)
    one, two, three = (mixture(core, 6, 4, structure=structure) for _ in range(3))
    table = one.run(X, y.astype(np.int_), None)
    for t in range(len(y)):
        np.testing.assert_array_equal(two.predict(X[t]), table[t])
        two.learn(X[t], int(y[t]), 1.0)
        if t == 150:
            three.restore(two.state())
            two = three


@pytest.mark.parametrize("structure", ["blocks", "shared", "full"])
def test_a_state_with_pending_steps_is_taken_in(core, structure):
    """As files have it in which these members were each by themselves."""
    X, y = logistic_stream(203, 5, 3)
    f = mixture(core, 5, 3, SETTINGS[:8], structure=structure)
    own = alone(core, 5, 3, SETTINGS[:8], structure=structure)
    for member in own:
        member.run(X, y.astype(np.int_), None)
    f.run(X, y.astype(np.int_), None)
    state = f.state()
    for i in range(8):
        theirs = own[i * len(ALPHAS)].state()
        assert theirs["pending"] == {"blocks": 3, "shared": 3, "full": 5}[structure]
        state |= {f"{i}.{name}": value for name, value in theirs.items()}
    g = mixture(core, 5, 3, SETTINGS[:8], structure=structure)
    g.restore(state)
    more, labels = logistic_stream(50, 5, 3)
    expected = f.run(more, labels.astype(np.int_), None)
    np.testing.assert_allclose(g.run(more, labels.astype(np.int_), None), expected, atol=1e-10)


def of_two_classes(core, d, settings, averaged, views=1, mu=0.0):
    pairs = zip(settings, averaged, strict=True)
    grid = [(*s, i % views, False, True, "full", a) for i, (s, a) in enumerate(pairs)]
    rungs = ladder(Pairwise(), 2, 0)
    return core.AutoGAF(d, 2, grid, ALPHAS, (), mu, 1.0, 0.0, False, 1, rungs, views)


@pytest.mark.parametrize("averaged", [[], [3, 5], range(11)])
@pytest.mark.parametrize(("d", "views", "mu"), [(1, 1, 0.0), (7, 1, 0.01), (12, 2, 0.0)])
def test_two_classes_each_lane_with_its_own_surrogate(core, d, views, mu, averaged):
    """Averaged posteriors are read at a quarter of each alpha.

    Weights and inputs for which averaged.hpp's steps converge. Where they do not, they amplify
    rounding: members by themselves differ by 1e-6 between two builds, too.
    """
    X, y = logistic_stream(150, views * d, 2)
    X[100] *= 1e4
    y[40:50] = 1 - y[40:50]  # surprises
    weight = np.random.default_rng(1).choice([0.5, 1.0, 1.0, 3.0], size=len(y))
    has = [i in averaged for i in range(len(SETTINGS))]
    f = of_two_classes(core, d, SETTINGS, has, views, mu)
    rungs = ladder(Pairwise(), 2, 0)
    members = [
        core.GAF(d, 2, lam, beta, alpha / 4**a, mu, drift, rungs, surrogate=AVERAGED * a)
        for (lam, beta, drift), a in zip(SETTINGS, has, strict=True)
        for alpha in ALPHAS
    ]
    assert_experts_are(f, members, X, y, weight, views)


def test_averaged_members_that_were_by_themselves_are_taken_in(core):
    """As files have it that were saved before there were lanes for them."""
    X, y = logistic_stream(203, 5, 2)
    has = [i in (3, 5) for i in range(8)]
    f, g = (of_two_classes(core, 5, SETTINGS[:8], has) for _ in range(2))
    f.run(X, y.astype(np.int_), None)
    state, rungs = f.state(), ladder(Pairwise(), 2, 0)
    for i, ((lam, beta, drift), a) in enumerate(zip(SETTINGS[:8], has, strict=True)):
        own = core.GAF(5, 2, lam, beta, 1.0, 0.0, drift, rungs, surrogate=AVERAGED * a)
        own.run(X, y.astype(np.int_), None)
        assert own.state()["pending"] > 0
        state |= {f"{i}.{name}": value for name, value in own.state().items()}
    g.restore(state)
    more, labels = logistic_stream(50, 5, 2, seed=1)
    expected = f.run(more, labels.astype(np.int_), None)
    np.testing.assert_allclose(g.run(more, labels.astype(np.int_), None), expected, atol=1e-9)
