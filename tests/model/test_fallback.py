"""What stands beside a pool is merged, too: sums add, in whatever order and groups."""

import copy

import numpy as np
import pytest
from shards import X, Y

import mixable as mx
from mixable import merge
from mixable._natural import SAME
from mixable.merging import freeze
from mixable.model import RecordPool

PARTS = (slice(200, 300), slice(300, 450), slice(450, 600))


def fallback(model):
    return model.learner_.forecaster._fallback.state()


def models(base, parts=PARTS, y=Y):
    made = [copy.deepcopy(base) for _ in parts]
    for i, (model, part) in enumerate(zip(made, parts, strict=True)):
        freeze(model)
        model.partial_fit(X[part] * 3.0**i, y[part])  # units grow by much
    return made


@pytest.fixture(scope="module")
def base():
    return mx.GAFClassifier(kernel=mx.kernels.Auto(5)).partial_fit(X[:200], Y[:200])


def test_sums_add_and_the_largest_is_the_largest(base):
    apart = models(base)
    merged, old = fallback(merge(apart, base=base)), fallback(base)
    for name in ("counts", "gain", "square"):
        total = old[name] + sum(fallback(each)[name] - old[name] for each in apart)
        np.testing.assert_allclose(merged[name], total, rtol=1e-9)
    largest = np.max([fallback(each)["largest"] for each in apart], axis=0)
    np.testing.assert_array_equal(merged["largest"], largest)
    np.testing.assert_array_equal(merged["folklore.units"], 2 ** np.ceil(np.log2(largest)))
    assert merged["folklore.steps"] == 600
    assert np.exp(merged["trust"]).sum() == pytest.approx(1)


def test_curvature_adds_in_raw_units(base):
    def raw(state):
        units = np.tile(state["folklore.units"][0], len(state["folklore.V"]))
        A, V = state["folklore.A"], state["folklore.V"].ravel()
        rest = A - state["folklore.lam"] * np.eye(len(A))
        return rest * np.outer(units, units), units * (A @ V)

    apart = models(base)
    merged, old = fallback(merge(apart, base=base)), fallback(base)
    for i in (0, 1):
        total = raw(old)[i] + sum(raw(fallback(each))[i] - raw(old)[i] for each in apart)
        np.testing.assert_allclose(
            raw(merged)[i], total, rtol=1e-6, atol=1e-6 * np.abs(total).max()
        )


def test_one_model_stays_what_it_is(base):
    one = models(base)[0]
    again = fallback(base._combine([one], base, [SAME]))
    for name, value in fallback(one).items():
        np.testing.assert_allclose(again[name], value, rtol=1e-6, atol=1e-9)


def test_classes_find_their_places():
    """Two models have each met a label of their own: in the merged one, both have a place."""
    base = mx.GAFClassifier(kernel=mx.kernels.Auto(5)).partial_fit(
        X[:60], np.array(["x", "y", "x"])[Y[:60]]
    )
    rows = [(slice(60, 300), ["x", "y", "v"]), (slice(300, 600), ["w", "y", "x"])]
    names = [np.array(labels)[Y[part]] for part, labels in rows]
    both = [copy.deepcopy(base) for _ in rows]
    for model, (part, _), own in zip(both, rows, names, strict=True):
        freeze(model)
        model.partial_fit(X[part], own)
    merged, other = merge(both, base=base), merge(both[::-1], base=base)
    labels = merged.learner_.labels
    assert labels != other.learner_.labels
    counts = fallback(merged)["counts"][0]
    met = np.concatenate([np.array(["x", "y", "x"])[Y[:60]], *names])
    assert [np.count_nonzero(met == label) for label in labels] == counts.tolist()
    places = [other.learner_.labels.index(label) for label in labels]
    for name in ("gain", "square", "wealth"):
        np.testing.assert_allclose(fallback(other)[name][places], fallback(merged)[name], rtol=1e-9)
    assert np.abs(other.predict_proba(X) - merged.predict_proba(X)).max() < 1e-6


def test_with_one_from_an_early_file_there_is_none(base):
    apart = models(base)
    apart[1].learner_.forecaster._fallback = None
    apart[1].learner_.forecaster._pooled = None
    merged = merge(apart, base=base).learner_.forecaster
    assert isinstance(merged, RecordPool)
    assert merged.fallback_weights == {}
    assert "Beside" not in merged.report()
