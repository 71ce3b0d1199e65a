"""Linear and curved regressions, mixed, through GAFRegressor()."""

import copy
import pickle

import numpy as np
import pytest
from scipy.special import logsumexp

import mixable as mx
from mixable import GAFRegressor
from mixable.learner import CurvedRidge
from mixable.learner.usefulness import PERIOD


def sinus(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)


def line(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, 2.0, -1.0] + rng.normal(size=n)


def rmse(forecasts, y):
    return np.sqrt(np.mean((forecasts - y)[100:] ** 2))


def small(**options):
    return GAFRegressor(kernel=mx.kernels.Auto(30), **options)


def test_the_default_follows_a_curve():
    X, y = sinus()
    model = GAFRegressor()
    curved = rmse(model.prequential(X, y), y)
    linear = rmse(GAFRegressor(kernel=None).prequential(X, y), y)
    assert isinstance(model.forecaster_, CurvedRidge)
    assert curved < 0.4 * linear
    assert model.forecaster_.trust > 0.9
    assert "Curved" in model.report()


def test_where_a_line_is_the_truth_little_is_lost_and_the_curves_rest():
    X, y = line(2 * PERIOD + 200)
    model = small()
    mixed = rmse(model.prequential(X, y), y)
    assert mixed < 1.01 * rmse(GAFRegressor(kernel=None).prequential(X, y), y)
    forecaster = model.forecaster_
    assert forecaster.is_resting
    assert forecaster.trust == 0
    assert forecaster.curved.steps == 2 * PERIOD < forecaster.steps
    assert "rests" in model.report()
    alone = forecaster.linear.predict(model.learner_.inputs.transform(X[:5]))
    np.testing.assert_allclose(model.predict(X[:5]), alone + model.learner_.outcomes.offset)


def test_one_by_one_equals_a_table_also_across_the_beginning_of_a_rest():
    X, y = line(2 * PERIOD + 40)
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0)
    table, single, start = small(), small(), 2 * PERIOD - 60
    for model in (table, single):
        model.fit(X[:start], y[:start], weight[:start])
    expected = []
    for t in range(start, len(y)):
        expected.append(single.predict(X[t : t + 1], return_std=True))
        single.partial_fit(X[t : t + 1], y[t : t + 1], weight[t : t + 1])
    got = table.prequential(X[start:], y[start:], weight[start:], return_std=True)
    np.testing.assert_allclose(np.array(expected)[:, :, 0].T, got, rtol=1e-9, atol=1e-9)
    assert table.forecaster_.is_resting
    assert single.forecaster_.is_resting


def test_predicting_changes_nothing_and_is_not_stale():
    X, y = sinus(80)
    model = small().fit(X, y)
    before = pickle.dumps(model)
    first = model.predict(X[:1])
    assert model.predict(X[:1]) == first
    assert pickle.dumps(model) == before
    model.partial_fit(X[1:2], y[1:2] + 5)
    assert model.predict(X[:1]) != first


def test_density_and_interval_are_those_of_the_mixture():
    X, y = sinus(150)
    model = small().fit(X, y)
    f, z = model.forecaster_, model.learner_.inputs.transform(X[:3])
    f.odds = 0.3
    rows = f.inputs.transform(np.ascontiguousarray(z[:, -2:]))
    logs = [f.linear.log_density(z, y[:3]), f.curved.log_density(rows, y[:3])]
    trust = 1 / (1 + np.exp(-0.3))
    expected = logsumexp(np.array(logs).T, axis=1, b=[1 - trust, trust])
    np.testing.assert_allclose(f.log_density(z, y[:3]), expected, rtol=1e-9)
    low, high = f.interval(z, 0.5)
    steps = np.linspace(low[0], high[0], 2001)
    density = np.exp([f.log_density(z[0], step) for step in steps])
    assert np.trapezoid(density, steps) == pytest.approx(0.5, abs=1e-3)


def test_saved_copied_and_pickled_it_goes_on_with_the_same_bits(tmp_path):
    X, y = sinus(300)
    model = small().fit(X[:200], y[:200])
    mx.save(model, tmp_path / "model")
    others = [mx.load(tmp_path / "model"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    expected = model.prequential(X[200:], y[200:])
    for other in others:
        assert (other.prequential(X[200:], y[200:]) == expected).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("odds", np.nan), ("odds", 99.0), ("linear", 3), ("n_features", 5), ("rests", 2)],
)
def test_a_state_that_does_not_go_together_is_refused(name, value):
    X, y = sinus(20)
    state = small().fit(X, y).forecaster_.__getstate__()
    with pytest.raises((TypeError, ValueError)):
        CurvedRidge.__new__(CurvedRidge).__setstate__({**state, name: value})


def test_views_that_nobody_sees_are_not_computed():
    X, y = sinus(300)
    model = small().fit(X, y)
    f = model.forecaster_
    z = np.ascontiguousarray(model.learner_.inputs.transform(X[:1])[:, -2:])
    f.inputs.asleep = frozenset({0, 2})
    views = f.inputs.transform(z).reshape(4, -1)[:, 1:31]
    assert not views[[0, 2]].any()
    assert views[1].any()
    assert views[3].any()


def test_outliers_among_the_targets_do_not_break_it():
    X, y = sinus(800)
    rng = np.random.default_rng(1)
    far = y + np.where(rng.random(800) < 0.03, 1e4 * rng.normal(size=800), 0.0)
    model = GAFRegressor().fit(X, far)
    off = np.abs(model.predict(X) - np.sin(2 * X[:, 0]))
    assert np.median(off) < 0.25


def test_coefficients_are_refused_with_a_word_on_how_to_get_them():
    X, y = sinus(30)
    model = small().fit(X, y)
    for name in ("coef_", "intercept_", "coef_std_"):
        with pytest.raises(AttributeError, match="kernel=None is linear"):
            getattr(model, name)


def test_a_refused_row_leaves_no_trace():
    X, y = sinus(60)
    model = small().fit(X, y)
    before = model.forecaster_.steps, model.forecaster_.curved.steps
    for wrong in ([np.nan], [1e300], ["a"]):
        with pytest.raises((TypeError, ValueError)):
            model.partial_fit(X[:1], wrong)
    assert (model.forecaster_.steps, model.forecaster_.curved.steps) == before
