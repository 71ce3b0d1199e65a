"""Columns whose unit changes, for a time or for good: what was learned before still holds."""

import numpy as np
import pytest

import mixable as mx
from mixable import _core

D, BEFORE, ODD, AFTER, LAST = 4, 400, 150, 350, 300


def stream(kind, seed=0):
    """Rows with their own scale and mean each, zeros among them, and what they say."""
    rng = np.random.default_rng(seed)
    n = BEFORE + ODD + AFTER
    Z = rng.normal(size=(n, D))
    X = (Z + rng.normal(size=D)) * np.exp(rng.normal(size=D))
    X[:, 0] = np.where(rng.random(n) < 0.5, X[:, 0], 0.0)
    f = 2 * Z[:, 1] - 3 * Z[:, 2]
    if kind is mx.GAFRegressor:
        return X, f + 0.5 * rng.normal(size=n)
    return X, (f + rng.logistic(size=n) > 0).astype(int)


def loss(model, X, y):
    p = model.prequential(X, y)
    if isinstance(model, mx.GAFRegressor):
        return (p - y) ** 2
    return -np.log(np.maximum(p[np.arange(len(y)), y], 1e-3))


@pytest.mark.parametrize("factor", [1e6, 1e-3])
@pytest.mark.parametrize("is_passing", [True, False])
@pytest.mark.parametrize("kernel", [None, mx.kernels.Auto(30)])
@pytest.mark.parametrize("kind", [mx.GAFClassifier, mx.GAFRegressor])
def test_what_was_learned_holds_in_each_unit(kind, kernel, is_passing, factor):
    X, y = stream(kind)
    odd = X.copy()
    odd[BEFORE : BEFORE + ODD if is_passing else None] *= factor
    plain, changed = (loss(kind(kernel=kernel), each, y)[-LAST:] for each in (X, odd))
    assert changed.mean() < 1.1 * plain.mean()


def scaler(d=1):
    return _core.Scaler(d, intercept=False, standardize=True, views=1)


def learned(X, by=None):
    made = by or scaler(X.shape[1])
    return made, made.learn(np.ascontiguousarray(X))


def moments(made):
    return made.moments()[:, 0]


def test_old_units_are_known_again_with_the_very_statistics():
    rng = np.random.default_rng(1)
    X = 3 + 2 * rng.normal(size=(400, 1))
    made, _ = learned(X[:200])
    before = moments(made)
    learned(1000 * X[200:300], made)
    np.testing.assert_allclose(moments(made), [3000, 2000], rtol=0.2)
    learned(X[300:304], made)
    np.testing.assert_allclose(moments(made), before, rtol=0.02)
    # And the other unit is known, too.
    learned(1000 * X[304:308], made)
    np.testing.assert_allclose(moments(made), [3000, 2000], rtol=0.2)


def test_rows_look_the_same_in_each_unit():
    rng = np.random.default_rng(2)
    X = 3 + 2 * rng.normal(size=(400, 1))
    Z = learned(X)[1]
    units = X.copy()
    units[200:300] *= 1e-5
    changed = learned(units)[1]
    assert np.abs(changed - Z)[220:300].mean() < 0.3  # by statistics of 20 entries and more
    assert np.abs(changed - Z)[304:].max() < 0.2


@pytest.mark.parametrize("wrong", [1, 3, 12])
def test_a_few_entries_are_no_unit(wrong):
    """Outliers count as ten deviations, as ever, and the statistics do not begin anew."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 1))
    X[200 : 200 + wrong] *= 1e6
    made, _ = learned(X)
    assert made.state()["count"][0, 0] == 300


def test_a_burst_of_ones_among_zeros_is_no_unit():
    X = np.zeros((5000, 1))
    X[::500] = 1.0
    X[3000:3100] = 1.0
    assert learned(X)[0].state()["count"][0, 0] == 5000


def test_sizes_that_are_spread_widely_are_no_units():
    """Values over eight powers of ten; after a while in bursts."""
    rng = np.random.default_rng(4)
    levels = rng.normal(scale=4, size=130)
    X = np.exp(np.concatenate([levels[:100], np.repeat(levels[100:], 10)])[:, None])
    assert learned(X)[0].state()["count"][0, 0] == 400


def test_a_constant_in_another_unit_says_nothing_of_the_deviation():
    X = np.random.default_rng(5).normal(size=(300, 1))
    X[200:] = 1e6
    assert learned(X)[0].state()["count"][0, 0] == 300


def odd_stream(n=500):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(n, 3)) + 1
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.2] = 0.0
    X[150:190] *= 1e6
    X[300:330, 1] *= 1e-4
    X[320:, 2] *= 1e3
    return X


def test_a_table_equals_its_rows_and_forecasts_do_not_learn():
    X = odd_stream()
    Z, each = learned(X)[1], scaler(3)
    for x, z in zip(X, Z, strict=True):
        np.testing.assert_array_equal(each.transform(x), z)
        np.testing.assert_array_equal(each.learn(x), z)


@pytest.mark.parametrize("at", [100, 155, 170, 191, 310, 335, 500])
def test_saved_in_the_middle_it_goes_on_with_the_same_bits(at):
    X = odd_stream()
    first, _ = learned(X[:at])
    again = scaler(3)
    again.restore(first.state())
    larger = scaler(4)
    larger.adopt(first)
    rest = learned(X[at:], first)[1]
    np.testing.assert_array_equal(rest, learned(X[at:], again)[1])
    more = np.hstack([X[at:], np.zeros((len(X) - at, 1))])
    np.testing.assert_array_equal(rest, learned(more, larger)[1][:, :3])


def test_states_of_before_have_no_sizes():
    made, _ = learned(odd_stream()[:100])
    state = {name: made.state()[name] for name in ("count", "mean", "square", "early")}
    old = scaler(3)
    old.restore(state)
    learned(odd_stream()[100:190], old)
    assert (old.state()["count"] < 100).all()  # the change was seen all the same


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("sizes", 0, -1.0),
        ("sizes", 0, 0.5),
        ("sizes", 1, 1e9),
        ("sizes", 2, -1.0),
        ("units", 0, -1.0),
        ("units", 2, -1.0),
        ("units", 3, 0.5),
        ("units", 18, 0.5),
        ("units", 18, -1.0),
        ("units", 19, 4.0),
        ("units", 13, 1e200),
    ],
)
def test_forged_units_are_refused(name, place, value):
    made, _ = learned(odd_stream()[:170])
    state = made.state()
    state[name] = state[name].copy()
    state[name][0, place] = value
    with pytest.raises(ValueError, match="statistics"):
        scaler(3).restore(state)
