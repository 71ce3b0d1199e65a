"""Explaining what GAFClassifier forecasts, whatever it was given."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

import mixable as mx

FRAME = pd.DataFrame(
    {"colour": ["red", "blue", "red", "green"] * 20, "size": [1.5, 2.5, 0.5, 3] * 20}
)
Y = ["yes", "no", "yes", "no"] * 20


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_one_row_of_any_frame_is_explained_as_its_dictionary(kind):
    data = FRAME.to_dict("list")
    model = mx.GAFClassifier().fit(kind(data), Y)
    one = model.explain(kind({name: cells[:1] for name, cells in data.items()}))
    assert one == model.explain({"colour": "red", "size": 1.5})
    assert {part.column for part in one} == {"colour", "size"}
    assert list(one[0].log_odds) == model.classes_.tolist() == ["no", "yes"]
    assert one[0].log_odds["yes"] > 0
    assert set(model.important()) == {"colour", "size"}


def test_numbers_have_the_names_of_their_columns():
    X = pd.DataFrame({"a": [0.0, 1.0] * 30, "b": [0.0, 0.0, 1.0] * 20})
    model = mx.GAFClassifier(kernel=None).fit(X, X["a"])
    assert [part.column for part in model.explain(X[:1])] == ["a", "b"]
    assert next(iter(model.important(1))) == "a"
    unnamed = mx.GAFClassifier(kernel=None).fit(X.to_numpy(), X["a"])
    assert [part.column for part in unnamed.explain([0.0, 0.0])] == [0, 1]


def test_one_row_is_needed_and_something_learned():
    with pytest.raises(NotFittedError):
        mx.GAFClassifier().explain([[1.0]])
    with pytest.raises(NotFittedError):
        mx.GAFClassifier().important()
    model = mx.GAFClassifier().fit(FRAME, Y)
    with pytest.raises(ValueError, match="one row, got 2"):
        model.explain(FRAME[:2])
    with pytest.raises(ValueError, match="one row, got 2"):
        mx.GAFClassifier(kernel=None).fit(FRAME[["size"]], Y).explain(FRAME[["size"]][:2])
