"""Explaining a forecast: what it would be without each column, and how sure that is."""

import numpy as np
import pytest
from record_data import DECLARED, events

import mixable as mx
from mixable.events.model import EventModel
from mixable.model import design_of_classes
from mixable.model.explaining import log_odds
from mixable.records import Columns

RNG = np.random.default_rng(0)


def plain(p):
    return np.array(list(p.values()))


def kept(columns=None, features=None):
    return EventModel(
        design=design_of_classes(None, {"lam": None}), columns=columns, features=features
    )


def learned(model, n=300, seed=0):
    for t, record in enumerate(events(n, seed)):
        device = str(record.get("device"))
        model.learn_one(record, "xyz"[len(device) % 3 if t % 5 else t % 3])
    return model


def test_a_contribution_is_the_difference_to_the_forecast_without_the_column():
    model, record = learned(kept(DECLARED)), events(1, seed=6)[0]
    parts = model.explain(record)
    assert {part.column for part in parts} == record.keys() - {"note"}  # which is ignored
    p = plain(model.predict_proba_one(record))
    for part in parts:
        rest = {name: value for name, value in record.items() if name != part.column}
        q = model.predict_proba_one(rest)
        assert part.without == q
        assert part.value is record[part.column]
        np.testing.assert_allclose(
            plain(part.log_odds), log_odds(p) - log_odds(plain(q)), atol=1e-12
        )
        assert all(0 <= each < 10 for each in part.deviation.values())
    sizes = [part.size for part in parts]
    assert sizes == sorted(sizes, reverse=True)
    assert parts[0].column == "device"


def test_explaining_changes_nothing():
    model, record = learned(kept(DECLARED), 50), events(1, seed=7)[0]
    before = model.predict_proba_one(record)
    model.explain(record)
    model.important()
    assert model.predict_proba_one(record) == before


def test_features_that_are_left_out_are_not_explained():
    model = kept(features=["a"])
    for t in range(20):
        model.learn_one({"a": t % 2, "b": 1.0}, str(t % 2))
    assert [part.column for part in model.explain({"a": 1, "b": 1.0})] == ["a"]
    assert kept().explain({"a": 1.0}) == []  # nothing is known yet


@pytest.mark.parametrize("kernel", [None, "auto"])
def test_numbers_are_as_uncertain_as_their_coefficients(kernel):
    X = RNG.normal(size=(300, 3)) * [1, 5, 0.1] + [3, 0, 0]
    y = X[:, 1] + RNG.normal(size=300) > 0
    model = mx.GAFClassifier(kernel=kernel).fit(X, y)
    linear = mx.GAFClassifier(kernel=None).fit(X, y)
    x = np.array([3.5, 4.0, np.nan])
    parts = {part.column: part for part in model.explain(x)}
    assert parts.keys() == {0, 1}  # nothing is known of the third
    for j, part in parts.items():
        wanted = linear.coef_std_[0, j] * abs(x[j] - X[:, j].mean())
        # A row is scaled with itself among the rows, so that the two are not quite the same.
        assert part.deviation[True] == pytest.approx(wanted, rel=0.01)
        assert part.log_odds[True] == pytest.approx(-part.log_odds[False])
    assert parts[1].log_odds[True] > 3 * parts[1].deviation[True]
    assert abs(parts[0].log_odds[True]) < 3 * parts[0].deviation[True]


def test_what_was_seen_more_often_is_less_uncertain():
    model = kept(Columns(category=["c"]))
    for t in range(400):
        model.learn_one({"c": "often" if t % 10 else "rare"}, "xyz"[t % 3])
    often, rare = (model.explain({"c": value})[0].deviation["x"] for value in ("often", "rare"))
    never = model.explain({"c": "never"})[0]
    assert often < rare < never.deviation["x"]
    assert abs(never.log_odds["x"]) < 0.1


def test_models_without_weights_for_columns_say_so():
    X = RNG.normal(size=(60, 2))
    for model in (mx.GAFClassifier(kernel=mx.kernels.RBF(20)), mx.GAFClassifier(forecaster=mx.OGD)):
        part = model.fit(X, X[:, 0] > 0).explain(X[:1])[0]
        assert part.column == 0
        assert np.isnan(list(part.deviation.values())).all()


def test_log_odds_are_against_all_others():
    p = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(log_odds(p), np.log(p / (1 - p)))
    assert np.isfinite(log_odds(np.array([1.0, 0.0]))).all()
