"""Kernel features beside linear ones: the same however a stream is cut, stopped or saved."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from kernel_data import MAPS, rings, small

import mixable as mx
from mixable.model import KernelPlan, grids
from mixable.model.kernel_inputs import KernelInputs


@pytest.mark.parametrize("method", MAPS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"gamma": 0.5},
        {"gamma": 0.5, "lam": 0.1, "beta": 1.0, "alpha": 4.0, "drift": 0.0},
        {"forecaster": mx.ONS},
    ],
)
def test_however_a_stream_is_cut_the_forecasts_are_the_same(method, more):
    X, y = rings(300)
    X[7, 0] = 1e6
    whole = small(method, **more).prequential(X, y, classes=[0, 1])
    pieces = small(method, **more)
    cut = [
        pieces.prequential(X[i:j], y[i:j], classes=[0, 1])
        for i, j in ((0, 3), (3, 150), (150, 151), (151, 300))
    ]
    np.testing.assert_allclose(np.vstack(cut), whole, atol=1e-9)
    single, each = small(method, **more).partial_fit(X[:1], y[:1], classes=[0, 1]), []
    for x, label in zip(X[1:], y[1:], strict=True):
        p = single.predict_proba(x[None, :])
        assert np.array_equal(p, single.predict_proba(x[None, :]))  # pure
        each.append(p[0])
        single.partial_fit(x[None, :], [label])
    np.testing.assert_allclose(each, whole[1:], atol=1e-9)
    np.testing.assert_allclose(
        single.predict_proba(X), [single.predict_proba(x[None, :])[0] for x in X], atol=1e-9
    )


@pytest.mark.parametrize("method", MAPS)
def test_however_a_stream_is_cut_with_new_classes_and_weights(method, rng):
    X, y = rings(200)
    y = np.where(np.arange(200) > 120, np.where(X[:, 0] > 1, y + 2, y), y)
    sizes, counts = 3 * rng.random(200), rng.random(200) < 0.7
    weight = np.where(counts, sizes, 0.0)
    weight[0] = 0
    whole = small(method)
    p = whole.prequential(X, y, sample_weight=weight)
    single, row = small(method), slice(0, 1)
    single.partial_fit(X[row], y[row], sample_weight=weight[row])
    for t in range(1, 200):
        q, row = np.zeros(len(whole.classes_)), slice(t, t + 1)
        q[np.searchsorted(whole.classes_, single.classes_)] = single.predict_proba(X[row])[0]
        np.testing.assert_allclose(q, p[t], atol=1e-9)
        single.partial_fit(X[row], y[row], sample_weight=weight[row])
    np.testing.assert_allclose(single.predict_proba(X), whole.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("method", MAPS)
def test_however_a_stream_of_numbers_is_cut(method, rng):
    X, _ = rings(150)
    sizes, counts = 3 * rng.random(150), rng.random(150) < 0.7
    y, weight = np.sin(X[:, 0]) + 50, np.where(counts, sizes, 0.0)
    weight[:2] = 0, 1
    mean, std = small(method, mx.GAFRegressor).prequential(
        X, y, sample_weight=weight, return_std=True
    )
    single = small(method, mx.GAFRegressor).partial_fit(X[:2], y[:2], sample_weight=weight[:2])
    for t in range(2, 150):
        row = slice(t, t + 1)
        np.testing.assert_allclose(
            np.ravel(single.predict(X[row], return_std=True)), [mean[t], std[t]], rtol=1e-9
        )
        single.partial_fit(X[row], y[row], sample_weight=weight[row])


@pytest.mark.parametrize("method", MAPS)
def test_long_tables_are_learned_and_forecast_in_pieces(method, monkeypatch):
    X, y = rings(90)
    whole = small(method).fit(X, y)
    numbers = small(method, mx.GAFRegressor).fit(X, y)
    newcomers = np.where(X[:, 0] > 2, y + 1, y)
    p, mean = (
        small(method).prequential(X, newcomers),
        small(method, mx.GAFRegressor).prequential(X, y),
    )
    monkeypatch.setattr("mixable.model.parts.MOST_NUMBERS", 600)
    np.testing.assert_allclose(
        small(method).fit(X, y).predict_proba(X), whole.predict_proba(X), atol=1e-9
    )
    pieces = small(method, mx.GAFRegressor).fit(X, y)
    np.testing.assert_allclose(
        pieces.predict(X, return_std=True), numbers.predict(X, return_std=True), atol=1e-9
    )
    np.testing.assert_allclose(pieces.predict_interval(X), numbers.predict_interval(X), atol=1e-9)
    np.testing.assert_allclose(small(method).prequential(X, newcomers), p, atol=1e-9)
    np.testing.assert_allclose(small(method, mx.GAFRegressor).prequential(X, y), mean, atol=1e-9)


@pytest.mark.parametrize("method", MAPS)
def test_refused_rows_leave_no_trace(method):
    X, y = rings(60)
    model = small(method).fit(X, y)
    before = model.predict_proba(X)
    for bad in (np.full((2, 2), np.inf), np.zeros((2, 3))):
        with pytest.raises(ValueError, match=r"infinity|features"):
            model.partial_fit(bad, [0, 1])
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(X[:2], [0, 1], sample_weight=[1.0, -1.0])
    assert np.array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("method", MAPS)
def test_new_features_are_as_if_they_had_been_0(method, monkeypatch, rng):
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    inputs = small(method).fit(X[:, :2], y).learner_.inputs
    monkeypatch.delattr(KernelPlan, "maps")  # maps are not made only to be thrown away
    larger = inputs.with_features(3)
    missing = np.column_stack([X[:, :2], np.full(60, np.nan)])
    views = inputs.transform(X[:, :2].copy()).reshape(60, inputs.plan.views, -1)
    wider = np.concatenate([views, np.zeros((60, inputs.plan.views, 1))], axis=2)
    np.testing.assert_allclose(larger.transform(missing), wider.reshape(60, -1), atol=1e-12)


@pytest.mark.parametrize("method", MAPS)
def test_a_table_that_is_refused_leaves_map_and_forecaster_in_step(method):
    X, y = rings(80)
    stopped, other = (small(method).partial_fit(X[:20], y[:20]) for _ in range(2))
    weight = np.ones(60)
    weight[33] = 1e13  # more than can be learned
    with pytest.raises(ValueError, match="weight"):
        stopped.learner_.run(X[20:], y[20:].tolist(), weight)
    assert stopped.forecaster_.steps == 20
    np.testing.assert_array_equal(stopped.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("method", MAPS)
def test_rows_of_weight_0_count_for_nothing(method, rng):
    X, y = rings(120)
    weight = (rng.random(120) < 0.5).astype(float)
    whole, some = (small(method).partial_fit(X[:5], y[:5]) for _ in range(2))
    whole.partial_fit(X[5:], y[5:], sample_weight=weight[5:])
    counts = np.flatnonzero(weight[5:]) + 5
    some.partial_fit(X[counts], y[counts])
    ours, theirs = whole.learner_.inputs.state(), some.learner_.inputs.state()
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-12)


@pytest.mark.parametrize("method", MAPS)
def test_a_crafted_state_is_refused(method):
    X, y = rings(40)
    scaler = small(method).fit(X, y).learner_.inputs
    state = scaler.state()
    name = "map0.factor" if method == "nystroem" else "map0.frequencies"
    for crafted, message in (
        ({name: np.zeros((2, 2))}, "shape"),
        ({name: state[name].astype(np.float32)}, "float64"),
        ({"map7.gamma": state["map0.gamma"]}, "nothing called"),
        ({"amplitude": np.array([np.nan])}, "amplitude"),
    ):
        with pytest.raises(ValueError, match=message):
            scaler.restore({**state, **crafted})
    after = scaler.state()
    assert all(np.array_equal(after[key], state[key], equal_nan=True) for key in state)


@pytest.mark.parametrize("change", [{"linear": False}, {"n_components": 9}])
def test_a_plan_that_is_not_the_forecasters_is_refused(change):
    X, y = rings(40)
    model = small("nystroem").fit(X[:12], y[:12])
    learner = copy.copy(model.learner_)
    learner.design = copy.copy(learner.design)
    learner.design.kernel = replace(learner.design.kernel, **change)
    with pytest.raises(ValueError, match="do not go together"):
        pickle.loads(pickle.dumps(learner))


@pytest.mark.parametrize("method", MAPS)
def test_without_linear_features_beside_there_are_zeros(method, rng):
    X = rng.normal(size=(30, 2))
    plan = KernelPlan.of("rbf", 8, None, method)
    both, alone = (
        KernelInputs(replace(plan, beside=beside), 2, intercept=True, standardize=True)
        for beside in (True, False)
    )
    for inputs in (both, alone):
        inputs.scaled.scaler.learn(X)
    Z, others = both.transform(X), alone.transform(X)
    np.testing.assert_array_equal(Z[:, :-2], others[:, :-2])
    assert np.all(others[:, -2:] == 0)
    assert np.any(Z[:, -2:] != 0)
    with pytest.raises(TypeError, match="beside"):
        replace(plan, beside="no")


def test_rows_are_logarithmic_beyond_the_bend_of_a_plan(rng):
    X = rng.normal(size=(300, 2))
    plan = KernelPlan.of("rbf", 8, None, "nystroem")
    views = []
    for bend in (1.0, 2.0):
        inputs = KernelInputs(replace(plan, bend=bend), 2, intercept=True, standardize=True)
        inputs.scaled.scaler.learn(X)
        again = inputs.with_features(3).scaled.transform(np.hstack([X, X[:, :1]]))
        views.append(inputs.transform(X)[:, -2:])
        np.testing.assert_array_equal(again[:, -3:-1], views[-1])
    near = np.abs(views[1]) <= 1
    np.testing.assert_array_equal(views[0][near], views[1][near])
    assert np.all(np.abs(views[0])[~near] < np.abs(views[1])[~near])
    before = {name: value for name, value in vars(plan).items() if name != "bend"}
    assert KernelPlan(**before).bend == 1  # that of files from before there was one
    for wrong in (0.0, np.nan, "1"):
        with pytest.raises((TypeError, ValueError), match="bend"):
            replace(plan, bend=wrong)


def test_kernels_of_numbers_do_not_squash_what_is_usual(rng, monkeypatch):
    X = rng.normal(size=(700, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=700)
    errors = []
    for bend in (grids.NONLINEAR_RIDGE_BEND, 1.0):
        monkeypatch.setattr(grids, "NONLINEAR_RIDGE_BEND", bend)
        errors.append(np.square(mx.GAFRegressor().prequential(X, y) - y)[100:].mean())
    assert errors[0] < 0.95 * errors[1]
