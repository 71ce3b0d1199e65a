"""Features with heavy tails: some experts see their logarithms (core/inputs/heavy.hpp)."""

import copy
from typing import Any

import numpy as np
import pytest

import mixable as mx
from mixable import _core


def scaler(d: int, logarithms: bool = True) -> Any:
    return _core.Scaler(d, False, True, 2, logarithms)


def heavy(n: int = 400, seed: int = 0) -> Any:
    """Two that are lognormal, one normal, one of counts that are huge now and then."""
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random(n) < 0.05, rng.integers(1000, 100_000, size=n), rng.poisson(3, n))
    return np.column_stack(
        [
            np.exp(2 * rng.normal(size=n)),
            -np.exp(3 * rng.normal(size=n)),
            rng.normal(size=n),
            counts,
        ]
    )


LIGHT = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "t5": lambda rng, n: rng.standard_t(5, size=n),
    "counts": lambda rng, n: rng.poisson(2, size=n).astype(float),
    "time": lambda rng, n: 1e6 + np.arange(n) + rng.normal(size=n),
    "walk": lambda rng, n: np.cumsum(rng.normal(size=n)),
    "rare": lambda rng, n: (rng.random(n) < 0.02).astype(float),
    "two values": lambda rng, n: rng.choice([1.0, 1000.0], size=n),
    "nearly 0": lambda rng, n: np.where(rng.random(n) < 0.3, 1e-17, rng.normal(size=n)),
    "an outlier": lambda rng, n: np.where(np.arange(n) == 200, 1e9, rng.normal(size=n)),
}


@pytest.mark.parametrize("kind", LIGHT)
@pytest.mark.parametrize("seed", range(5))
def test_light_tails_are_scaled_as_ever(kind: str, seed: int) -> None:
    X = LIGHT[kind](np.random.default_rng(seed), 400)[:, None]
    one, other = scaler(1), scaler(1, logarithms=False)
    assert np.array_equal(one.learn(X), other.learn(X))
    assert "heavy" not in one.state()


def test_heavy_tails_are_standardised_by_their_logarithms() -> None:
    X = heavy()
    Z = scaler(4).learn(X)[260:]
    plain = scaler(4, logarithms=False).learn(X)[260:]
    assert np.array_equal(Z[:, :4], plain[:, :4])  # the first view stays as it is
    assert np.array_equal(Z[:, 6], plain[:, 6])  # and what has light tails
    for column, sign in ((0, 1), (1, -1)):
        logs = sign * np.log(np.abs(X[260:, column]))
        assert np.corrcoef(Z[:, 4 + column], logs)[0, 1] > 0.95
        assert 0.6 < Z[:, 4 + column].std() < 1.5
        assert np.corrcoef(plain[:, 4 + column], logs)[0, 1] < 0.85
    usual = X[260:, 3] < 100
    assert Z[usual, 7].std() > 0.5 > 10 * plain[usual, 7].std()


def test_the_unit_of_a_heavy_feature_does_not_matter() -> None:
    X = heavy(600)
    one, other = scaler(4), scaler(4)
    Z = one.learn(X)
    assert other.learn(X * [1e-9, 1e6, 10.0, 3.0])[:, 4] == pytest.approx(Z[:, 4], abs=0.3)
    changed = X.copy()
    changed[300:, 0] *= 1e12
    later = scaler(4).learn(changed)[340:, 4]
    assert np.corrcoef(later, Z[340:, 4])[0, 1] > 0.99
    assert np.abs(later - Z[340:, 4]).mean() < 0.3


def test_a_row_is_scaled_as_the_next_one_and_a_table_as_its_rows() -> None:
    X = heavy(300)
    X[::7, 1] = np.nan
    X[150:, 0] *= 1e10  # another unit
    whole, steps = scaler(4), scaler(4)
    Z = whole.learn(X)
    for row, z in zip(X, Z, strict=True):
        before = steps.transform(row)
        assert np.array_equal(before, steps.learn(row))
        assert np.array_equal(before, z)
    assert np.isfinite(Z).all()


def test_saved_in_the_middle_it_goes_on_with_the_same_bits() -> None:
    X = heavy(300)
    for at in (10, 20, 100):
        whole, again, wider = scaler(4), scaler(4), scaler(5)
        whole.learn(X[:at])
        again.restore(whole.state())
        wider.adopt(whole)
        Z = whole.learn(X[at:])
        assert np.array_equal(again.learn(X[at:]), Z)
        more = wider.learn(np.column_stack([X[at:], X[at:, 2]]))
        assert np.array_equal(more[:, 5:9], Z[:, 4:])


@pytest.mark.parametrize(
    "forged",
    [np.full((4, 4), np.nan), np.full((4, 4), -1.0), np.ones((3, 4)), np.ones((4, 3)), "none"],
    ids=repr,
)
def test_forged_scales_are_refused(forged: Any) -> None:
    known = scaler(4)
    known.learn(heavy(300))
    state = known.state()
    with pytest.raises((ValueError, TypeError)):
        known.restore({**state, "heavy": forged})
    assert np.array_equal(known.state()["heavy"], state["heavy"])
    with pytest.raises(ValueError, match="statistics"):  # it has no such scale
        scaler(4, logarithms=False).restore(state)


def test_a_scale_that_is_held_is_held_in_logarithms_too() -> None:
    X = heavy(600)
    held, other = scaler(4), scaler(4)
    for each in (held, other):
        each.learn(X[:300])
        each.hold()
    row, rows = X[599], X[300:500]
    before = held.transform(row)
    held.learn(rows)
    other.learn(rows[::-1] * [3.0, 1.0, 1.0, 1.0])
    assert np.array_equal(held.transform(row), before)
    assert np.array_equal(other.transform(row), before)
    held.release()
    assert held.transform(row)[4] == pytest.approx(before[4], abs=0.3)


def examples(n: int = 900) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, 4))
    linear = Z @ [1.0, -1.0, 0.7, 0.0] + np.sin(2 * Z[:, 0]) * Z[:, 1]
    return Z, linear + 0.3 * rng.normal(size=n)


def test_raw_columns_are_not_much_worse_than_logarithms() -> None:
    Z, y = examples()
    X, labels = np.exp(2.5 * Z), (y > 0).astype(int)

    def loss(rows: Any) -> float:
        p = mx.GAFClassifier().prequential(rows, labels)
        return float(-np.log(p[np.arange(len(p)), labels][50:]).mean())

    def miss(rows: Any) -> float:
        return float(np.sqrt(np.mean((mx.GAFRegressor().prequential(rows, y) - y)[100:] ** 2)))

    assert loss(X) < 1.2 * loss(Z)  # 2.2 without
    assert miss(X) < 2 * miss(Z)  # 2.3 without: only the linear expert sees logarithms


@pytest.mark.parametrize("kind", [mx.GAFClassifier, mx.GAFRegressor])
def test_estimators_keep_their_promises_with_heavy_tails(kind: Any) -> None:
    Z, y = examples(300)
    X, outcomes = np.exp(3 * Z), (y > 0).astype(int)
    whole, rows = (kind().partial_fit(X[:10], outcomes[:10]) for _ in range(2))
    said = whole.prequential(X[10:], outcomes[10:])
    predict = getattr(rows, "predict_proba", rows.predict)
    for row, outcome, expected in zip(X[10:], outcomes[10:], said, strict=True):
        assert np.allclose(predict(row[None])[0], expected, atol=1e-12)
        rows.partial_fit(row[None], [outcome])
    again = copy.deepcopy(whole)
    assert np.array_equal(again.prequential(X, outcomes), whole.prequential(X, outcomes))


def test_linear_models_of_heavy_features_merge() -> None:
    Z, y = examples(800)
    X, labels = np.exp(2.5 * Z), (y > 0).astype(int)
    base = mx.GAFClassifier(kernel=None).fit(X[:200], labels[:200])
    parts = []
    for rows in (slice(200, 500), slice(500, 800)):
        parts.append(copy.deepcopy(base).partial_fit(X[rows], labels[rows]))
    merged = mx.merge(parts, base=base)
    p = merged.predict_proba(X)[np.arange(len(X)), labels]
    alone = base.predict_proba(X)[np.arange(len(X)), labels]
    assert -np.log(p).mean() < -np.log(alone).mean() + 0.02


def test_what_is_merged_does_not_depend_on_the_order() -> None:
    """Two have met heavy tails since the common start, and a third has not."""
    rng = np.random.default_rng(0)
    base = mx.GAFClassifier(kernel=None).partial_fit(np.abs(rng.normal(size=(20, 2))), [0, 1] * 10)
    parts = []
    for power in (3.0, 3.0, 1.0):
        X = np.exp(power * rng.normal(size=(100, 2)))
        part = copy.deepcopy(base).partial_fit(X, (X[:, 0] > 1).astype(int))
        parts.append(part)
    is_heavy = ["heavy" in part.learner_.inputs.state() for part in parts]
    assert is_heavy == [True, True, False]
    X = np.exp(rng.normal(size=(50, 2)))
    p = mx.merge(parts, base=base).predict_proba(X)
    first = mx.merge(parts[:2], base=base)
    assert "heavy" in first.learner_.inputs.state()
    for other in ([first, parts[2]], parts[::-1]):
        assert np.allclose(mx.merge(other, base=base).predict_proba(X), p, atol=1e-9)
    pair = mx.merge(parts[1::-1], base=base).predict_proba(X)
    assert np.allclose(first.predict_proba(X), pair, atol=1e-9)
