"""Sparse features of numbers: bins and leaves."""

import numpy as np
import pytest

from mixable.model import ShapeDesign


def keys_of(design, x, n=None):
    inputs = design.inputs(len(x) if n is None else n)
    return inputs.shapes.features(np.array(x), np.array(x))


def test_numbers_of_one_bin_have_one_key():
    design = ShapeDesign(bins=(2.0,))
    keys = [int(keys_of(design, [z])[0][0]) for z in (-0.1, 0.1, 0.4, 0.6)]
    assert keys[1] == keys[2]
    assert len(set(keys)) == 3
    two = keys_of(design, [0.1, 0.1])[0]
    assert two[0] != two[1]


def test_a_number_that_is_missing_has_no_bin():
    keys, values = keys_of(ShapeDesign(linear=True, bins=(2.0, 8.0)), [np.nan, 1.5])
    assert len(keys) == 3
    assert values == [1.5, 1.0, 1.0]


def test_leaves_tell_rows_apart_and_do_not_change_when_numbers_are_added():
    design, rng = ShapeDesign(trees=20, depth=4), np.random.default_rng(0)
    inputs = design.inputs(3)
    larger = inputs.with_features(5)
    rows = rng.normal(size=(50, 3))
    each = [tuple(inputs.shapes.features(row, row)[0]) for row in rows]
    assert all(len(leaves) == 20 for leaves in each)
    assert len(set(each)) > 45
    for row, leaves in zip(rows, each, strict=True):
        wide = np.append(row, [9.0, -9.0])
        assert tuple(larger.shapes.features(wide, wide)[0]) == leaves
    # About half of all rows are above the median threshold of a tree with one question.
    one = ShapeDesign(trees=1, depth=1).inputs(1)
    side = {int(one.shapes.features(z, z)[0][0]) for z in rng.normal(size=(200, 1))}
    assert len(side) == 2


def test_what_was_there_at_first_is_saved():
    design = ShapeDesign(trees=5, depth=3)
    larger = design.inputs(2).with_features(4)
    again = design.inputs(4)
    again.restore(larger.state())
    x = np.array([0.5, -1.0, 3.0, 2.0])
    np.testing.assert_array_equal(again.shapes.features(x, x)[0], larger.shapes.features(x, x)[0])
    assert again.first == 2
    with pytest.raises(ValueError, match="first"):
        again.restore({**larger.state(), "first": np.array([5.0])})


@pytest.mark.parametrize(
    "bad", [{"bins": [2.0]}, {"bins": (0.0,)}, {"trees": -1}, {"depth": 99}, {"linear": 1}]
)
def test_bad_designs(bad):
    with pytest.raises((TypeError, ValueError)):
        ShapeDesign(**bad)


def test_whole_numbers_are_bins_of_their_own():
    """In place of the last set of bins, whatever their scale; others are in bins."""
    whole = ShapeDesign(bins=(1.0, 8.0), whole=True)

    def last(x, z):
        return whole.inputs(1).shapes.features(np.array([x]), np.array([z]))[0][1]

    assert last(7.0, 0.1) == last(7.0, 3.0) != last(8.0, 0.1)
    assert last(-7.0, 0.1) != last(7.0, 0.1)
    assert last(7.5, 0.1) == last(7.25, 0.1) != last(7.5, 3.0)
    assert last(100_000.0, 0.1) == last(100_001.0, 0.1)  # too large
    plain = ShapeDesign(bins=(1.0, 8.0)).inputs(1).shapes
    assert plain.features(np.array([7.0]), np.array([0.1]))[0][1] == last(7.5, 0.1)
