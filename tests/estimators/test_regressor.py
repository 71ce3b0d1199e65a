"""GAFRegressor: means, deviations, intervals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from streams import share

from mixable import GAFRegressor, kernels


def test_regressor(line):
    X, y = line
    model = GAFRegressor(kernel=None).fit(X, y)
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.coef_, [1.0, -0.02, 500.0], rtol=0.2)
    assert (np.abs(model.coef_ - [1.0, -0.02, 500.0]) < 4 * model.coef_std_).all()
    assert np.isfinite(model.intercept_)
    mean, std = model.predict(X, return_std=True)
    assert np.median(std) == pytest.approx(0.3, rel=0.2)
    interval = model.predict_interval(X, level=0.9)
    assert 0.8 < share((interval[:, 0] <= y) & (y <= interval[:, 1])) < 0.98
    X, y = X[:100], y[:100]
    one, expected = GAFRegressor(kernel=kernels.Auto(30)), []
    for t in range(100):
        expected.append(one.predict(X[t : t + 1])[0] if t else np.nan)
        one.partial_fit(X[t : t + 1], y[t : t + 1])
    mean, std = GAFRegressor(kernel=kernels.Auto(30)).prequential(X, y, return_std=True)
    np.testing.assert_allclose(mean[1:], expected[1:], rtol=1e-9, atol=1e-9)
    assert "AutoRidge" in model.report()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X[:1], [np.nan])


@pytest.mark.parametrize("weight", [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0] + [0.0] * 40])
def test_rows_of_weight_0_make_nothing_certain(weight):
    X = np.random.default_rng(0).normal(size=(len(weight), 2))
    model = GAFRegressor().partial_fit(X, np.arange(len(weight)) + 3.0, sample_weight=weight)
    assert model.predict_interval(X[:1])[0].tolist() == [-np.inf, np.inf]


def test_equal_targets_are_believed_in_after_a_while():
    X = np.random.default_rng(0).normal(size=(40, 2))
    for n in (2, 5, 15):
        assert GAFRegressor().fit(X[:n], [7.0] * n).predict(X[:1], return_std=True)[1] == np.inf
    mean, std = GAFRegressor().fit(X, [7.0] * 40).predict(X[:1], return_std=True)
    assert (mean[0], std[0]) == (7.0, 0.0)


def test_an_offset_of_the_targets_does_not_matter(line):
    X, y = line
    nonlinear = GAFRegressor(kernel=kernels.Auto(30))
    mean, std = clone(nonlinear).prequential(X, y, return_std=True)
    shifted, same = clone(nonlinear).prequential(X, y + 1e8, return_std=True)
    assert std[:2].tolist() == same[:2].tolist() == [np.inf, np.inf]
    np.testing.assert_allclose(shifted[1:] - 1e8, mean[1:], atol=1e-4)
    np.testing.assert_allclose(same[2:], std[2:], rtol=1e-4)
    model, plain = (GAFRegressor(kernel=None).fit(X, each) for each in (y + 1e8, y))
    assert model.intercept_ == pytest.approx(plain.intercept_ + 1e8, abs=1e-3)
    np.testing.assert_allclose(model.predict_interval(X).mean(axis=1), model.predict(X), atol=0.2)


@pytest.mark.parametrize("d", [1, 4])
def test_intervals_are_honest_from_the_beginning(d):
    """90% intervals: in rows 3 to 8 they hold at least 80% of all targets, and one target says
    nothing of the next.
    """
    hits = np.zeros((50, 9))
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(9, d))
        y = X.sum(axis=1) + 50 + rng.normal(size=9)
        model = GAFRegressor(kernel=None)
        for t in range(9):
            if t:
                low, high = model.predict_interval(X[t : t + 1])[0]
                hits[seed, t] = 1.0 if low <= y[t] <= high else 0.0
                assert np.isinf(high - low) == (t == 1)
            model.partial_fit(X[t : t + 1], y[t : t + 1])
    assert (hits[:, 2:].mean(axis=0) >= 0.8).all()
    assert hits[:, 2:].mean() <= 0.99


@pytest.mark.parametrize("sign", [1, -1])
def test_a_table_sorted_by_target_is_fitted_in_another_order(line, sign):
    X, y = line
    order = np.argsort(sign * y)
    X, y = X[order], y[order]
    model, in_turn = GAFRegressor(kernel=None).fit(X, y), GAFRegressor(kernel=None)
    in_turn.partial_fit(X, y)
    assert model.score(X, y) > 0.9
    assert not np.array_equal(model.predict(X), in_turn.predict(X))


@pytest.mark.parametrize("seed", [0, 2, 3])
@pytest.mark.parametrize("kind", ["normal", "heavy tails", "categories"])
def test_the_default_is_never_far_behind_the_running_mean(kind, seed):
    """Of targets that no column tells, never more than 4 nats in all: squared errors over twice
    the variance.
    """
    rng, n = np.random.default_rng(seed), 500
    X = rng.normal(size=(n, 10))
    y = rng.standard_t(3, n) if kind == "heavy tails" else rng.normal(size=n)
    if kind == "categories":
        X = pd.DataFrame({f"c{j}": rng.choice(list("abcdefgh"), n) for j in range(10)})
    p = GAFRegressor(kernel=kernels.Auto(20)).prequential(X, y)
    means = np.append(0, np.cumsum(y)[:-1] / np.arange(1, n))
    behind = np.cumsum((p - y) ** 2 - (means - y) ** 2) / (2 * y.var())
    assert behind.max() < 4
