"""class_weight of the classifiers: scikit-learn's meaning, causal where rows come one by one."""

import copy

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight
from streams import logistic_stream

import mixable
from mixable import GAFClassifier
from mixable.model.class_weights import weighted
from mixable.river import GAFClassifier as RiverClassifier

X, CODES = logistic_stream(200, 2, 2)
Y = np.where((CODES == 1) & (np.arange(200) % 4 == 0), "rare", "common")
QUICK = {"effort": "low", "kernel": None}


def balanced(**options):
    return GAFClassifier(class_weight="balanced", **QUICK, **options)


def test_fit_weighs_by_the_whole_table():
    model = balanced().fit(X, Y)
    same = GAFClassifier(**QUICK).fit(X, Y, sample_weight=compute_sample_weight("balanced", Y))
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), atol=1e-12)
    plain = GAFClassifier(**QUICK).fit(X, Y).predict_proba(X)[:, 1].mean()
    assert model.predict_proba(X)[:, 1].mean() > 2 * plain


def test_a_stream_weighs_by_the_labels_so_far_in_batches_of_any_size():
    causal = weighted("balanced", Y.tolist(), None, {})
    wanted = GAFClassifier(**QUICK).prequential(X, Y, sample_weight=causal)
    np.testing.assert_allclose(balanced().prequential(X, Y), wanted, atol=1e-12)
    model = balanced()
    for begin, end in ((0, 1), (1, 50), (50, 200)):
        model.partial_fit(X[begin:end], Y[begin:end])
    np.testing.assert_allclose(
        model.predict_proba(X), balanced().partial_fit(X, Y).predict_proba(X), atol=1e-12
    )


def test_no_forecast_depends_on_a_later_label():
    flipped = np.where(np.arange(200) < 150, Y, "rare")
    np.testing.assert_array_equal(
        balanced().prequential(X, Y)[:150], balanced().prequential(X, flipped)[:150]
    )


def test_a_saved_model_goes_on_with_its_counts():
    model = balanced().fit(X, Y)
    twin = mixable.loads(mixable.dumps(model))
    for each in (model, twin):
        each.partial_fit(X[:50], Y[:50])
    np.testing.assert_array_equal(model.predict_proba(X), twin.predict_proba(X))
    assert sum(twin.learner_.outcomes.tally.values()) == 250


def test_merged_models_have_counted_everything():
    base = balanced().fit(X[:100], Y[:100])
    left, right = copy.deepcopy(base), copy.deepcopy(base)
    left.partial_fit(X[100:150], Y[100:150])
    right.partial_fit(X[150:], Y[150:])
    merged = mixable.merge([left, right], base=base)
    names, counts = np.unique(Y, return_counts=True)
    assert merged.learner_.outcomes.tally == dict(zip(names.tolist(), counts.tolist(), strict=True))


def test_a_dictionary_multiplies_the_sample_weights():
    model = GAFClassifier(class_weight={"rare": 5.0}, **QUICK).fit(X, Y, np.full(200, 2.0))
    same = GAFClassifier(**QUICK).fit(X, Y, np.where(Y == "rare", 10.0, 2.0))
    np.testing.assert_allclose(model.predict_proba(X), same.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ("balance", "class_weight must be None, 'balanced', or a dictionary"),
        ({"raer": 5.0}, r"labels that y does not have: \['raer'\]"),
        ({"rare": -1.0}, r"class_weight\['rare'\] must be at least 0"),
    ],
)
def test_mistakes_are_refused_and_nothing_is_kept(class_weight, words):
    model = GAFClassifier(class_weight=class_weight, **QUICK)
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)
    assert not hasattr(model, "learner_")


def test_labels_of_another_kind_are_refused_in_a_stream_too():
    with pytest.raises(ValueError, match="class_weight must have labels of one kind: '1' is text"):
        GAFClassifier(class_weight={"1": 2.0}, **QUICK).partial_fit(X, CODES)
    GAFClassifier(class_weight={7: 2.0}, **QUICK).partial_fit(X, CODES)  # 7 may come


def test_a_weight_that_is_too_large_leaves_nothing():
    model = GAFClassifier(class_weight={"rare": 1e7}, **QUICK)
    with pytest.raises(ValueError, match="sample_weight times class_weight"):
        model.partial_fit(X, Y, sample_weight=np.full(200, 1e7))
    assert not hasattr(model, "learner_")


def test_river_weighs_the_same_one_by_one_and_by_table():
    pandas = pytest.importorskip("pandas")
    one, many = (RiverClassifier(class_weight="balanced", **QUICK) for _ in range(2))
    for row, label in zip(X.tolist(), Y.tolist(), strict=True):
        one.learn_one(dict(enumerate(row)), label)
    for rows in (slice(0, 70), slice(70, 200)):
        many.learn_many(pandas.DataFrame(X[rows]), pandas.Series(Y[rows]))
    wanted = balanced().partial_fit(X, Y).predict_proba(X[:1])[0]
    for model in (one, many, mixable.loads(mixable.dumps(one))):
        got = model.predict_proba_one(dict(enumerate(X[0].tolist())))
        assert [got["common"], got["rare"]] == pytest.approx(wanted.tolist(), abs=1e-9)
    with pytest.raises(ValueError, match="class_weight must be None"):
        RiverClassifier(class_weight="balance")
