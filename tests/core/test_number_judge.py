"""The compiled judge of experts of numbers."""

from typing import Any

import numpy as np
import pytest
from number_judges import ReferenceJudge

from mixable import _core
from mixable.experts.densities import Components, log_densities, quantiles


def stream(n: int = 400, seed: int = 0) -> tuple[Any, Any]:
    """Means (n, 4) of experts that err in different places, and targets with uneven noise."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    y = 2 * a + b + np.exp(0.5 * a) * 0.3 * rng.normal(size=n)
    X = np.column_stack([2 * a, b, 2 * a + b + rng.normal(size=n), np.zeros(n)])
    return X, y


def run(X: Any, y: Any, weight: Any = None, judge: Any = None) -> Any:
    return (judge or _core.NumberJudge(X.shape[1])).run(X, y, weight)


def parts_of(judge: Any, x: Any) -> Components:
    each = judge.components(np.atleast_2d(x)).reshape(len(np.atleast_2d(x)), -1, 4)
    heard = each[0, :, 0] > 0
    weight, mean, scale, thin = each[:, heard].transpose(2, 0, 1)
    return Components(weight=weight[0], mean=mean, scale=scale, thin=thin[0])


def test_it_is_the_reference() -> None:
    X, y = stream(260)
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.1] = np.nan  # not active
    X[:100, 2] = np.nan  # comes late
    X[:, 0] = np.nan_to_num(X[:, 0])  # one always is
    weight = rng.choice([0.5, 1.0, 3.0], size=len(y))
    y[200] = 1e6
    reference, judge = ReferenceJudge(4), _core.NumberJudge(4)
    for t in range(len(y)):
        row = slice(t, t + 1)
        level = (0.3, 0.9, 0.97)[t % 3]
        ends = judge.interval(X[row], level)[0]
        ((mean, _, score),) = run(X[row], y[row], weight[row], judge)
        reference.read(X[t])
        assert mean == pytest.approx(reference.mean, rel=1e-8, abs=1e-8), t
        if reference.size.seen >= 5 and t % 7 == 0:  # which takes long
            assert score == pytest.approx(reference.log_density(y[t]), rel=1e-7, abs=1e-7), t
            assert ends == pytest.approx(reference.interval(level), rel=1e-6, abs=1e-6), t
        reference.learn(y[t], weight[t])


def test_experts_that_err_in_different_places_are_added_up() -> None:
    X, y = stream(2000)
    judge = _core.NumberJudge(4)
    misses = run(X, y, judge=judge)[1000:, 0] - y[1000:]
    noise = np.sqrt(np.mean((y - X[:, 0] - X[:, 1])[1000:] ** 2))
    assert np.sqrt(np.mean(misses**2)) < 1.1 * noise
    assert judge.weights(X[:1]).sum() == pytest.approx(1)
    said = [*X[0], judge.state()["target"]]  # the last is the mean of the targets
    assert judge.weights(X[:1]) @ said == pytest.approx(judge.predict(X[:1])[0, 0])


def test_noise_that_depends_on_the_forecast_is_learned() -> None:
    X, y = stream(3000)
    judge = _core.NumberJudge(4)
    out = run(X, y, judge=judge)
    low, high = out[2000:, 0] < -2, out[2000:, 0] > 2
    assert out[2000:, 1][high].mean() > 1.5 * out[2000:, 1][low].mean()


def test_intervals_cover_what_they_say() -> None:
    inside, means = watched(*stream(2200))
    assert 0.885 < np.mean(inside) < 0.915
    quarters = np.argsort(np.argsort(means)) * 4 // len(means)
    each = [np.mean(inside[quarters == quarter]) for quarter in range(4)]
    assert min(each) > 0.84, each
    assert max(each) < 0.95, each


@pytest.mark.parametrize(
    "factor", [np.repeat([1.0, 8.0, 0.3, 20.0], 600), np.geomspace(1, 1e4, 2400)], ids=str
)
def test_intervals_hold_what_they_say_whatever_the_noise_does(factor: Any) -> None:
    rng = np.random.default_rng(3)
    means = rng.normal(size=(2400, 2))
    y = means[:, 0] + factor * rng.standard_t(2, size=2400)
    inside, _ = watched(means, y)
    assert 0.885 < np.mean(inside) < 0.915


def test_an_interval_is_that_of_the_density_until_targets_say_otherwise() -> None:
    X, y = stream(60)
    judge = _core.NumberJudge(4)
    run(X, y, judge=judge)
    state = judge.state()
    reached = state["coverage.at"]
    reached[:, 0], reached[:, 1] = -np.log(1 - np.array([0.5, 0.8, 0.9, 0.95, 0.99])), 0
    judge.restore({**state, "coverage.at": reached})
    for level in (0.01, 0.5, 0.9, 0.93, 0.99, 0.9999, 1 - 1e-12):
        ends = np.array([(1 - level) / 2, (1 + level) / 2])
        expected = quantiles(parts_of(judge, X[:5]), ends)
        assert judge.interval(X[:5], level) == pytest.approx(
            expected, rel=1e-3 if level > 0.99999 else 1e-8
        )


def watched(X: Any, y: Any) -> tuple[Any, Any]:
    """Whether 90% intervals held the targets, and the means, after 200 examples."""
    judge, inside, means = _core.NumberJudge(X.shape[1]), [], []
    for t in range(len(y)):
        row = slice(t, t + 1)
        ((low, high),) = judge.interval(X[row], 0.9)
        inside.append(low <= y[t] <= high)
        means.append(run(X[row], y[row], judge=judge)[0, 0])
    return np.array(inside[200:]), np.array(means[200:])


def test_the_density_is_that_of_its_components() -> None:
    X, y = stream()
    judge = _core.NumberJudge(4)
    run(X[:300], y[:300], judge=judge)
    said = log_densities(parts_of(judge, X[300:301]), y[300:301])[0]
    assert parts_of(judge, X[300]).weight.sum() == pytest.approx(1)
    assert run(X[300:301], y[300:301], judge=judge)[0, 2] == pytest.approx(said)


def test_before_targets_nothing_is_known() -> None:
    judge = _core.NumberJudge(2)
    assert np.array_equal(judge.predict(np.array([[1.0, 3.0]])), [[2.0, np.inf]])


def test_targets_that_are_met_exactly_have_no_noise() -> None:
    judge, X = _core.NumberJudge(2), np.full((20, 2), 7.0)
    judge.run(X, np.full(20, 7.0), None)
    assert np.array_equal(judge.predict(X[:1]), [[7.0, 0.0]])


def behind(means: Any, y: Any) -> Any:
    """Nats behind the mean of the targets so far, after each: squared errors over 2 variances."""
    before = np.append(0.0, np.cumsum(y)[:-1] / np.arange(1, len(y)))
    return np.cumsum((means - y) ** 2 - (before - y) ** 2) / (2 * y.var())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [0.5, 3.0])
def test_experts_that_fit_noise_cost_less_than_4_nats_in_all(size: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = size * rng.normal(size=(3000, 8)), 5 + rng.normal(size=3000)
    assert behind(run(X, y)[1:, 0], y[1:]).max() < 4


def test_after_noise_experts_are_believed_soon() -> None:
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(3000, 4)), rng.normal(size=3000)
    y = np.where(np.arange(3000) < 2000, noise, X[:, 1] + 0.3 * noise)
    misses = run(X, y)[:, 0] - y
    assert np.sqrt(np.mean(misses[2100:2200] ** 2)) < 0.6


@pytest.mark.parametrize("unit", [1e-6, 1e6, 2.0**-200, 2.0**200])
def test_the_unit_does_not_matter(unit: float) -> None:
    X, y = stream()
    out, scaled = run(X, y), run(X * unit, y * unit)
    np.testing.assert_allclose(scaled[:, :2] / unit, out[:, :2], rtol=1e-6)
    np.testing.assert_allclose(scaled[6:, 2] + np.log(unit), out[6:, 2], atol=1e-6)


@pytest.mark.parametrize("outlier", [1e6, -1e6, 1e100])
def test_one_outlier_among_the_targets_ruins_nothing(outlier: float) -> None:
    X, y = stream(1000)
    spoilt = y.copy()
    spoilt[500] = outlier
    clean, out = run(X, y), run(X, spoilt)
    rest = slice(501, None)
    clean_rmse, rmse = (np.sqrt(np.mean((each[rest, 0] - y[rest]) ** 2)) for each in (clean, out))
    assert rmse < 1.05 * clean_rmse
    assert np.mean(out[rest, 2]) > np.mean(clean[rest, 2]) - 0.05


def test_one_expert_that_goes_wild_counts_for_little() -> None:
    X, y = stream(1000)
    wild = np.column_stack([X, y + np.random.default_rng(2).normal(size=1000)])
    wild[600:, 4] *= 1e6
    rmse = [np.sqrt(np.mean((run(each, y)[700:, 0] - y[700:]) ** 2)) for each in (X, wild)]
    assert rmse[1] < 2 * rmse[0]  # it had most of the weight: what it does at first is bounded
    assert rmse[1] < 0.3 * y.std()


def test_a_weight_is_a_number_of_repetitions_roughly() -> None:
    X, y = stream(600)
    twice = np.repeat(np.arange(300), 2)
    by_weight, by_rows = _core.NumberJudge(4), _core.NumberJudge(4)
    run(X[:300], y[:300], np.full(300, 2.0), by_weight)
    run(X[twice], y[twice], None, by_rows)
    one, other = (judge.predict(X[300:]) for judge in (by_weight, by_rows))
    np.testing.assert_allclose(one[:, 0], other[:, 0], atol=0.2)
    assert np.median(one[:, 1] / other[:, 1]) == pytest.approx(1, abs=0.15)


def test_weight_0_is_nothing_but_a_step() -> None:
    X, y = stream()
    judge = _core.NumberJudge(4)
    run(X, y, judge=judge)
    before = judge.state()
    run(X[:5], y[:5] + 100, np.zeros(5), judge)
    after = judge.state()
    assert after.pop("steps") == before.pop("steps") + 5
    for name in before:
        assert np.array_equal(before[name], after[name]), name


def test_forecasts_change_nothing() -> None:
    X, y = stream()
    one, other = _core.NumberJudge(4), _core.NumberJudge(4)
    for t in range(len(y)):
        other.predict(X[5:8] if t % 2 else np.full((1, 4), np.nan))
        other.components(X[:1])
        assert np.array_equal(run(X[t : t + 1], y[t : t + 1], judge=one),
                              run(X[t : t + 1], y[t : t + 1], judge=other))  # fmt: skip


def test_it_goes_on_to_the_bit_from_what_was_saved() -> None:
    X, y = stream()
    X[100:250, 2] = np.nan
    whole, first, second = (_core.NumberJudge(4, 2) for _ in range(3))
    whole.run(X[:200], y[:200], None)
    first.run(X[:200], y[:200], None)
    second.run(X, y, None)  # something else
    second.restore(first.state())
    assert np.array_equal(whole.run(X[200:], y[200:], None), second.run(X[200:], y[200:], None))


def _forged() -> dict[str, Any]:
    A = np.eye(4)
    A[0, 1] = 5.0
    return {
        "steps": -1,
        "count": np.inf,
        "square": -1.0,
        "target": np.nan,
        "pool.A": A,
        "pool.b": np.full((1, 4), 1e300),
        "noise.A": -np.eye(3),
        "experts.weight": np.full((1, 4), 1.0),
        "parts.bayes": np.zeros((1, 46)),
        "parts.judge": 2.0,
        "guard.bayes": np.zeros((1, 2)),
        "guard.judge": 2.0,
        "level": np.full((1, 9), 1e4),
        "seen": np.full((1, 9), -1.0),
        "noise.centre": np.full((1, 3), np.nan),
        "coverage.at": np.full((5, 2), np.nan),
        "coverage.seen": -1.0,
        "activity.left": np.array([[0.0, 0.0, 0.0, 1e6]]),
    }


@pytest.mark.parametrize("name", _forged())
def test_forged_states_are_refused(name: str) -> None:
    X, y = stream()
    judge = _core.NumberJudge(4)
    run(X, y, judge=judge)
    before = judge.predict(X)
    with pytest.raises((ValueError, TypeError)):
        judge.restore({**judge.state(), name: _forged()[name]})
    missing = judge.state()
    del missing[name]
    with pytest.raises(KeyError):
        judge.restore(missing)
    assert np.array_equal(judge.predict(X), before)


def test_extreme_numbers_give_finite_forecasts() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    for t in range(0, 300, 7):
        X[t, t % 3] = rng.choice([1e100, -1e100, 1e308, np.inf, -np.inf, 5e-324, np.nan])
        y[t] = rng.choice([1e100, -1e100, 5e-324, 0.0])
    judge = _core.NumberJudge(3)
    out = run(X, y, rng.choice([0.0, 1e-12, 1.0, 1e12], size=300), judge)
    low, high = judge.interval(X, 0.9).T
    assert (low <= high).all()
    assert np.isfinite(out[:, 0]).all()
    assert not np.isnan(out).any()


@pytest.mark.parametrize(("y", "weight"), [(np.nan, 1.0), (1e101, 1.0), (0.0, -1.0), (0.0, 1e13)])
def test_what_cannot_be_learned_is_refused(y: float, weight: float) -> None:
    judge, x = _core.NumberJudge(2), np.zeros((1, 2))
    with pytest.raises(ValueError, match="cannot be learned"):
        judge.run(x, np.array([y]), np.array([weight]))
    assert judge.state()["steps"] == 0


def test_experts_that_gain_nothing_are_inactive_and_those_that_gain_do_not() -> None:
    rng = np.random.default_rng(0)
    X, y = stream(4 * _core.PERIOD)
    for gains in (True, False):
        pair = np.column_stack([X[:, 0], X[:, 1] if gains else rng.normal(size=len(y))])
        judge = _core.NumberJudge(2, 1)
        for at in range(0, len(y), _core.PERIOD):
            part = slice(at, at + _core.PERIOD)
            judge.run(pair[part], y[part], None)
            judge.review()
        assert judge.active == ([0, 1] if gains else [0])


def test_what_the_first_gain_over_each_other_is_not_the_gain_of_others() -> None:
    X, y = stream(4 * _core.PERIOD)
    X = np.column_stack([X, X[:, 2] + np.random.default_rng(1).normal(size=len(y))])
    judge = _core.NumberJudge(5, 4)
    for at in range(0, len(y), _core.PERIOD):
        part = slice(at, at + _core.PERIOD)
        judge.run(X[part], y[part], None)
        judge.review()
    assert judge.active == [0, 1, 2, 3]


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="no such pool"):
        _core.NumberJudge(0)
    with pytest.raises(ValueError, match="no such pool"):
        _core.NumberJudge(2, 3)
    with pytest.raises(ValueError, match="columns"):
        _core.NumberJudge(2).predict(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="together"):
        _core.NumberJudge(2).run(np.zeros((2, 2)), np.zeros(1), None)
