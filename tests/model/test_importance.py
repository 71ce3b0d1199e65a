"""Which columns matter."""

import numpy as np
import pytest
from record_data import events
from scipy.sparse import csr_array

import mixable as mx
from mixable.events.model import EventModel
from mixable.model import ShapeDesign, design_of_classes
from mixable.model.importance import _is_of, _unmixed
from mixable.records import Columns

RNG = np.random.default_rng(0)


def kept(columns=None):
    return EventModel(design=design_of_classes(None, {"lam": None}), columns=columns)


def test_keys_of_numbers_are_known_by_their_place():
    design = ShapeDesign(linear=True, bins=(2.0, 8.0), whole=True)
    shapes = design.inputs(3).shapes
    x = np.array([[0.3, -7.25, 12.0], [5.0, -99_999.0, 0.0]])
    z = RNG.normal(size=(2, 3)) * 20
    for row, scaled in zip(x, z, strict=True):
        keys = np.array(shapes.features(row, scaled)[0], np.uint64)
        own = [_is_of(_unmixed(keys), place, 2) for place in range(3)]
        np.testing.assert_array_equal(np.sum(own, axis=0), np.ones(9))  # each is of one number
        assert [np.flatnonzero(each).tolist() for each in own] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    others = RNG.integers(0, 2**63, 1000).astype(np.uint64)
    assert not _is_of(_unmixed(others), 0, 2).any()


@pytest.mark.parametrize("strong", ["price", "device", "query", "tags", "at"])
def test_the_column_that_makes_the_label_matters_most(strong):
    """Of each kind, and by its own name."""
    model = kept(Columns(time=["at"], ignore=["note"]))
    for record in events(300, seed=3):
        record = {"price": float(RNG.normal()), **{k: v for k, v in record.items() if k != "price"}}
        if strong not in record or not record[strong]:
            continue
        value = record[strong]
        if strong == "at":
            value = int(value[11:13]) > 11
        elif strong == "price":
            value = value > 0.2
        else:
            value = "new" in value or "red" in value or "phone" in value
        model.learn_one(record, str(value))
    sizes = model.important()
    assert next(iter(sizes)) == strong
    assert set(sizes) <= {"user", "device", "price", "query", "at", "tags"}
    assert list(model.important(2)) == list(sizes)[:2]


def test_numbers_matter_by_their_weights():
    X = RNG.normal(size=(400, 3)) * [1, 100, 0.01]
    y = X[:, 1] / 100 + 0.3 * X[:, 2] / 0.01 + 0.3 * RNG.normal(size=400) > 0
    model = mx.GAFClassifier().fit(X, y)
    sizes = model.important()
    assert list(sizes) == [1, 2, 0]
    linear = mx.GAFClassifier(kernel=None).fit(X, y)
    expected = {j: abs(linear.coef_[0, j]) * X[:, j].std() for j in sizes}
    assert sizes == pytest.approx(expected, rel=0.01, abs=0.01 * max(expected.values()))


def test_columns_of_sparse_matrices_and_counts_matter():
    S = (RNG.random((300, 40)) < 0.2).astype(float)
    model = mx.GAFClassifier().fit(csr_array(S), S[:, 7].astype(int))
    assert next(iter(model.important(1))) == 7
    bags = kept()
    for row in S:
        bags.learn_one({f"w{j}": 1 for j in np.flatnonzero(row)}, str(row[7]))
    assert next(iter(bags.important(1))) == "w7"


def test_nothing_is_known_at_first():
    assert kept().important() == {}
    model = kept(Columns(category=["a"]))
    model.begin_records([{"a": "x"}])
    assert model.important() == {}
    with pytest.raises(ValueError, match="n must be"):
        model.important(0)
