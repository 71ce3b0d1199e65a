"""Tables of every kind: columns by name, truth, text."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from mixable import GAFClassifier, GAFRegressor


def tables(X, names):
    frame = pd.DataFrame(X, columns=names)
    return {
        "pandas": frame,
        "polars": pl.DataFrame(dict(zip(names, X.T, strict=True))),
        "arrow": pa.Table.from_pandas(frame),
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_named_columns_are_put_in_order_and_missing_ones_named(iris, kind):
    X, y = iris
    names = ["sl", "sw", "pl", "pw"]
    model = GAFClassifier().fit(tables(X, names)[kind], y)
    assert model.feature_names_in_.tolist() == names
    expected = GAFClassifier().fit(X, y).predict_proba(X)
    assert np.array_equal(model.predict_proba(tables(X, names)[kind]), expected)
    shuffled_columns = tables(X[:, ::-1], names[::-1])[kind]
    assert np.array_equal(model.predict_proba(shuffled_columns), expected)
    with pytest.raises(ValueError, match=r"(?s)missing.*- pw"):
        model.predict_proba(tables(X[:, :3], names[:3])[kind])
    with pytest.raises(ValueError, match=r"(?s)unseen.*- extra"):
        model.predict_proba(tables(np.column_stack([X, y]), [*names, "extra"])[kind])


def test_columns_of_any_name():
    X = np.random.default_rng(0).normal(size=(20, 4))
    names = ["collect", "column_names", "select", "columns"]
    frame = pd.DataFrame(X, columns=names)
    model = GAFClassifier().fit(frame, [0, 1] * 10)
    assert model.feature_names_in_.tolist() == names
    assert np.array_equal(model.predict_proba(frame[names[::-1]]), model.predict_proba(frame))


def test_tables_of_truth_and_other_things(iris):
    names = ["a", "b"]
    truth = np.array([[True, False], [False, True]] * 20)
    expected = (
        GAFClassifier().fit(truth.astype(float), [0, 1] * 20).predict_proba(truth.astype(float))
    )
    arrow = pa.RecordBatch.from_pandas(pd.DataFrame(truth, columns=names))
    for table in (
        arrow,
        pa.Table.from_batches([arrow]),
        pl.DataFrame(dict(zip(names, truth.T, strict=True))),
    ):
        assert np.array_equal(
            GAFClassifier().fit(table, [0, 1] * 20).predict_proba(table), expected
        )
    with pytest.raises(TypeError, match="collect"):
        GAFClassifier().fit(pl.LazyFrame({"a": [1.0, 2.0]}), [0, 1])
    dates = pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 1, 2), eager=True)
    frame = pl.DataFrame({"a": [1.0, 2.0], "when": dates})
    assert GAFClassifier().fit(frame, [0, 1]).predict_proba(frame).shape == (2, 2)
    assert GAFRegressor().fit(frame, [0, 1]).predict(frame).shape == (2,)
    numbers = pl.DataFrame({"a": [1.0, 2.0], "when": [3.0, 4.0]})
    with pytest.raises(TypeError, match="'when' holds dates"):
        GAFRegressor().fit(numbers, [0, 1]).predict(frame)
