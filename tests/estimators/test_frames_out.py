"""Forecasts as tables of other libraries, by these libraries."""

import numpy as np
import pytest

from mixable import GAFClassifier, GAFRegressor


@pytest.fixture
def model(iris):
    X, y = iris
    return GAFClassifier(effort="low").fit(X, np.array(["a", "b", "c"])[y])


def test_forecasts_are_tables_of_any_library(model, iris):
    X, y = iris
    said, wanted = model.forecasts(X), model.predict_proba(X)
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    pd, duckdb = pytest.importorskip("pandas"), pytest.importorskip("duckdb")
    with duckdb.connect() as con:
        rows = con.sql("SELECT p_a, p_b, p_c FROM said").fetchall()
    frames = (pl.DataFrame(said), pl.from_arrow(pa.table(said)), pd.DataFrame(said))
    for frame in frames:
        assert list(frame.columns) == ["p_a", "p_b", "p_c"]
    for table in (
        *map(np.asarray, frames),
        rows,
        pa.RecordBatchReader.from_stream(said).read_pandas(),
    ):
        assert np.array_equal(table, wanted)
    numbers = GAFRegressor(effort="low").fit(X, y)
    table, (mean, std) = pa.table(numbers.forecasts(X)), numbers.predict(X, return_std=True)
    assert table.column_names == ["mean", "std"]
    assert np.array_equal(table["mean"], mean)
    assert np.array_equal(table["std"], std)


def test_the_stream_is_that_of_polars_where_there_is_no_pyarrow(model, iris, monkeypatch):
    pl = pytest.importorskip("polars")
    wanted = model.forecasts(iris[0])
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    capsule = wanted.__arrow_c_stream__()
    assert type(capsule).__name__ == "PyCapsule"

    class Holder:
        def __arrow_c_stream__(self, requested_schema=None):
            return capsule

    assert np.array_equal(pl.from_arrow(pl.DataFrame(Holder())), model.predict_proba(iris[0]))
