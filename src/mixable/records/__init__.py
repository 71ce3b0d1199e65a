"""Records to rows, causally and online.

Interface
---------
`Columns(category=..., text=..., tags=..., time=..., number=..., ignore=..., cross=[(a, b), ...],
decimal_comma=..., day_first=..., month_first=...)`
    What the user declares. The kinds of all other columns are guessed.
`Encoder(columns=None, max_values=..., max_numbers=..., max_columns=...)`
    - `encode(record) -> Row`: pure. `commit(row)`, or `learn(record)` for both in one.
    - `stage(table) -> (Rows, Pending)`: pure. `commit(pending, rows)` learns the first `rows`.
      `encode_table(table)` is the first half alone; `guess(table)` decides on kinds only.
    - `n_dense`, `dense_names`: the dense part. It grows at its end, by `commit` only.
    - `explain(record) -> (Row, [Piece])`: which keys and places come from which column.
    - `ask()`: warns of columns that can be read in two ways. `taken_for` says how each is read.
    - `describe()`, `kinds`, `name(key)`, `collisions`, `bytes`, `n`.
`Row`: `dense` (d,) float64, `keys` uint64 and `values` float32, `cross_keys` and `cross_values`;
`Rows`: the same with `indptr` and `cross_indptr`, as in CSR matrices.

A row can be wider than `n_dense`, by number columns that are new in it. `row.dense_at(width)` fills
with NaN or cuts. A place that is not there yet is NaN, as is a number that is missing.
"""

from mixable.records.declaration import Columns
from mixable.records.encoder import Encoder, Pending
from mixable.records.rows import Piece, Row, Rows

__all__ = ["Columns", "Encoder", "Pending", "Piece", "Row", "Rows"]
