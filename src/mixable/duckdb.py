"""DuckDB: forecasts in SQL, and forecasts of a query's rows, each made before its outcome.

>>> import mixable as mx
>>> from mixable.duckdb import prequential, register  # doctest: +SKIP
>>> model = mx.GAFClassifier()
>>> prequential(con, "SELECT * FROM visits ORDER BY time", "bought", model)  # doctest: +SKIP
>>> register(con, model)  # doctest: +SKIP
>>> con.sql("SELECT forecast(visits) FROM visits")  # doctest: +SKIP
>>> con.sql("FROM prequential('SELECT x, bought FROM visits', 'bought')")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from mixable.estimators import GAFClassifier, GAFRegressor, named

try:
    import duckdb
    import pyarrow as pa
except ModuleNotFoundError as error:
    if error.name not in ("duckdb", "pyarrow"):
        raise
    raise ModuleNotFoundError(
        'mixable.duckdb needs DuckDB and Arrow: pip install "mixable[duckdb]"', name=error.name
    ) from None


# A query's rows in their order as one list, what a new model forecasts of each, and both side by
# side again.
_TABLE_FUNCTION = """
CREATE OR REPLACE TEMP MACRO prequential(source, target, regression := false) AS TABLE
SELECT unnest(seen), forecast FROM (
    SELECT unnest(all_seen) AS seen,
        unnest(prequential_of_rows(all_seen, target, regression)) AS forecast
    FROM (SELECT list(one ORDER BY place) AS all_seen FROM (
        SELECT one, row_number() OVER () AS place FROM query(source) AS one)))
"""
_FORECASTS = "MAP(VARCHAR, DOUBLE)[]"


def register(con: Any, model: Any = None, name: str = "forecast") -> None:
    """Let SQL make forecasts: of each row of a query before its target is learned, and by a model.

    `FROM prequential('SELECT ...', 'TARGET')` has the rows of a query in their order, each with its
    `forecast` by a new GAFClassifier, or with `regression := true` by a GAFRegressor: a map of
    `p_LABEL` for each class, or of `mean` and `std`. (`prequential` of this module does the same
    with a model of yours.)

    With a model, there is `forecast(t)`, too, of a row of table t, or of its columns in their
    order: a struct of the same fields. Queries after the model has learned more have other
    forecasts; for new classes it must be registered again.

    Parameters
    ----------
    con
        A connection of DuckDB. The functions are part of it until it is closed.
    model
        A GAFClassifier or GAFRegressor that has learned a table with names of columns. None: only
        `prequential` is registered.
    name
        What `forecast` shall be called in SQL, say where several models are registered.
    """
    if model is not None:
        _register_model(con, model, name)
    con.create_function(
        "prequential_of_rows", _of_rows, None, _FORECASTS, type="arrow", side_effects=True
    )
    con.execute(_TABLE_FUNCTION)


def _of_rows(rows: Any, target: Any, regression: Any) -> Any:
    """Forecasts of a list of rows, each before its target is learned."""
    kind = pa.list_(pa.map_(pa.string(), pa.float64()))
    if not len(rows):  # of a query without rows there is no list
        return pa.array([], kind)
    ((name,), (is_number,)) = (column.to_pylist() for column in (target, regression))
    flat = rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows
    table = pa.Table.from_struct_array(flat.flatten())
    X, y = _parted(table, name)
    said = named.prequential(GAFRegressor() if is_number else GAFClassifier(), X, y)
    each = (zip(said, numbers, strict=True) for numbers in zip(*said.values(), strict=True))
    return pa.array([list(map(list, each))], kind)


def _parted(table: Any, target: str) -> tuple[Any, Any]:
    """The columns of a table without its target, and that."""
    if target not in table.column_names:
        raise ValueError(f"target must be a column of the query, got {target!r:.80}")
    return table.drop_columns([target]), table[target].to_numpy()


def _register_model(con: Any, model: Any, name: str) -> None:
    columns = getattr(named.checked(model), "feature_names_in_", None)
    if columns is None:
        raise ValueError("model must have learned from a table with names of columns")
    wanted = columns.tolist()

    def ask(*given: Any) -> Any:
        if len(given) == 1 and pa.types.is_struct(given[0].type):
            table = pa.Table.from_struct_array(given[0])
        elif len(given) == len(wanted):
            table = pa.table(dict(zip(wanted, given, strict=True)))
        else:
            raise ValueError(f"{name} takes a row, or {len(wanted)} columns: {', '.join(wanted)}")
        for column in wanted:
            if column not in table.column_names:
                raise ValueError(f"{name}: the row has no column {column!r:.80}")
        said = pa.table(model.forecasts(table.select(wanted)))
        return said.to_struct_array().combine_chunks()

    fields = duckdb.struct_type(dict.fromkeys(named.names(model), "DOUBLE"))
    con.create_function(name, ask, None, fields, type="arrow", null_handling="special")


def prequential(con: Any, query: str, target: str, model: Any = None) -> Any:
    """The rows of a query, each with its forecast, made before the row's target was learned.

    The model (a new GAFClassifier if none is given) learns them in the order of the query. Returns
    a relation: more SQL can be asked of it. Columns of forecasts are as in `register`.

    Parameters
    ----------
    con
        A connection of DuckDB.
    query
        The query, in SQL. Give it an ORDER BY, since rows are learned in its order.
    target
        The column of the query that is forecast. All others are inputs.
    model
        A GAFClassifier or GAFRegressor, which has learned the rows afterwards.
    """
    model = GAFClassifier() if model is None else named.checked(model)
    table = con.sql(query).to_arrow_table()
    X, y = _parted(table, target)
    for column, values in named.prequential(model, X, y).items():
        table = table.append_column(column, pa.array(values))
    return con.from_arrow(table)
