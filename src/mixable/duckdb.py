"""DuckDB: forecasts in SQL, and forecasts of a query's rows, each made before its outcome.

>>> import mixable as mx
>>> from mixable.duckdb import prequential, register  # doctest: +SKIP
>>> model = mx.GAFClassifier()
>>> prequential(con, "SELECT * FROM visits ORDER BY time", "bought", model)  # doctest: +SKIP
>>> register(con, model)  # doctest: +SKIP
>>> con.sql("SELECT forecast(visits) FROM visits")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from mixable.estimators import GAFClassifier, named

try:
    import duckdb
    import pyarrow as pa
except ModuleNotFoundError as error:
    if error.name not in ("duckdb", "pyarrow"):
        raise
    raise ModuleNotFoundError(
        'mixable.duckdb needs DuckDB and Arrow: pip install "mixable[duckdb]"', name=error.name
    ) from None


def register(con: Any, model: Any, name: str = "forecast") -> None:
    """Let SQL ask a model: `forecast(t)` of a row of table t, or of its columns in their order.

    A classifier's forecast has a field `p_LABEL` for each class, a regressor's has `mean` and
    `std`. Queries after the model has learned more have other forecasts; for new classes it must be
    registered again.
    """
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
        said = pa.table(named.forecasts(model, table.select(wanted)))
        return said.to_struct_array().combine_chunks()

    fields = duckdb.struct_type(dict.fromkeys(named.names(model), "DOUBLE"))
    con.create_function(name, ask, None, fields, type="arrow", null_handling="special")


def prequential(con: Any, query: str, target: str, model: Any = None) -> Any:
    """The rows of a query, each with its forecast, made before the row's target was learned.

    The model (a new GAFClassifier if none is given) learns them in the order of the query. Returns
    a relation: more SQL can be asked of it. Columns of forecasts are as in `register`.
    """
    model = GAFClassifier() if model is None else named.checked(model)
    table = con.sql(query).to_arrow_table()
    if target not in table.column_names:
        raise ValueError(f"target must be a column of the query, got {target!r:.80}")
    y = table[target].to_numpy()
    for column, values in named.prequential(model, table.drop_columns([target]), y).items():
        table = table.append_column(column, pa.array(values))
    return con.from_arrow(table)
