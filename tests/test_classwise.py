"""Forecasts and outcomes of each class: sums that add up, and what is refused."""

import numpy as np
import pytest

from mixable import _classwise
from mixable._classwise import ClassScore, PerClass, as_name

LABELS = ("a", "b", "c")


def some(n=200, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(3), n)
    y = [LABELS[k] for k in rng.integers(3, size=n)]
    return p, rng.random(n) + 0.5, y


def filled(p, weight, y):
    out = PerClass(10)
    out.add(p, weight, columns=LABELS, y=y)
    return out


def test_scores_are_those_of_their_definition():
    p, weight, y = some()
    for k, score in enumerate(filled(p, weight, y).scores()):
        came = np.array([each == LABELS[k] for each in y])
        gaps = np.where(came, weight, 0.0) - weight * p[:, k]
        bins = np.floor(10 * p[:, k]).astype(int)
        error = np.abs(np.bincount(bins, gaps)).sum() / weight.sum()
        assert (score.label, score.n) == (LABELS[k], np.count_nonzero(came))
        assert score.forecast == pytest.approx(np.average(p[:, k], weights=weight))
        assert score.rate == pytest.approx(weight[came].sum() / weight.sum())
        assert score.error == pytest.approx(error)


def test_halves_make_the_whole_and_can_be_taken_away_again():
    p, weight, y = some()
    whole = filled(p, weight, y)
    first = filled(p[:80], weight[:80], y[:80])
    rest = filled(p[80:], weight[80:], y[80:])
    first.include(rest)
    for name in ("came", "count", "sums", "weight"):
        np.testing.assert_allclose(getattr(first, name), getattr(whole, name), rtol=1e-12)
    first.include(rest, sign=-1)
    alone = filled(p[:80], weight[:80], y[:80])
    np.testing.assert_array_equal(first.count, alone.count)
    assert first.weight == pytest.approx(alone.weight)
    np.testing.assert_allclose(first.sums, alone.sums, atol=1e-12)


def test_outcomes_that_nobody_forecast_and_classes_that_are_too_many(monkeypatch):
    monkeypatch.setattr(_classwise, "MOST_CLASSES", 2)
    out = PerClass(4)
    p = np.array([[1.0], [1.0], [1.0]])
    out.add(p, np.ones(3), columns=["a"], y=["a", "new", "one too many"])
    a, new = out.scores()
    assert (a.n, a.forecast, a.rate) == (1, 1.0, pytest.approx(1 / 3))
    assert (new.n, new.forecast, new.error) == (1, 0.0, pytest.approx(1 / 3))
    assert new.relative_error == pytest.approx(1)
    with pytest.raises(ValueError, match="which no forecast or outcome was"):
        out.table("one too many")
    assert PerClass(4).worst() is None
    assert ClassScore(label="x", n=0, forecast=0.0, rate=0.0, error=0.0).relative_error == 0
    assert [as_name(each) for each in (np.int64(3), ("a", 1), None)] == [3, "('a', 1)", None]


def test_saved_sums_that_contradict_themselves_are_refused():
    per_class = filled(*some())
    state = per_class.state()
    again = PerClass(10)
    again.restore(state)
    assert again.scores() == per_class.scores()
    forecasts, outcomes = state["sums"].copy(), state["sums"].copy()
    forecasts[1] = 2 * forecasts[0] + 1
    outcomes[2] *= 2
    for wrong, why in [
        ({"labels": ["a", "b", "a"]}, "not different"),
        ({"came": -state["came"]}, "must be counts"),
        ({"count": state["count"][:, :9]}, "must be counts"),
        ({"sums": forecasts}, "do not go with their weights"),
        ({"sums": outcomes}, "came more often"),
    ]:
        with pytest.raises(ValueError, match=why):
            PerClass(10).restore({**state, **wrong})
