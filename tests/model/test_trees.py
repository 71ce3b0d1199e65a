"""Trees as an expert of a pool: what they see of records, and what they do while inactive."""

import numpy as np
import pandas as pd
import pytest

import mixable as mx
from mixable.experts import Trees
from mixable.model.trees import RawInputs, TreeDesign

RNG = np.random.default_rng(0)
N = 300
NUMBERS = RNG.normal(size=(N, 2)) * [1.0, 1e6]
NUMBERS[RNG.uniform(size=NUMBERS.shape) < 0.1] = np.nan
COLOURS = np.array(["red", "green", "blue", "grey"])[RNG.integers(0, 4, N)]
FRAME = pd.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1], "colour": COLOURS})
SCORE = np.nan_to_num(NUMBERS[:, 0]) + 2.0 * np.isin(COLOURS, ["red", "grey"])
LABELS = (np.median(SCORE) < SCORE).astype(int)


def trees_of(model):
    (trees,) = [each for each in model.forecaster_.experts if isinstance(each, Trees)]
    return trees


@pytest.mark.parametrize(
    ("model", "y"), [(mx.GAFClassifier(), LABELS), (mx.GAFRegressor(), SCORE)], ids=["labels", "y"]
)
def test_they_see_raw_numbers_and_categories(model, y):
    model.prequential(FRAME, y)
    trees = trees_of(model)
    kept = trees._core.rows()
    assert trees.steps == N
    assert np.array_equal(kept["x"].reshape(N, 2), NUMBERS, equal_nan=True)
    assert trees._core.categories == 1
    keys = kept["keys"]
    assert all(len(set(keys[colour == COLOURS])) == 1 for colour in set(COLOURS))
    assert len(set(keys)) == 4
    gains = trees._core.gains()
    assert gains[2] > gains[1]
    again = mx.loads(mx.dumps(model))
    for each in (model, again):
        each.partial_fit(FRAME[:50], y[:50])
    assert np.array_equal(
        trees_of(again)._core.rows()["x"], trees_of(model)._core.rows()["x"], equal_nan=True
    )
    assert np.array_equal(again.predict(FRAME), model.predict(FRAME))


def test_a_low_effort_has_none():
    for kind in (mx.GAFClassifier, mx.GAFRegressor):
        low = kind(effort="low").fit(NUMBERS[:, :1], LABELS)
        experts = getattr(low.forecaster_, "experts", [])
        assert not any(isinstance(each, Trees) for each in experts)
        assert "trees" in kind().fit(NUMBERS, LABELS).forecaster_.design.names


def test_a_table_equals_the_loop_with_columns_that_come_late():
    """The categories appear at row 100: trees become wider there, in a table and in the loop."""
    frame = FRAME.assign(kind=np.where(LABELS == 0, "one", "two"))
    records = frame.to_dict("records")
    for record in records[:100]:
        del record["colour"]
    loop, table = mx.river.GAFClassifier(), mx.river.GAFClassifier()
    for record, label in zip(records, LABELS.tolist(), strict=True):
        loop.learn_one(record, label)
    for record, label in zip(records[:100], LABELS[:100].tolist(), strict=True):
        table.learn_one(record, label)
    table.learn_many(frame[100:], pd.Series(LABELS[100:], index=frame.index[100:]))
    one, other = (
        next(e for e in m._learner.forecaster.experts if isinstance(e, Trees))
        for m in (loop, table)
    )
    assert one._core.categories == 2
    for name, value in one._core.state().items():
        own = other._core.state()[name]
        assert np.array_equal(own, value, equal_nan=np.asarray(value).dtype.kind == "f"), name


def test_while_inactive_they_keep_rows_and_do_nothing_else():
    models = []
    for run in (True, False):
        model = mx.GAFClassifier(kernel=mx.kernels.Auto(5)).partial_fit(NUMBERS[:100], LABELS[:100])
        state = model.forecaster_._core.state()
        left = np.full((1, len(model.forecaster_.experts)), 99.0)
        left[0, 0] = 0
        state.update({"activity.left": left, "activity.level": 1e9 * left})
        model.forecaster_._core.restore(state)
        before = trees_of(model)._core.state()
        if run:
            model.partial_fit(NUMBERS[100:], LABELS[100:])
        else:
            for x, y in zip(NUMBERS[100:], LABELS[100:], strict=True):
                model.partial_fit(x[None], [y])
        after = trees_of(model)._core.state()
        assert (after["steps"], after["rows"]) == (100, N)
        assert np.array_equal(after["live_value"], before["live_value"])
        assert np.array_equal(after["x"].reshape(N, 2), NUMBERS, equal_nan=True)
        models.append(after)
    assert np.array_equal(models[0]["y"], models[1]["y"])


def test_their_design():
    design = TreeDesign()
    assert design.fits(design.forecaster(3, 2), 3)
    assert not design.fits(design.forecaster(3, 2), 4)
    assert not design.fits(Trees(3, 2, categories=[0]), 3)
    assert not design.fits(mx.GAF(3, 2), 3)
    inputs = RawInputs(2)
    assert inputs.transform(NUMBERS) is NUMBERS
    assert inputs.with_features(5).n_features == 5
    inputs.restore({})
    with pytest.raises(ValueError, match="raw inputs"):
        inputs.restore({"mean": np.zeros(2)})


@pytest.mark.parametrize(
    ("model", "y"), [(mx.GAFClassifier(), LABELS), (mx.GAFRegressor(), SCORE)], ids=["labels", "y"]
)
def test_those_of_a_table_that_is_fitted_are_built_to_the_end(model, y):
    state = trees_of(model.fit(FRAME, y))._core.state()
    assert (state["stage"], state["live_start"], state["live_times"]) == (0, N, 3)
    said = model.predict(FRAME)
    model.forecaster_.finish()  # they are of the same rows
    assert np.array_equal(model.predict(FRAME), said)
    model.partial_fit(FRAME[:1], y[:1])
    assert trees_of(model).steps == N + 1
