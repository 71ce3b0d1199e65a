"""Class weights: scikit-learn's for a whole table, causal for a stream."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from mixable.model.class_weights import add, checked, refuse_unknown, weighted

RNG = np.random.default_rng(0)
LABELS = RNG.choice(["a", "b", "c"], p=[0.7, 0.25, 0.05], size=60).tolist()
WEIGHT = RNG.choice([0.0, 0.5, 2.0], size=60)


def test_a_whole_table_is_balanced_as_scikit_learn_does_it():
    np.testing.assert_allclose(
        weighted("balanced", LABELS, None, {}, whole=True),
        compute_sample_weight("balanced", LABELS),
    )


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_a_stream_is_balanced_by_what_has_come_so_far(weight):
    """Each weight is that of the table that ends there, whatever the batches."""
    tally, got = {}, []
    for begin, end in ((0, 1), (1, 20), (20, 20), (20, 60)):
        own = None if weight is None else weight[begin:end]
        got += weighted("balanced", LABELS[begin:end], own, tally).tolist()
        add(tally, LABELS[begin:end], own, end - begin)
    for t in range(60):
        own = np.ones(t + 1) if weight is None else weight[: t + 1]
        y = np.array(LABELS[: t + 1])
        of_label = own[y == y[t]].sum()
        met = len(set(y[own > 0]))
        wanted = own[t] * own.sum() / (met * of_label) if of_label else 0.0
        assert got[t] == pytest.approx(wanted)
    total = np.ones(60) if weight is None else weight
    assert sum(tally.values()) == pytest.approx(total.sum())


def test_only_what_was_learned_is_counted():
    tally = {"a": 2.0}
    add(tally, ["a", "b", "b"], np.array([0.5, 3.0, 9.0]), 2)
    assert tally == {"a": 2.5, "b": 3.0}


def test_a_dictionary_weighs_those_it_names_and_leaves_the_others():
    got = weighted({"b": 3, "not yet": 7}, ["a", "b"], np.array([2.0, 0.5]), {})
    assert got.tolist() == [2.0, 1.5]
    assert weighted(None, ["a"], None, {}) is None


def test_labels_that_never_come_are_refused_as_scikit_learn_does():
    refuse_unknown({"a": 1, "b": 2, "c": 3}, ["a", "b"])  # those of y have weights
    with pytest.raises(ValueError, match=r"does not have: \['spma'\]; the labels of y are \['ham'"):
        refuse_unknown({"ham": 1, "spma": 2}, ["ham", "spam"])


@pytest.mark.parametrize("bad", ["balance", 3, {"a": -1.0}, {"a": np.nan}, {"a": 1e13}])
def test_others_are_refused_by_name(bad):
    with pytest.raises(ValueError, match="class_weight"):
        checked(bad)


def test_a_product_that_cannot_be_learned_is_refused():
    with pytest.raises(ValueError, match=r"class_weight must be at most 1e\+12"):
        weighted({"a": 1e7}, ["a"], np.array([1e7]), {})
