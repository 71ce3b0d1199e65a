"""When the experts of a pool rest: core/rest.hpp."""

import numpy as np
import pytest
from streams import logistic_stream

import mixable as mx
from mixable._core import PERIOD
from mixable.learner import Blend, design_of_classes


def reviewed(judge, *gains):
    """The judge after reviews of what a pool has gained, each of a loss of 1 nat."""
    for gain in gains:
        judge.restore({**judge.state(), "rest.gain": gain, "rest.loss": 1.0})
        judge.review()
    return judge.state()["rest.left"]


def judge(core):
    return core.Judge(2, 2, 1.0, 1e-4, 1e-3, 1e-3)


def test_who_gains_nothing_rests_and_is_tried_again_less_and_less_often(core):
    rest = judge(core)
    assert reviewed(rest, 0.0, 0.1) == 0
    assert reviewed(rest, 0.0, 0.0) == 32
    assert rest.is_resting
    assert reviewed(rest, *[0.0] * 32) == 0
    assert reviewed(rest, 0.0) == 64
    for _ in range(40):
        left = reviewed(rest, *[0.0] * (rest.state()["rest.left"] + 1))
    assert left == 512
    assert reviewed(rest, *[0.0] * left, 0.1) == 0
    assert rest.state()["rest.idle"] == 0


def test_what_is_noted_is_the_gain_over_the_first(core):
    rest = judge(core)
    said = np.array([[0.5, 0.5, 0.9, 0.1], [0.2, 0.8, 0.1, 0.9]])
    pooled = rest.run(said, np.array([0, 1]), None)
    state = rest.state()
    gain = np.log(pooled[0, 0] / 0.5) + np.log(pooled[1, 1] / 0.8)
    assert state["rest.gain"] == pytest.approx(gain)
    assert state["rest.loss"] == pytest.approx(-np.log(0.5) - np.log(0.8))


@pytest.mark.parametrize("bad", [{"left": -1}, {"left": 10**6}, {"gain": np.nan}, {"alone": -1}])
def test_states_that_cannot_be_are_refused(core, bad):
    rest = judge(core)
    with pytest.raises(ValueError, match="counters"):
        rest.restore({**rest.state(), **{f"rest.{name}": value for name, value in bad.items()}})


def test_where_a_plane_is_right_the_curved_experts_rest(tmp_path):
    """And forecasts, steps, saved models and any batches are what they were."""
    X, y = logistic_stream(3 * PERIOD, 4, 3)
    whole, parts = (
        mx.GAFClassifier(kernel=mx.kernels.Auto(20)),
        mx.GAFClassifier(kernel=mx.kernels.Auto(20)),
    )
    p = whole.prequential(X, y, classes=range(3))
    assert whole.forecaster_.is_resting
    assert "All but the linear one rest" in whole.report()
    design = design_of_classes(None, {"lam": None}, features=(20, None, "nystroem"))
    pool = Blend(design, 4, 3)
    pool._fallback = None  # which stands beside whoever does not rest
    first = Blend(design.parts[0], 4, 3).run(X, y)
    np.testing.assert_allclose(pool.run(X, y)[2 * PERIOD :], first[2 * PERIOD :], atol=1e-12)
    pieces = np.split(np.arange(len(y)), [5, PERIOD - 1, PERIOD, 2 * PERIOD + 1])
    again = [parts.prequential(X[rows], y[rows], classes=range(3)) for rows in pieces]
    np.testing.assert_allclose(np.concatenate(again), p, rtol=0, atol=1e-9)
    assert parts.forecaster_.steps == whole.forecaster_.steps == 3 * PERIOD
    mx.save(whole, tmp_path / "model")
    loaded = mx.load(tmp_path / "model")
    for model in (whole, loaded):
        model.partial_fit(X[:1], y[:1])
    np.testing.assert_array_equal(loaded.predict_proba(X), whole.predict_proba(X))


def test_columns_may_come_while_they_rest():
    X, y = logistic_stream(2 * PERIOD, 3, 2)
    model = mx.river.GAFClassifier(kernel=mx.kernels.Auto(5))
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), label)
    forecaster = model._learner.forecaster
    assert forecaster.is_resting
    model.learn_one({0: 1.0, 3: 2.0}, 2)
    assert forecaster.is_resting
    assert (forecaster.n_classes, forecaster.steps) == (3, 2 * PERIOD + 1)
    assert sum(model.predict_proba_one({0: 1.0, 3: -2.0}).values()) == pytest.approx(1)


def test_where_curves_pay_nobody_rests():
    X, y = mx.datasets.make_shapes(3 * PERIOD, "circles")
    model = mx.GAFClassifier(kernel=mx.kernels.Auto(20)).fit(X, y)
    assert not model.forecaster_.is_resting
