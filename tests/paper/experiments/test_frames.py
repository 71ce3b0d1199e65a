"""Cells of files are read as a stream reads them."""

import json

import numpy as np
import polars as pl
import pytest
from command_line import mixable

from mixable.paper.experiments import race, sources
from mixable.records.cells import INFINITE, MISSING, NUMBER, WORD

ROWS = 300


def write_marked(path):
    """A table with "?" and "NA" among numbers, among words and among labels."""
    rng = np.random.default_rng(0)
    size = [str(x) for x in rng.normal(size=ROWS).round(3)]
    size[5], size[11], size[17], size[23] = "?", "NA", "", " 1.5"
    country = rng.choice(["NA", "DE", "?", ""], ROWS)
    kind = np.where((country == "NA") ^ (rng.random(ROWS) < 0.1), "NA", rng.choice(["?", "a"]))
    kind[:2] = "a", "?"
    table = pl.DataFrame({"size": size, "country": country, "kind": kind})
    if path.suffix == ".csv":
        lines = [",".join(row) for row in [table.columns, *table.rows()]]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".parquet":
        table.write_parquet(path)
    else:
        table.write_ndjson(path)
    return path, table


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_marks_are_missing_among_numbers_and_words_among_words(suffix, tmp_path):
    path, table = write_marked(tmp_path / f"t{suffix}")
    layout = sources.survey(str(path), "kind")
    assert layout.numeric == ("size",)
    ((name, values),) = layout.categories
    assert (name, sorted(values)) == ("country", ["?", "DE", "NA"])
    assert layout.classes == ("?", "NA", "a")
    X, y = sources.table(layout)
    assert np.flatnonzero(np.isnan(X[:, 0])).tolist() == [5, 11, 17]
    assert X[23, 0] == 1.5
    for place, value in enumerate(values):
        assert X[:, 1 + place].tolist() == (table["country"] == value).cast(pl.Float64).to_list()
    assert [layout.classes[code] for code in y] == table["kind"].to_list()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_race_and_a_stream_see_the_same_marks(suffix, tmp_path):
    """As many events, the same classes, the same loss."""
    path, _ = write_marked(tmp_path / f"t{suffix}")
    options = ("--target", "kind", "--classes", "?,NA,a", "--metrics", tmp_path / "metrics")
    out = ("--out", tmp_path / "out.csv")
    done = mixable("stream", "--model", tmp_path / "m", *options, *out, path)
    assert done.returncode == 0, done.stderr
    stream = json.loads((tmp_path / "metrics").read_text().splitlines()[-1])
    assert (stream["rejected"], stream["learned"]) == (0, ROWS)
    layout = sources.survey(str(path), "kind")
    raced = race.run(race.Task(data="t", layout=layout, forecaster="nonlinear", scale="causal"))
    assert raced["log_loss"] == pytest.approx(stream["log_loss"], rel=1e-9)


def test_what_cells_are():
    text = pl.Series("x", ["1", "", None, "NA", "nan", "red", "inf", "?"])
    values, cells = sources.numbers(text)
    assert cells.tolist() == [NUMBER, *[MISSING] * 4, WORD, INFINITE, MISSING]
    assert np.flatnonzero(~np.isnan(values)).tolist() == [0]
    values, cells = sources.numbers(pl.Series("x", [1.0, None, np.inf]))
    assert (values[0], cells[2]) == (1.0, INFINITE)
    assert np.isnan(values[1:]).all()
    assert sources.numbers(pl.Series("x", [True, False]))[0].tolist() == [1.0, 0.0]
    assert sources.labels(pl.Series("y", ["NA", "", None, "?"])) == ["NA", None, None, "?"]
    assert sources.labels(pl.Series("y", [1.0, np.nan])) == ["1.0", None]


def test_values_of_lists_are_flags(tmp_path):
    tags = pl.Series("tags", [["sale", "new"], [], None, ["new"]])
    assert sorted(sources.words(tags).to_list()) == ["new", "new", "sale"]
    assert sources.has(tags, "new").tolist() == [1.0, 0.0, 0.0, 1.0]
    path = tmp_path / "t.jsonl"
    pl.DataFrame({"tags": tags, "y": ["a", "b", "a", "b"]}).write_ndjson(path)
    layout = sources.survey(str(path), "y")
    assert layout.categories == (("tags", ("new", "sale")),)
    assert sources.table(layout)[0].tolist() == [[1, 1], [0, 0], [0, 0], [1, 0]]


def test_infinite_values_are_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,a\ninf,b\n2,a\n")
    layout = sources.survey(str(path), "y")
    assert any(remark.startswith("1 values are infinite") for remark in layout.remarks)
    assert np.isnan(sources.table(layout)[0][1, 0])
