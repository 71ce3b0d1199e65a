"""Forecasts in SQL, with DuckDB itself."""

import numpy as np
import pytest

import mixable as mx

duckdb = pytest.importorskip("duckdb", reason='DuckDB is in the extra "duckdb"')
from mixable.duckdb import prequential, register  # noqa: E402

VISITS = """
    CREATE TABLE visits AS SELECT i, sin(i * 0.37) AS x, CASE WHEN i % 7 = 0 THEN NULL
    ELSE ['red', 'blue', 'green'][1 + i % 3] END AS colour,
    CASE WHEN sin(i * 0.37) > 0 THEN 'yes' ELSE 'no' END AS bought, cos(i * 0.11) AS spent
    FROM range(60) t(i)
"""
QUERY = "SELECT x, colour, bought FROM visits ORDER BY i"


@pytest.fixture
def con():
    with duckdb.connect() as con:
        con.sql(VISITS)
        yield con


def test_prequential_is_that_of_the_model_and_can_be_queried(con):
    rows = prequential(con, QUERY, "bought")
    table = con.sql(QUERY).to_arrow_table()
    wanted = mx.GAFClassifier().prequential(table.select(["x", "colour"]), table["bought"])
    assert rows.columns == ["x", "colour", "bought", "p_no", "p_yes"]
    found = np.column_stack([rows.fetchnumpy()[name] for name in ("p_no", "p_yes")])
    assert np.array_equal(found, wanted)
    ((loss,),) = con.sql(
        "SELECT avg(-ln(greatest(CASE bought WHEN 'yes' THEN p_yes ELSE p_no END, 1e-9))) FROM rows"
    ).fetchall()
    assert 0 < loss < 21


def test_a_function_of_rows_and_one_of_columns_are_the_models(con):
    table = con.sql(QUERY).to_arrow_table()
    model = mx.GAFClassifier().fit(table.select(["colour", "x"]), table["bought"])
    register(con, model)
    wanted = model.predict_proba(table.select(["x", "colour"]))
    for call in ("forecast(visits)", "forecast(colour, x)"):
        told = con.sql(f"SELECT {call} AS p FROM visits ORDER BY i").fetchall()
        assert np.array_equal([[p["p_no"], p["p_yes"]] for (p,) in told], wanted)
    with pytest.raises(duckdb.Error, match="takes a row, or 2 columns: colour, x"):
        con.sql("SELECT forecast(1, 2, 3)").fetchall()
    with pytest.raises(duckdb.Error, match="no column 'colour'"):
        con.sql("SELECT forecast({'x': 1})").fetchall()


def test_a_regressor_has_mean_and_deviation(con):
    model = mx.GAFRegressor()
    rows = prequential(con, "SELECT x, spent FROM visits ORDER BY i", "spent", model)
    assert rows.columns == ["x", "spent", "mean", "std"]
    register(con, model, "spends")
    asked = con.sql("SELECT spends(x).mean FROM visits ORDER BY i").fetchnumpy()
    X = con.sql("SELECT x FROM visits ORDER BY i").to_arrow_table()
    assert np.array_equal(next(iter(asked.values())), model.predict(X))


def test_a_table_function_makes_prequential_forecasts_of_a_query(con):
    register(con)
    said = con.sql(f"FROM prequential('{QUERY}', 'bought')")
    assert said.columns == ["x", "colour", "bought", "forecast"]
    wanted = prequential(con, QUERY, "bought").fetchall()
    found = [(*row[:3], *row[3].values()) for row in said.fetchall()]
    assert found == wanted
    assert list(said.limit(1).fetchall()[0][3]) == ["p_no", "p_yes"]
    query = "SELECT x, spent FROM visits ORDER BY i DESC"
    numbers = con.sql(
        f"SELECT spent, forecast['mean'] FROM prequential('{query}', 'spent', regression := true)"
    )
    wanted = prequential(con, query, "spent", mx.GAFRegressor()).fetchnumpy()
    assert np.array_equal(numbers.fetchnumpy()["spent"], wanted["spent"])
    assert np.array_equal([mean for _, mean in numbers.fetchall()], wanted["mean"])
    with pytest.raises(duckdb.Error, match="target must be a column of the query, got 'y'"):
        con.sql(f"FROM prequential('{QUERY}', 'y')").fetchall()
    assert con.sql(f"FROM prequential('{QUERY} LIMIT 0', 'bought')").fetchall() == []


def test_a_relation_is_a_table_by_arrow(con):
    X, y = con.sql("SELECT x, colour FROM visits ORDER BY i"), con.sql(QUERY).to_arrow_table()
    model = mx.GAFClassifier(random_state=0).fit(X, y["bought"])
    other = mx.GAFClassifier(random_state=0).fit(X.to_arrow_table(), y["bought"])
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X.to_arrow_table()))


def test_what_does_not_fit_is_named(con):
    with pytest.raises(ValueError, match="target must be a column of the query, got 'y'"):
        prequential(con, QUERY, "y")
    with pytest.raises(TypeError, match="model must be a GAFClassifier"):
        register(con, mx.AutoGAF(2, 2))
    with pytest.raises(ValueError, match="names of columns"):
        register(con, mx.GAFClassifier().fit(np.eye(4), [0, 1, 0, 1]))
