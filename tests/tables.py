"""Tables of data that the tests write to files."""

import gzip

import numpy as np
import polars as pl

HEADER, ROWS = "size,weight,colour,kind", 400


def write_table(path):
    """The same small table in every format."""
    rng = np.random.default_rng(0)
    size, weight = rng.normal(size=ROWS).round(3), rng.normal(size=ROWS).round(3)
    colour = rng.choice(["red", "green", "blue"], ROWS)
    kind = np.where(size + (colour == "red") + 0.3 * rng.normal(size=ROWS) > 0.3, "big", "small")
    frame = pl.DataFrame({"size": size, "weight": weight, "colour": colour, "kind": kind})
    frame = frame.with_columns(
        pl.when(pl.arange(0, ROWS) % 50 == 7).then(None).otherwise(pl.col("weight")).alias("weight")
    )
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    elif path.suffix == ".arff":
        lines = [
            "@relation t",
            "@attribute size numeric",
            "@attribute weight numeric",
            "@attribute colour {red,green,blue}",
        ]
        lines += ["@attribute kind {big,small}", "@data"]
        lines += [
            ",".join("?" if value is None else str(value) for value in row)
            for row in frame.iter_rows()
        ]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_text(
            "".join(
                f"{int(k == 'big')} 1:{s} 2:{w}\n"
                for s, w, k in zip(size, weight, kind, strict=True)
            )
        )
    return path
