"""Regression on records: two stages that learn the same, in one order."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, vstack

import mixable as mx
from mixable.model import Learner, RecordPool
from mixable.river import GAFRegressor as RiverRegressor


def stream(n, seed=0):
    """Records with something of each kind, and targets that depend on all of it."""
    rng = np.random.default_rng(seed)
    of_user, of_word = rng.normal(0, 2, 12), rng.normal(0, 1, 20)
    records, targets = [], np.empty(n)
    for t in range(n):
        user, words, price = rng.integers(12), rng.integers(0, 20, 3), rng.normal(10, 3)
        records.append(
            {
                "user": f"u{user}",
                "price": None if t % 7 == 3 else round(float(price), 2),
                "text": " ".join(f"word{word}" for word in words),
                "time": f"2024-01-{1 + t // 24 % 28:02d}T{t % 24:02d}:00:00",
                "tags": ["new"] if t % 3 else [],
            }
        )
        effect = of_user[user] + of_word[words].sum() + 0.3 * price + np.sin(t % 24 / 4)
        targets[t] = 100 + effect + 0.2 * rng.normal()
    return records, targets


RECORDS, Y = stream(300)
FRAME = pd.DataFrame(RECORDS)
AUTO = mx.kernels.Auto(10)
KERNELS = [None, AUTO]


def regressor(kernel=AUTO, **options):
    return mx.GAFRegressor(kernel=kernel, **options)


def error(forecasts, y=Y, begin=100):
    return np.sqrt(np.mean((forecasts - y)[begin:] ** 2))


@pytest.mark.parametrize("kernel", KERNELS)
def test_records_say_more_than_their_numbers(kernel):
    whole = regressor(kernel).prequential(FRAME, Y)
    numbers = regressor(kernel).prequential(FRAME[["price"]].astype(float), Y)
    assert error(whole) < 0.6 * error(numbers)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_table_is_a_loop(kernel):
    """Of frames, of dictionaries, and in pieces of other sizes."""
    whole, std = regressor(kernel).prequential(FRAME[:150], Y[:150], return_std=True)
    online = RiverRegressor(kernel=kernel)
    model, loop = regressor(kernel), []
    for t in range(150):
        row = FRAME[t : t + 1]
        said = online.predict_one(RECORDS[t])
        if t:
            mean, own = model.predict(row, return_std=True)
            loop.append((mean[0], own[0], said))
        model.partial_fit(row, Y[t : t + 1])
        online.learn_one(RECORDS[t], float(Y[t]))
    means, deviations, dictionaries = np.array(loop).T
    np.testing.assert_allclose(means, whole[1:], rtol=1e-6)
    np.testing.assert_allclose(deviations[5:], std[6:], rtol=1e-5)
    np.testing.assert_allclose(dictionaries, whole[1:], rtol=1e-6)


def test_no_forecast_depends_on_what_comes_later():
    spoilt = Y.copy()
    spoilt[120:] = -1e6
    one, other = (regressor().prequential(FRAME, each) for each in (Y, spoilt))
    np.testing.assert_array_equal(one[:121], other[:121])
    assert abs(one[121] - other[121]) > 1


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_goes_on_with_the_same_bits(kernel, twin_of):
    model = regressor(kernel).partial_fit(FRAME[:90], Y[:90])
    for twin in (twin_of(model), mx.loads(mx.dumps(model))):
        again = copy.deepcopy(model)
        for each in (twin, again):
            each.partial_fit(FRAME[90:150], Y[90:150])
        np.testing.assert_array_equal(twin.predict(FRAME[150:]), again.predict(FRAME[150:]))
        assert mx.dumps(twin) == mx.dumps(again)


@pytest.mark.parametrize("kernel", KERNELS)
def test_intervals_hold_as_many_targets_as_they_say(kernel):
    records, y = stream(700, seed=1)
    frame, model = pd.DataFrame(records), regressor(kernel)
    model.partial_fit(frame[:300], y[:300])
    inside = []
    for at in range(300, 700, 20):
        rows, targets = frame[at : at + 20], y[at : at + 20]
        low, high = model.predict_interval(rows, level=0.8).T
        inside += list((low <= targets) & (targets <= high))
        model.partial_fit(rows, targets)
    assert 0.72 < np.mean(np.array(inside, dtype=float)) < 0.88


def test_the_unit_and_the_offset_of_the_targets_do_not_matter():
    plain = regressor().prequential(FRAME[:150], Y[:150])
    other = regressor().prequential(FRAME[:150], 1e-7 * Y[:150] + 3)
    np.testing.assert_allclose((other[1:] - 3) / 1e-7, plain[1:], atol=1e-4)


def test_new_values_columns_and_gaps_may_come_at_any_time():
    model = RiverRegressor(kernel=mx.kernels.Auto(4))
    for record, y in zip(RECORDS[:30], Y, strict=False):
        model.learn_one(record, float(y))
    before = model._learner.n_features
    later = {"user": "nobody knows", "weight": 3.5, "colour": "red", "price": float("nan")}
    for x in ({}, later, {"price": None}, {"user": None, "tags": ["a", "b"]}):
        assert np.isfinite(model.predict_one(x))
        low, high = model.predict_interval_one(x)
        assert low < model.predict_one(x) < high
        model.learn_one(x, 100.0)
    assert model._learner.n_features == before + 1
    assert model._learner.forecaster.n_features == before + 1
    assert np.isfinite(model.predict_one({**later, "weight": 1e300}))
    assert mx.loads(mx.dumps(model)).predict_one(later) == model.predict_one(later)


def test_river_takes_tables_of_records():
    many, one = RiverRegressor(kernel=mx.kernels.Auto(4)), RiverRegressor(kernel=mx.kernels.Auto(4))
    frame = FRAME.drop(columns="time")  # what is there in a table came before the rows below it
    many.learn_many(frame[:60], pd.Series(Y[:60]))
    for record, y in zip(frame[:60].to_dict("records"), Y, strict=False):
        one.learn_one(record, float(y))
    expected = [one.predict_one(record) for record in frame[60:65].to_dict("records")]
    np.testing.assert_allclose(many.predict_many(frame[60:65]), expected, rtol=1e-6)


def test_bags_of_counts_are_features_that_are_0_where_they_are_absent():
    model, rng = RiverRegressor(), np.random.default_rng(0)
    effects = rng.normal(size=40)
    missed = []
    for _ in range(400):
        words = rng.choice(40, 5, replace=False)
        x, y = {f"w{word}": 1 for word in words}, float(effects[words].sum())
        missed.append(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    assert model.encoder is not None
    assert np.mean(missed[300:]) < 0.3 * np.mean(np.abs(effects)) * np.sqrt(5)


def test_sparse_matrices_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    X = csr_array(np.where(rng.random((400, 60)) < 0.1, rng.normal(size=(400, 60)), 0.0))
    y = X @ rng.normal(size=60) + 0.05 * rng.normal(size=400)
    model = mx.GAFRegressor()
    forecasts = model.prequential(X, y)
    assert error(forecasts, y, 300) < 0.35 * y.std()
    assert model.predict_interval(X[:2]).shape == (2, 2)
    np.testing.assert_array_equal(model.predict(X[:5]), model.predict(X[:5].toarray()))
    model.partial_fit(vstack([X, X]), np.tile(y, 2))
    with pytest.raises(ValueError, match="60"):
        model.predict(X[:, :5])


def test_a_weight_of_0_changes_no_forecast():
    model = regressor().partial_fit(FRAME[:80], Y[:80])
    before = model.predict(FRAME[100:])
    model.partial_fit(FRAME[80:100], np.full(20, 1e6), sample_weight=np.zeros(20))
    np.testing.assert_array_equal(model.predict(FRAME[100:]), before)


def test_crosses_are_seen_where_they_are_declared():
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 8, (2, 800))
    y = np.where((users + items) % 2, 1.0, -1.0) + 0.1 * rng.normal(size=800)
    frame = pd.DataFrame({"user": users.astype(str), "item": items.astype(str)})
    columns = mx.records.Columns(category=["user", "item"])
    crossed = mx.records.Columns(category=["user", "item"], cross=[("user", "item")])
    plain, better = (
        error(mx.GAFRegressor(kernel=None, columns=each).prequential(frame, y), y, 400)
        for each in (columns, crossed)
    )
    assert better < 0.5 < 0.9 < plain


def test_a_table_that_is_refused_leaves_all_in_step():
    model = regressor().partial_fit(FRAME[:64], Y[:64])
    before = model.predict(FRAME)
    with pytest.raises(ValueError, match=r"out of range|double precision|too large"):
        model.partial_fit(FRAME[64:100], np.where(np.arange(36) == 20, 1e120, Y[64:100]))
    with pytest.raises(ValueError, match="weight"):
        model.partial_fit(FRAME[64:66], Y[64:66], sample_weight=[1.0, -1.0])
    pool = model.forecaster_
    assert pool.steps == pool.stage.sparse.steps == model.learner_.records.encoder.n == 64
    np.testing.assert_array_equal(model.predict(FRAME), before)


def test_the_report_and_the_page_say_what_it_is():
    model = regressor().partial_fit(FRAME[:40], Y[:40])
    assert "after 40 examples" in model.report()
    assert "sparse features" in model.report()
    assert "kernels" in model.report()
    assert "linear" in model._repr_html_()


FORGERIES = {
    "no design": lambda state: state.update(design="none"),
    "numbers that are not there": lambda state: state.update(n_features=7),
    "experts in another order": lambda state: state["experts"].reverse(),
    "an expert of other examples": lambda state: state["experts"][0].learn(
        np.ones(state["experts"][0]._row_length), 1.0
    ),
    "no stage": lambda state: state.update(stage=None),
    "statistics of other numbers": lambda state: state["stage"]["inputs"].update(
        count=np.zeros((1, 9))
    ),
    "a stage that is cut": lambda state: state["stage"]["sparse"].update(
        slots=state["stage"]["sparse"]["slots"][:3]
    ),
    "a judge that is cut": lambda state: state["state"].pop("level"),
    "a judge of others": lambda state: state["state"].update(level=np.zeros((1, 9))),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_does_not_go_together_is_refused(name):
    model = regressor().partial_fit(FRAME[:20], Y[:20])
    state = copy.deepcopy(model.forecaster_).__getstate__()
    FORGERIES[name](state)
    with pytest.raises((ValueError, TypeError, KeyError)):
        RecordPool.__new__(RecordPool).__setstate__(state)


def test_what_is_not_built_is_refused_by_name():
    models = [RiverRegressor(kernel=mx.kernels.Auto(4)) for _ in range(2)]
    for model in models:
        model.learn_one(RECORDS[0], 1.0)
    with pytest.raises(TypeError, match="cannot be merged"):
        mx.merge(models)


def test_the_log_density_is_that_of_the_intervals():
    """It integrates to about 0.5 between the ends of the middle half, which follow the misses."""
    model = regressor().partial_fit(FRAME[:120], Y[:120])
    learner = model.learner_
    assert isinstance(learner, Learner)
    rows = learner.inputs.transform(FRAME[120:121])
    (low,), (high,) = learner.forecaster.interval(rows, 0.5)
    at = np.linspace(low, high, 400)
    density = np.exp([learner.forecaster.log_density(rows, np.array([y]))[0] for y in at])
    np.testing.assert_allclose(np.trapezoid(density, at), 0.5, atol=0.05)
