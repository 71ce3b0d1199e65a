"""Names of files and columns in reports and figures."""

import html
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import in_process

from mixable.paper.experiments import sources

STRANGE = [
    "[/b]",
    "$x$",
    "_{",
    "%",
    "<script>",
    ":smile:",
]  # what Rich, Matplotlib or a browser could take for markup


def strange_table(path):
    rng = np.random.default_rng(0)
    numbers = {column: rng.normal(size=100) for column in STRANGE[1:]}
    frame = pl.DataFrame(
        {**numbers, "[/b]": rng.choice(STRANGE, 100), "y": rng.choice(STRANGE[:2], 100)}
    )
    path.parent.mkdir(exist_ok=True)
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[
        path.suffix
    ](path)


def test_names_of_files_and_columns_are_text_and_no_markup(tmp_path, monkeypatch):
    names = ["a$b_{c}[/b].csv", "[ab] $\\frac{$ _{ % <script>*? :smile:.csv"]
    for name in names:
        strange_table(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    out = Path("out[/b]$")
    done = in_process(
        "race",
        *names,
        "--forecasters",
        "auto",
        "--grid",
        "none",
        "--repeats",
        1,
        "--jobs",
        1,
        "--out",
        out,
    )
    assert done.exit_code == 0, done.stderr
    report = (out / "report.html").read_text()
    for name in names:
        assert f"{name}: 100 rows, 11 features, 2 classes" in done.stdout
        assert f"<h2>{html.escape(name)}</h2>" in report
    assert done.stdout.count("text column '[/b]' became 6 columns") == 2
    assert f"{out}/report.html" in done.stdout
    assert "<script" not in report
    for picture in ("loss", "reliability", "weights"):
        assert (out / f"{picture}.png").exists()
        drawn = re.findall(
            "<!-- (.*?) -->", (out / f"{picture}.svg").read_text()
        )  # text is drawn as paths, and stands beside them
        for name in names:
            assert any(html.unescape(text).startswith(name) for text in drawn)


@pytest.mark.parametrize("name", ["$[x]*.csv", "$[x]*.jsonl", "$[x]*.parquet"])
def test_names_of_files_are_no_patterns(tmp_path, name):
    strange_table(tmp_path / name)
    (tmp_path / name.replace("[x]*", "x")).write_text("which the pattern would find")
    layout = sources.survey(str(tmp_path / name), None)
    assert (layout.rows, layout.n_features, layout.numeric) == (100, 11, tuple(STRANGE[1:]))
    assert len(sources.table(layout)[1]) == 100
