"""GAF: its parameters, its memory, what it refuses."""

import contextlib
import copy
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from streams import logistic_stream

from mixable import GAF, _core, _validate
from mixable.integrals import Rung, Sobol

BAD_PARAMETERS = [
    ({"lam": 0.0}, ValueError, "lam must be above 0"),
    ({"lam": -1.0}, ValueError, "lam"),
    ({"lam": np.nan}, ValueError, "lam"),
    ({"lam": np.inf}, ValueError, "lam"),
    ({"lam": "1"}, TypeError, "lam must be a number"),
    ({"beta": 0.0}, ValueError, "beta"),
    ({"beta": -0.5}, ValueError, "beta"),
    ({"alpha": 0.0}, ValueError, "alpha"),
    ({"alpha": np.nan}, ValueError, "alpha"),
    ({"alpha": 1e-320}, ValueError, "alpha must be at least 1e-300"),
    ({"mu": -0.1}, ValueError, "mu"),
    ({"mu": 0.6}, ValueError, "mu must be at least 0 and at most 0.5"),
    ({"drift": -1e-9}, ValueError, "drift"),
    ({"drift": np.inf}, ValueError, "drift"),
    ({"seed": -1}, ValueError, "seed"),
    ({"seed": 2**64}, ValueError, "seed must be below"),
    ({"lam": np.array([1.0, 2.0])}, TypeError, "lam must be one number"),
    ({"integrator": Sobol}, TypeError, "integrator"),
    ({"seed": 0.5}, TypeError, "seed must be an integer"),
    ({"n_classes": 1}, ValueError, "n_classes must be at least 2"),
    ({"n_classes": 3.0}, TypeError, "n_classes"),
    ({"n_features": 0}, ValueError, "n_features"),
    ({"n_features": "4"}, TypeError, "n_features"),
]


@pytest.mark.parametrize(("wrong", "error", "message"), BAD_PARAMETERS)
def test_bad_parameters(wrong, error, message):
    with pytest.raises(error, match=message):
        GAF(**{"n_features": 4, "n_classes": 3, **wrong})


def test_parameters_can_be_read_and_not_changed():
    f = GAF(4, 3, lam=2, alpha=np.inf)
    assert (
        f.n_features,
        f.n_classes,
        f.lam,
        f.beta,
        f.alpha,
        f.mu,
        f.drift,
        f.integrator,
        f.seed,
    ) == (4, 3, 2.0, 1.0, np.inf, 1e-6, 0.0, None, 0)
    assert repr(f) == (
        "GAF(n_features=4, n_classes=3, lam=2.0, beta=1.0, alpha=inf, mu=1e-06, drift=0.0, "
        "structure='full', integrator=None, seed=0, surrogate='tangent')"
    )
    with pytest.raises(AttributeError, match="lam is fixed"):
        f.lam = 1.0
    with pytest.raises(TypeError):
        GAF(4, 3, 0.1)  # keyword-only after the two sizes


def test_a_model_that_would_not_fit_is_refused_with_its_size():
    with pytest.raises(MemoryError) as refusal:
        GAF(100_000, 11)
    needed = int(re.search(r"would need (\d+) bytes", str(refusal.value)).group(1))
    assert 8 * 10**12 <= needed <= 2.5 * 8 * 10**12
    assert 0 < _validate.available_memory() < np.inf


@pytest.mark.parametrize(("d", "K"), [(64, 10), (1000, 2), (256, 10), (784, 10)])
def test_memory_is_two_and_a_half_matrices_at_most(d, K):
    D = (K - 1) * d
    assert _core.posterior_bytes(K - 1, d, K - 1, False) <= 2.5 * 8 * D * D


@pytest.mark.parametrize(("d", "K"), [(256, 10), (3, 200), (13, 100)])
def test_a_forecaster_takes_the_memory_that_it_says(d, K):
    """Growth of resident memory against the figure that the fallback uses."""
    code = f"""
import numpy as np, mixable, resource
X = np.random.default_rng(0).normal(size=(10, {d}))
mixable.GAF(3, {K}, integrator="montecarlo").run(X[:, :3], np.arange(10) % {K})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
mixable.GAF({d}, {K}, integrator="montecarlo").run(X, np.arange(10) % {K})
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""
    grown = int(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
    )
    assert grown <= 1.1 * _core.posterior_bytes(K - 1, d, K - 1, False) + 8e6


def test_absurd_sizes_are_refused_at_once():
    start = time.monotonic()
    for d, K in [(10**20, 2), (100_000, 1000), (10**9, 10**9)]:
        with pytest.raises((MemoryError, ValueError), match=r"bytes|2\^63"):
            GAF(d, K)
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("scale", [1e8, 1e150, 1e200])
def test_inputs_too_large_for_double_precision_are_refused(scale):
    f = GAF(3, 3)
    f.learn([1.0, 2.0, 3.0], 0)
    before = f.predict([1.0, 2.0, 3.0])
    for action in (
        lambda x: f.predict(x),
        lambda x: f.learn(x, 1),
        lambda x: f.predict([[1.0, 2.0, 3.0], x]),
    ):
        with pytest.raises(ValueError, match=r"x.*too large.*scale the inputs"):
            action([scale, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"X\[1\] is too large"):
        f.run([[1.0, 2.0, 3.0], [scale, 0.0, 1.0]], [0, 1])
    assert f.steps == 1
    assert np.array_equal(f.predict([1.0, 2.0, 3.0]), before)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"beta": 1e20}, {"drift": 1e17}, {"lam": 1e-300}, {"lam": 1e300}, {"alpha": 1e-300}],
)
@pytest.mark.parametrize("weight", [1.0, 1e20, 1e300])
def test_extremes_are_learned_or_refused_and_never_poison_the_model(parameters, weight):
    f = GAF(2, 4, **parameters)
    rng = np.random.default_rng(0)
    for t in range(30):
        x = rng.normal(size=2) * min(1.0, np.sqrt(1e14 * f.lam))
        with contextlib.suppress(ValueError):
            f.learn(x, t % 4, weight)
        p = f.predict(x)
        assert abs(p.sum() - 1) < 1e-9
        assert np.isfinite(f.coef).all()


@pytest.mark.parametrize("structure", ["full", "blocks", "shared", "diagonal"])
@pytest.mark.parametrize(
    ("x", "weight", "beta"), [([0.0, 0.015, 0.038], 1.0, 1e20), ([0.0, 0.0, 0.0], 1e100, 1e100)]
)
def test_a_model_that_has_seen_extremes_can_be_copied(structure, x, weight, beta):
    f = GAF(3, 3, lam=1e-3, beta=beta, structure=structure)
    with contextlib.suppress(ValueError):
        f.learn(x, 0, weight)
    f.learn([0.0, 0.0, 0.0], 1, 0.0)
    for _ in range(2):
        assert copy.deepcopy(f).steps == f.steps
        f.add_features(1)


def rungs_of(*rungs):
    class Own:
        def rungs(self, k, seed):
            return list(rungs)

    return Own()


@pytest.mark.parametrize(
    ("integrator", "message"),
    [
        (rungs_of(), "no rungs"),
        (rungs_of(Rung("gauss", np.inf)), "kind 'gauss'"),
        (rungs_of(Rung("random", np.inf, -5)), "m of rung 0"),
        (rungs_of(Rung("random", np.nan, 5)), "reach of rung 0"),
        (
            rungs_of(
                Rung("symmetric", np.inf, 64, points=np.zeros((2, 4)), weights=np.full(4, 1 / 8))
            ),
            r"points \(2, 64\)",
        ),
        (
            rungs_of(Rung("symmetric", np.inf, 4, points=np.zeros((2, 4)), weights=np.ones(4))),
            "sum to 1/2",
        ),
        (
            rungs_of(
                Rung(
                    "symmetric",
                    np.inf,
                    4,
                    points=np.full((2, 4), np.nan),
                    weights=np.full(4, 1 / 8),
                )
            ),
            "finite",
        ),
        ("simpson", "integrator must be one of"),
    ],
)
def test_malformed_integrators_are_refused(integrator, message):
    with pytest.raises(ValueError, match=message):
        GAF(3, 3, integrator=integrator)


def test_alpha_orders_the_hedge():
    """On inputs the forecaster is sure of, the wider posterior (smaller alpha) gives the flatter
    forecast.
    """
    X, y = logistic_stream(60, 3, 4)
    confidence = []
    for alpha in (0.25, 1.0, 4.0, np.inf):
        f = GAF(3, 4, alpha=alpha)
        f.run(X, y)
        confidence.append(f.predict(X).max(axis=1).mean())
    assert confidence == sorted(confidence)


def test_mu_is_the_share_of_the_uniform_forecast():
    X, y = logistic_stream(60, 3, 4)
    plain, smooth = GAF(3, 4, mu=0.0).run(X, y), GAF(3, 4, mu=0.25).run(X, y)
    np.testing.assert_allclose(smooth, 0.75 * plain + 0.25 / 4, rtol=0, atol=1e-15)


def test_drift_follows_a_change():
    X, y = logistic_stream(4000, 3, 3)
    y = np.where(np.arange(4000) < 2000, y, (y + 1) % 3)
    losses = [
        -np.log(GAF(3, 3, drift=q).run(X, y)[np.arange(2000, 4000), y[2000:]]).mean()
        for q in (0.0, 1e-2)
    ]
    assert losses[1] < 0.6 * losses[0]


def test_two_classes_have_one_matrix_of_d_by_d():
    f = GAF(7, 2)
    assert f._core.covariance().shape == (7, 7)


def test_a_state_that_does_not_fit_is_refused_and_the_model_stays_as_it_was():
    X, y = logistic_stream(50, 3, 3)
    small, large = GAF(3, 3), GAF(4, 3)
    small.run(X, y)
    before = small.predict(X)
    state = small._core.state()
    with pytest.raises(ValueError, match="does not fit"):
        large._core.restore(state)
    for broken in (
        {**state, "pending": 10**6},
        {**state, "P": np.zeros((1, 1))},
        {**state, "V": np.zeros((5, 5))},
        {**state, "steps": -1},
    ):
        with pytest.raises(ValueError, match="fit"):
            small._core.restore(broken)
        assert np.array_equal(small.predict(X), before)
        assert small.steps == 50


def test_restoring_into_a_used_model_leaves_nothing_of_it():
    X, y = logistic_stream(50, 3, 3)
    donor, other = GAF(3, 3), GAF(3, 3)
    donor.run(X[:13], y[:13])
    other.run(X[:41], (y[:41] + 1) % 3)
    other._core.restore(donor._core.state())
    assert np.array_equal(other.run(X, y), donor.run(X, y))
