"""Columns that matter: trees say which, and one kernel of a pool sees those alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import mixable as mx
from mixable import _core
from mixable.kernels import Nystroem
from mixable.model.selection import Selection, column_weights

D, USEFUL = 20, (3, 12)


def _ring(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A ring in two of many columns."""
    X = np.random.default_rng(0).normal(size=(n, D))
    return X, (X[:, USEFUL[0]] ** 2 + X[:, USEFUL[1]] ** 2 > 1.4).astype(int)


def _pool(model):
    return model.learner_.pool


def _selected(model) -> set[int]:
    pool = _pool(model)
    weights = pool.inputs[pool.selection.place].weights
    return set() if weights is None else set(np.flatnonzero(weights).tolist())


def _learning(X, y):
    """A model whose next expert is learning, and how many rows it has had."""
    model = mx.GAFClassifier()
    model.prequential(X[:99], y[:99])
    for at in range(99, len(y)):
        model.prequential(X[at : at + 1], y[at : at + 1])
        if _pool(model).selection.expert is not None:
            return model, at + 1
    raise AssertionError("no columns were selected")


def _loss(P, y) -> float:
    return float(-np.log(P[np.arange(len(y)), y]).mean())


def test_trees_give_nothing_to_columns_that_say_nothing():
    X, y = _ring(1500)
    trees = mx.Trees(D, 2)
    trees.run(X, y)
    assert trees.feature_importances[list(USEFUL)].sum() > 0.97
    numbers = mx.Trees(D)
    numbers.run(X, 5 * np.sin(2 * X[:, 3]) + X[:, 12] + np.random.default_rng(1).normal(size=1500))
    assert numbers.feature_importances[list(USEFUL)].sum() > 0.97


def test_weighted_landmarks_are_those_of_weighted_inputs():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(300, 4)), np.array([2.0, 0.0, 0.5, 1.0])
    one, other = Nystroem(4, 60, gamma=0.3), Nystroem(4, 60, gamma=0.3)
    one.weigh(weights)
    phi, one = one.learn(X)
    expected, other = other.learn(X * weights)
    np.testing.assert_allclose(phi, expected, atol=1e-12)
    np.testing.assert_allclose(one.transform(X[:1]), other.transform(X[:1] * weights), atol=1e-12)
    wider = np.hstack([X, rng.normal(size=(300, 1))])
    np.testing.assert_allclose(one.add_features(1).transform(wider), one.transform(X), atol=1e-12)
    again = Nystroem(4, 60, gamma=0.3)
    again.restore(one.state())
    np.testing.assert_array_equal(again.transform(X), one.transform(X))
    with pytest.raises(ValueError, match="weights must be 4 numbers"):
        again.restore({**one.state(), "weights": np.full(4, np.nan)})


def test_a_kernel_sees_the_columns_that_matter_and_the_loss_is_lower():
    X, y = _ring(900)
    model, held = mx.GAFClassifier(), mx.GAFClassifier()
    held.prequential(X[:90], y[:90])
    _pool(held).selection.hold()
    without = held.prequential(X[90:], y[90:])
    P = model.prequential(X, y)[90:]
    assert _selected(model) == {*USEFUL}
    assert _pool(model).selection.place in _pool(model).active
    assert _selected(held) == set()
    assert _pool(held).selection.place not in _pool(held).active
    assert _loss(P, y[90:]) < 0.95 * _loss(without, y[90:])


def test_so_does_a_kernel_of_numbers():
    X, _ = _ring(700)
    y = np.sin(2 * X[:, 3]) + X[:, 12]
    model = mx.GAFRegressor()
    model.prequential(X, y)
    assert _selected(model) == {*USEFUL}


def test_a_table_is_a_loop_of_rows():
    X, y = _ring(450)
    table, loop = mx.GAFClassifier(), mx.GAFClassifier()
    table.partial_fit(X[:150], y[:150], classes=[0, 1])
    loop.partial_fit(X[:150], y[:150], classes=[0, 1])
    P = table.prequential(X[150:], y[150:])
    rows = []
    for x, label in zip(X[150:], y[150:], strict=True):
        rows.append(loop.predict_proba(x[None])[0])
        loop.partial_fit(x[None], [label])
    np.testing.assert_allclose(P, rows, atol=1e-9)
    assert _selected(table) == _selected(loop) != set()


def test_saved_while_the_next_expert_learns_it_goes_on_with_the_same_bits(tmp_path):
    X, y = _ring(700)
    model, at = _learning(X, y)
    mx.save(model, tmp_path / "model.mx")
    loaded = mx.load(tmp_path / "model.mx")
    own, other = (each.prequential(X[at:], y[at:]) for each in (model, loaded))
    np.testing.assert_array_equal(own, other)
    assert _selected(loaded) == _selected(model) == {*USEFUL}


@pytest.mark.parametrize("kind", [mx.GAFClassifier, mx.GAFRegressor])
def test_saved_among_rows_of_weight_0_it_goes_on_with_the_same_bits(kind):
    """Those do not count for reviews, but blocks of rows end where one was expected."""
    X, y = _ring(900)
    weight = np.random.default_rng(1).integers(0, 2, len(y)).astype(float)
    model = kind()
    model.partial_fit(X[:300], y[:300], sample_weight=weight[:300])
    loaded = mx.loads(mx.dumps(model))
    for each in (model, loaded):
        each.partial_fit(X[300:], y[300:], sample_weight=weight[300:])
    forecast = getattr(kind, "predict_proba", kind.predict)
    np.testing.assert_array_equal(forecast(model, X), forecast(loaded, X))


def test_a_new_class_or_feature_lets_the_next_expert_begin_anew():
    X, y = _ring(420)
    model, at = _learning(X, y)
    learner = model.learner_
    learner.add_label("new")
    assert learner.pool.selection.expert is None
    learner.add_features(1)
    learner.pool.run(np.hstack([X, X[:, :1]])[at:], y[at:])


def test_forged_states_are_refused():
    model, _ = _learning(*_ring(420))
    pool = _pool(model)
    state = copy.deepcopy(pool.selection.state())
    part = pool.design.parts[pool.selection.place]
    other = Selection.of(pool.design.parts)
    with pytest.raises(ValueError, match="next expert"):
        other.restore(state, part, D + 1, 2)
    with pytest.raises(ValueError, match="next expert"):
        other.restore(state, part, D, 3)
    with pytest.raises(ValueError, match="taught"):
        other.restore({**state, "taught": -1}, part, D, 2)


def test_weights_keep_the_mean_squared_distance():
    weights = column_weights(np.array([16.0, 0, 0, 1, 0]), 5)
    assert (weights**2).sum() == pytest.approx(5)
    assert column_weights(np.zeros(5), 5) is None
    assert column_weights(np.array([3.0, 0, 0, 0, 0]), 5) is None  # bins see one column as well
    assert column_weights(np.ones(5), 5) is None


def test_a_judge_has_no_other_experts_to_make_active():
    for judge in (_core.NumberJudge(3), _core.Judge(3, 2, 1.0, 0.0, 1e-3, 1e-3, 0.005, 1.0)):
        judge.set_active(2, False)
        assert judge.active == [0, 1]
        judge.set_active(2, True)
        assert judge.active == [0, 1, 2]
        for place in (-1, 0, 3):
            with pytest.raises(IndexError):
                judge.set_active(place, False)


@pytest.mark.parametrize("seed", range(3))
def test_a_model_loads_whenever_it_was_saved(seed):
    """Also where an expert joined after the first ranking, and before the first review."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 12))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=600) > 0).astype(int)
    model, joined = mx.GAFClassifier(), 0
    for at in range(0, 600, 50):
        model.prequential(X[at : at + 50], y[at : at + 50], classes=[0, 1])
        twin = mx.loads(mx.dumps(model))
        np.testing.assert_array_equal(twin.predict_proba(X[:5]), model.predict_proba(X[:5]))
        joined += at > 256 and _pool(model).selection.place in _pool(model).active
    assert joined or seed  # with this seed it does
