"""Naive Bayes as an expert: its densities, its promises, and what a pool makes of it."""

import copy

import numpy as np
import pytest
from naive_bayes_reference import EVIDENCE, forecast, run
from sklearn.naive_bayes import GaussianNB

import mixable as mx
from mixable._natural import Change
from mixable.experts import NaiveBayes
from mixable.metrics import log_loss
from mixable.model import (
    BayesDesign,
    Design,
    Learner,
    PooledDesign,
    RecordPool,
    TreeDesign,
    design_of_classes,
)
from mixable.model.sampling import _draws

D, K, N = 4, 3, 300
rng = np.random.default_rng(0)
Y = rng.integers(K, size=N)
X = rng.normal(size=(N, D)) * (1.0 + Y[:, None]) + Y[:, None] * [0.0, 1.0, 0.0, 2.0]
W = rng.uniform(0.5, 2.0, size=N)


def learned(X=X, y=Y, weight=None, n_classes=K):
    f = NaiveBayes(X.shape[1], n_classes)
    f.run(X, y, weight)
    return f


def state_of(f):
    return f._core.state()


def assert_same(one, other):
    for name, value in state_of(one).items():
        np.testing.assert_allclose(value, state_of(other)[name], rtol=1e-9, atol=1e-9)


def blend():
    """A pool of a linear expert and this one."""
    linear = Design.for_classes(None, dict.fromkeys(("lam", "beta", "alpha", "drift")))
    return RecordPool(PooledDesign([linear, BayesDesign()]), D, K)


def logits(pool, rows):
    return _draws(pool, rows, 1, 1, np.random.default_rng(0))[0]


def test_it_is_what_its_definition_says():
    found, wanted = learned(weight=W).predict(X[:50]), [forecast(X, Y, W, x, K) for x in X[:50]]
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(NaiveBayes(D, K).run(X, Y), run(X, Y, K), rtol=1e-8, atol=1e-11)


def test_with_many_examples_it_is_that_of_scikit_learn():
    many, y = np.tile(X, (300, 1)), np.tile(Y, 300)
    other = GaussianNB(var_smoothing=0.0).fit(many, y)
    prior = np.log(other.class_prior_)
    joint = prior + EVIDENCE * (other.predict_joint_log_proba(X) - prior)
    expected = np.exp(joint - joint.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(learned(many, y).predict(X), expected, rtol=1e-2, atol=1e-6)


def test_it_begins_with_class_frequencies():
    f = NaiveBayes(D, K)
    np.testing.assert_allclose(f.predict(X[0]), 1 / K)
    f.learn(np.ones(D), 1)  # one value says nothing of a width
    np.testing.assert_allclose(f.predict(X[0]), np.array([0.5, 1.5, 0.5]) / 2.5)


def test_a_table_is_the_loop_and_predicting_changes_nothing():
    f, before = NaiveBayes(D, K), []
    for x, y, w in zip(X, Y, W, strict=True):
        state = state_of(f)
        before.append(f.predict(x))
        assert all(np.array_equal(state[name], value) for name, value in state_of(f).items())
        f.learn(x, y, w)
    g = NaiveBayes(D, K)
    assert np.array_equal(g.run(X, Y, W), before)
    assert all(np.array_equal(state_of(g)[name], value) for name, value in state_of(f).items())


def test_units_and_the_order_of_classes_and_features_do_not_matter():
    p = learned().predict(X)
    np.testing.assert_allclose(learned(1e6 * X - 3e6).predict(1e6 * X - 3e6), p, atol=1e-8)
    np.testing.assert_allclose(learned(y=(Y + 1) % K).predict(X)[:, [1, 2, 0]], p, atol=1e-12)
    np.testing.assert_allclose(learned(X[:, ::-1].copy()).predict(X[:, ::-1]), p, atol=1e-12)


@pytest.mark.parametrize("value", [1e300, -1e150, 1e-300, 5e-324, 0.0, 0.1])
def test_forecasts_are_sound_whatever_the_numbers(value):
    odd = X.copy()
    odd[:, 0] = value  # a constant
    odd[::7, 1] = value
    pool = blend()
    P = np.vstack([pool.run(odd[:200], Y[:200]), pool.predict(odd[200:])])
    assert np.isfinite(P).all()
    own = np.exp(logits(pool, odd))
    assert np.isfinite(own).all()
    own /= own.sum(axis=1, keepdims=True)
    assert own.min() > 1e-13
    assert all(np.isfinite(each).all() for each in state_of(pool.experts[1]).values())


def test_what_is_missing_is_left_out():
    holes = X.copy()
    holes[rng.random(X.shape) < 0.3] = np.nan
    pool = blend()
    pool.run(holes, Y)
    state = state_of(pool.experts[1])
    for c in range(K):
        own = holes[c == Y]
        np.testing.assert_array_equal(state["count"][1 + c], (~np.isnan(own)).sum(axis=0))
        np.testing.assert_allclose(state["mean"][1 + c], np.nanmean(own, axis=0))
        square = state["square"][1 + c] / state["count"][1 + c]
        np.testing.assert_allclose(square, np.nanvar(own, axis=0))
    rest = NaiveBayes(D - 1, K)
    rest._core.restore(
        {n: v[:, 1:].copy() if n in ("count", "mean", "square") else v for n, v in state.items()}
    )
    rows = X[:20].copy()
    rows[:, 0] = np.nan
    expected = np.log(rest.predict(X[:20, 1:].copy()))
    expected -= expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(logits(pool, rows), expected, atol=1e-9)


def test_a_weight_is_that_many_examples_and_0_is_none():
    double = learned(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    twice = learned(weight=np.full(N, 2.0))
    np.testing.assert_allclose(twice.predict(X), double.predict(X), atol=1e-10)
    f = learned()
    before = f.predict(X)
    f.learn(X[0], 0, 0.0)
    assert np.array_equal(f.predict(X), before)


def test_it_grows():
    f = learned(X[:, :2].copy(), np.minimum(Y, 1), n_classes=2)
    before = f.predict(X[:, :2].copy())
    f.add_features(2)
    f.add_class()
    p = f.predict(X)
    np.testing.assert_allclose(p[:, 0] / p[:, 1], before[:, 0] / before[:, 1], rtol=1e-7)
    f.run(X, Y)
    assert f.steps == 2 * N
    assert np.isfinite(f.predict(X)).all()


def test_merged_it_has_learned_all_examples():
    base = learned(X[:100], Y[:100])
    parts = []
    for some in (slice(100, 180), slice(180, 300)):
        part = copy.deepcopy(base)
        part.run(X[some], Y[some])
        parts.append(part)
    assert_same(mx.merge(parts, base=base), learned())
    assert_same(mx.merge([learned(X[:90], Y[:90]), learned(X[90:], Y[90:])]), learned())
    assert_same(parts[0].delta(base), learned(X[100:180], Y[100:180]))
    constant = np.full((N, D), 0.1)
    both = mx.merge([learned(constant[:9], Y[:9]), learned(constant[9:], Y[9:])])
    assert not state_of(both)["square"].any()


def test_features_and_classes_go_to_their_places():
    order, places = [2, 0, 3, 1], [1, 2, 0]
    rows = np.zeros((1 + D, 1 + D))  # with an intercept
    rows[0, 0] = rows[1 + np.arange(D), 1 + np.array(order)] = 1.0
    classes = np.zeros((K, K))
    classes[places, np.arange(K)] = 1.0
    assert_same(
        NaiveBayes(D, K)._combine([learned()], None, [Change(rows=rows, classes=classes)]),
        learned(X[:, order].copy(), np.array(places)[Y]),
    )
    half = mx.merging.tempered(learned(), 0.5)
    np.testing.assert_allclose(
        half.predict(X), learned(weight=np.full(N, 0.5)).predict(X), atol=1e-10
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("count", -1.0),
        ("square", -1.0),
        ("square", np.nan),
        ("mean", np.inf),
        ("mean", 1e200),
        ("classes", -1.0),
        ("steps", -1),
    ],
)
def test_a_forged_state_is_refused(name, value):
    f = learned()
    state = f.__getstate__()
    known = dict(state["state"])
    known[name] = value if name == "steps" else np.full_like(known[name], value)
    with pytest.raises(ValueError, match=r"saved state|does not fit"):
        NaiveBayes.__new__(NaiveBayes).__setstate__({**state, "state": known})


def test_a_forged_size_is_refused_before_anything_is_made():
    state = learned().__getstate__()
    for sizes in ({"n_features": 10**12}, {"n_classes": 10**12}, {"n_features": 2}):
        with pytest.raises(ValueError, match="must have shape"):
            NaiveBayes.__new__(NaiveBayes).__setstate__(
                {**state, "parameters": {**state["parameters"], **sizes}}
            )


def test_a_pool_of_numbers_has_none():
    ridge = Design.for_numbers({"lam": None, "drift": None})
    for parts in ([ridge, BayesDesign()], [TreeDesign()]):
        with pytest.raises(TypeError, match="must be AutoGAF or AutoRidge"):
            PooledDesign.__new__(PooledDesign).__setstate__({"parts": parts, "standardize": True})


def test_the_default_sees_how_wide_classes_are():
    wide = np.random.default_rng(1)
    y = wide.integers(2, size=800)
    rows = wide.normal(size=(800, 10)) * np.where(y, 2.0, 1.0)[:, None]
    model = mx.GAFClassifier()
    loss = log_loss(model.prequential(rows, y, classes=[0, 1]), y)
    pool = model.learner_.pool
    assert "naive Bayes" in pool.design.names
    assert pool.design.names.index("naive Bayes") in pool.active
    own = NaiveBayes(10, 2)
    alone = log_loss(own.run(rows, y), y)
    assert loss < alone + 0.05


def test_it_goes_on_from_a_file(tmp_path):
    model = mx.GAFClassifier().partial_fit(X[:200], Y[:200], classes=range(K))
    mx.save(model, tmp_path / "model.mixable")
    again = mx.load(tmp_path / "model.mixable")
    places = [each.learner_.pool.design.names.index("naive Bayes") for each in (model, again)]
    assert again.learner_.pool.experts[places[1]].steps == 200
    for each in (model, again):
        each.partial_fit(X[200:], Y[200:])
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))


def test_outcomes_that_come_late_are_learned_with_raw_numbers():
    plan = design_of_classes(None, dict.fromkeys(("lam", "beta", "alpha", "drift")))
    learner = Learner(plan, D, tuple(range(K)))
    kept = [learner.kept(x) for x in X[:60]]
    for each, label in zip(kept, Y[:60].tolist(), strict=True):
        learner.learn_kept(each, label)
    place = plan.names.index("naive Bayes")
    assert_same(learner.pool.experts[place], learned(X[:60], Y[:60]))


def test_records_have_it_and_other_classes_and_columns_come():
    model = mx.river.GAFClassifier()
    for row, label in zip(X[:60].tolist(), Y[:60].tolist(), strict=True):
        record = {f"x{i}": value for i, value in enumerate(row[: 2 + label])}
        model.learn_one({**record, "kind": "ab"[label % 2]}, f"{label}")
    learner = model._learner
    (own,) = [each for each in learner.forecaster.experts if isinstance(each, NaiveBayes)]
    shown = np.where(np.arange(D) < 2 + Y[:60, None], X[:60], np.nan)
    state = state_of(own)
    np.testing.assert_allclose(state["mean"][0], np.nanmean(shown, axis=0))
    for label, code in learner.codes.items():
        assert state["classes"][0, code] == (int(label) == Y[:60]).sum()
