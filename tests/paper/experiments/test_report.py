"""Names of files and columns in reports and figures."""

import html
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from browser import CHROMIUM, opened
from command_line import in_process

from mixable.paper.experiments import report, sources
from mixable.paper.experiments.race import Standing

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
    text = (out / "report.html").read_text()
    for name in names:
        assert f"{name}: 100 rows, 11 features, 2 classes" in done.stdout
        assert f"<h2>{html.escape(name)}</h2>" in text
    assert done.stdout.count("text column '[/b]' became 6 columns") == 2
    assert f"{out}/report.html" in done.stdout
    assert "<script" not in text
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


def standing(data, forecaster, loss):
    empty = {"curve": [], "reliability": [], "worst": None, "weights": [], "n": 1}
    return Standing(
        data=data,
        forecaster=forecaster,
        setting={},
        low=loss,
        median=loss,
        high=loss,
        accuracy=0.5,
        calibration_error=0.1,
        classwise_error=0.1,
        microseconds=1.0,
        regret=None,
        results=[empty],
    )


def test_the_first_sentence_says_who_won_and_by_how_much():
    rows = [
        standing("a{b}", "gaf", 0.4),
        standing("a{b}", "ogd", 0.5),
        standing("b", "gaf", 0.4),
        standing("b", "ogd", 0.4),
        standing("c", "ons", 0.25),
    ]
    assert report.in_short(rows) == (
        "GAF won on a{b}: 0.4000 nats per example, 20.0% less than OGD (0.5000); "
        "GAF won on b: 0.4000 nats per example, level with OGD (0.4000); "
        "ONS ran alone on c: 0.2500 nats per example."
    )


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to show the report")
def test_the_report_fits_a_phone_and_the_dark(tmp_path):
    rows = [standing(name, who, 0.5) for name in ("one", "two") for who in ("gaf", "ogd")]
    race = {"command": "mixable race " + "x" * 300, "data": ["one", "two"], "remarks": {}}
    (tmp_path / "loss.svg").write_text('<svg width="900pt" height="300pt" viewBox="0 0 9 3"/>')
    report.write(tmp_path / "report.html", rows, [tmp_path / "loss.svg"], race)
    with opened("about:blank", tmp_path / "browser") as page:
        page.size(400)
        page.call("Page.navigate", url=(tmp_path / "report.html").as_uri())
        page.until("!!document.querySelector('figcaption')")
        assert page.value("document.documentElement.scrollWidth") == 400
        assert page.value("document.querySelector('svg').clientWidth") == 640  # 20rem for each
        assert page.value("document.querySelector('h1 + p').innerText").startswith("GAF won on")
        paper = "getComputedStyle(document.body).backgroundColor"
        assert page.value(paper) == "rgb(255, 255, 255)"
        dark = {"name": "prefers-color-scheme", "value": "dark"}
        page.call("Emulation.setEmulatedMedia", features=[dark])
        assert page.value(paper) == "rgb(22, 22, 22)"
        assert "invert" in page.value("getComputedStyle(document.querySelector('svg')).filter")
