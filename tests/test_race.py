"""`mixable race` as a user meets it: embedded data and files of all kinds, interrupted and gone on
with, alone and on a cluster.
"""

import gzip
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from test_cli import MIXABLE, mixable
from typer.testing import CliRunner

from mixable import GAF, AutoGAF, _core, datasets
from mixable._files import write_whole
from mixable.cli import race as cli_race
from mixable.cli.app import app
from mixable.experiments import figures, growth, race, runs, sources
from mixable.losses import log_loss

of_the_small_race = pytest.mark.xdist_group("small race")  # so that it is run once


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A race over vehicle, and where its results are."""
    folder = tmp_path_factory.mktemp("small")
    done = mixable(
        "race",
        "vehicle",
        "--forecasters",
        "auto,gaf,ogd",
        "--grid",
        "none",
        "--repeats",
        3,
        "--out",
        folder / "out",
    )
    assert done.returncode == 0, done.stderr
    return folder / "out", done


@of_the_small_race
def test_the_table_and_the_files(small):
    out, done = small
    for name in ("AutoGAF", "GAF", "OGD"):
        assert name in done.stdout
    assert "\x1b" not in done.stderr  # no bars where there is no terminal, but a line now and then
    first, last = done.stderr.splitlines()
    assert first == "mixable: 0 of 9 runs"
    assert last.startswith("mixable: 9 of 9 runs, ")
    for name in ("loss", "reliability", "trust"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / f"{name}.svg").read_text()
    told = json.loads((out / "race.json").read_text())
    assert told["seeds"] == [0, 1, 2]
    assert told["command"].startswith("mixable race vehicle")
    results = pl.read_parquet(out / "results.parquet")
    assert len(results) == 9
    assert set(results["forecaster"]) == {"auto", "gaf", "ogd"}


@of_the_small_race
def test_the_numbers_are_those_of_the_library(small):
    out, _ = small
    results = pl.read_parquet(out / "results.parquet")
    X, y, _ = datasets.load_vehicle()
    order = np.random.default_rng(1).permutation(len(y))
    Z = _core.Scaler(18, True, True, 1).learn(X[order])
    expected = log_loss(AutoGAF(19, 4).run(Z, y[order]), y[order]).mean()
    got = results.filter((pl.col("forecaster") == "auto") & (pl.col("seed") == 1))["log_loss"][0]
    assert got == pytest.approx(expected, abs=1e-9)


@of_the_small_race
def test_the_report_needs_nothing_else(small):
    out, _ = small
    text = (out / "report.html").read_text()
    assert text.count("<svg") == 3
    for word in ("<script", "src=", "@import", "url(http", 'href="http'):
        assert word not in text
    chromium = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if chromium is None:
        pytest.skip("no Chromium here")
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--dump-dom",
            (out / "report.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0
    assert "CONSOLE" not in done.stderr
    assert "AutoGAF" in done.stdout


@of_the_small_race
def test_same_numbers_whatever_the_jobs(small, tmp_path):
    out, _ = small
    options = (
        "--forecasters",
        "auto,gaf,ogd",
        "--grid",
        "none",
        "--repeats",
        3,
        "--out",
        tmp_path / "two",
        "--jobs",
        2,
    )
    assert mixable("race", "vehicle", *options).returncode == 0
    one, two = (
        pl.read_parquet(folder / "results.parquet").drop("microseconds")
        for folder in (out, tmp_path / "two")
    )
    assert one.equals(two)


@of_the_small_race
def test_what_is_finished_is_not_done_again(small):
    out, _ = small
    before = {path.name: path.stat().st_mtime_ns for path in (out / "runs").iterdir()}
    more = mixable(
        "race",
        "vehicle",
        "--forecasters",
        "auto,gaf,ogd",
        "--grid",
        "none",
        "--repeats",
        4,
        "--out",
        out,
    )
    assert more.returncode == 0
    assert "9 of 12 runs were finished before" in more.stderr
    assert {
        name: stamp
        for name, stamp in ((p.name, p.stat().st_mtime_ns) for p in (out / "runs").iterdir())
        if name in before
    } == before


def test_results_of_a_file_that_has_changed_are_not_used_again(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))

    def race_over(y):
        pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).write_csv(tmp_path / "data.csv")
        done = mixable(
            "race",
            tmp_path / "data.csv",
            "--forecasters",
            "gaf",
            "--grid",
            "none",
            "--repeats",
            1,
            "--out",
            tmp_path / "out",
        )
        assert done.returncode == 0, done.stderr
        return done.stderr, pl.read_parquet(tmp_path / "out" / "results.parquet")["log_loss"][0]

    _, easy = race_over((X[:, 0] > 0).astype(int))
    said, hard = race_over(rng.integers(0, 2, 200))
    assert "finished before" not in said
    assert easy < 0.4 < 0.6 < hard
    said, again = race_over((X[:, 0] > 0).astype(int))
    assert "1 of 1 runs were finished before" in said
    assert again == easy


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_it_goes_on_where_it_stopped(tmp_path, how):
    command = [
        MIXABLE,
        "race",
        "shuttle",
        "--forecasters",
        "gaf,ogd",
        "--grid",
        "none",
        "--repeats",
        "40",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(list((tmp_path / "runs").glob("*.json")) if (tmp_path / "runs").exists() else []) < 3:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    kept = {path.name: path.read_text() for path in (tmp_path / "runs").glob("*.json")}
    assert 3 <= len(kept) < 80
    assert "Traceback" not in errors
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "the same command goes on" in errors
    layout = sources.survey("shuttle", None)
    tasks = [
        runs.Task("shuttle", layout, name, (), seed, "causal")
        for seed in range(2)
        for name in ("folklore", "ogd")
    ]
    store = race.Store(tmp_path)
    for task in tasks:
        known = store.get(task.key)
        if known is not None:
            again = runs.run(task)
            assert again["log_loss"] == known["log_loss"]


def in_process(*arguments):
    """The command in this process, which is quicker."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_parts_that_a_kill_has_left_are_removed_on_the_next_start(tmp_path, monkeypatch):
    out = tmp_path / "out"
    race.Store(out)
    killed = [out / "runs" / "0123456789abcdef.json", out / "race.json", out / "another.json"]
    with monkeypatch.context() as patch:
        patch.setattr(
            os, "replace", lambda *names: 1 / 0
        )  # the end comes before the file has its name,
        patch.setattr(os, "unlink", lambda name: None)  # and too soon to clean up
        for path in killed:
            with pytest.raises(ZeroDivisionError):
                write_whole(path, b"half")
    (out / "runs" / "mine.part").touch()
    (out / "runs" / ".mine.12345678.part").touch()
    assert [len(list(folder.glob(".*.part"))) for folder in (out / "runs", out)] == [2, 2]
    done = in_process(
        "race", "vehicle", "--forecasters", "ogd", "--grid", "none", "--repeats", 1, "--out", out
    )
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in (out / "runs").iterdir() if path.suffix != ".json") == [
        ".mine.12345678.part",
        "mine.part",
    ]
    (left,) = out.glob(
        ".*.part"
    )  # of a file that is not the race's: the user has named the folder, and others may write there
    assert left.name.startswith(".another.json.")


def test_lines_of_progress_are_no_flood(tmp_path, monkeypatch):
    options = (
        "race",
        "vehicle",
        "--forecasters",
        "ogd",
        "--grid",
        "none",
        "--repeats",
        4,
        "--jobs",
        1,
        "--out",
    )
    for pause, lines in ((0.0, [0, 1, 2, 3, 4]), (60.0, [0, 4])):
        monkeypatch.setattr(cli_race, "PAUSE", pause)
        said = in_process(*options, tmp_path / f"{pause}").stderr.splitlines()
        assert [line.split(",")[0] for line in said] == [f"mixable: {n} of 4 runs" for n in lines]
        assert all("s left" in line for line in said[1:-1])
    assert (
        in_process(*options, tmp_path / "60.0").stderr
        == "mixable: 4 of 4 runs were finished before\n"
    )


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
    for picture in ("loss", "reliability", "trust"):
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


def test_a_long_name_has_its_own_line_above_a_panel():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    for name, title in (
        ("short", "short: 5"),
        ("x" * 54, f"{'x' * 54}\n5"),
        ("x" * 300 + "end", f"…{'x' * 51}end\n5"),
    ):
        figures.entitle(axes, name, ": 5")
        assert axes.get_title() == title


def test_a_name_that_is_not_utf_8_is_refused_and_the_others_are_raced(tmp_path, monkeypatch):
    bad = write_table(tmp_path / "t.csv").rename(tmp_path / os.fsdecode(b"caf\xe9\x1b[31m.csv"))
    arguments = [
        "race",
        bad,
        "vehicle",
        "--forecasters",
        "ogd",
        "--grid",
        "none",
        "--repeats",
        1,
        "--out",
        tmp_path / "out",
    ]
    monkeypatch.setattr(sys, "argv", ["mixable", *map(str, arguments)])
    done = in_process(*arguments)
    assert done.exit_code == 2
    assert r"caf\udce9\x1b[31m.csv: its name is not UTF-8" in done.stderr.splitlines()[0]
    assert r"caf\udce9" in (tmp_path / "out" / "report.html").read_text()


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


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.jsonl", "t.arff"])
def test_files_of_every_kind_are_the_same_data(tmp_path, name):
    layout = sources.survey(str(write_table(tmp_path / name)), "kind")
    assert (layout.rows, layout.n_features, layout.classes) == (ROWS, 5, ("big", "small"))
    X, y = sources.table(layout)
    reference = sources.table(sources.survey(str(write_table(tmp_path / "reference.csv")), None))
    np.testing.assert_array_equal(X, reference[0])
    np.testing.assert_array_equal(y, reference[1])
    assert any("colour" in remark for remark in layout.remarks)
    assert np.isnan(X).sum() == 8


def test_racing_a_file_says_what_was_done(tmp_path):
    path = write_table(tmp_path / "t.csv")
    done = mixable(
        "race",
        path,
        "--target",
        "kind",
        "--forecasters",
        "auto,ogd",
        "--grid",
        "none",
        "--keep-order",
        "--out",
        tmp_path / "out",
    )
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())  # lines break where they happen to
    assert "text column 'colour' became 3 columns" in said
    assert "one pass" in said
    svm = write_table(tmp_path / "t.libsvm")
    assert (
        mixable(
            "race",
            svm,
            "--forecasters",
            "ogd",
            "--grid",
            "none",
            "--repeats",
            1,
            "--out",
            tmp_path / "svm",
        ).returncode
        == 0
    )


BAD = {
    "missing.csv": (None, "no such file"),
    "one.csv": ("a,y\n1,p\n2,p\n", "nothing to forecast"),
    "empty-column.csv": ("a,b,y\n1,,p\n2,,q\n", "column 'b' has no values"),
    "ragged.csv": ("a,y\n1,p\n1,2,3,q\n", "cannot be read"),
    "no-label.csv": ("a,y\n1,p\n2,\n3,q\n", "row 2 has no label"),
    "binary.csv": (bytes(range(256)) * 20, "cannot be read"),
    "empty.csv": ("", "is empty"),
    "only-target.csv": ("y\np\nq\n", "no column besides the target"),
    "what.xyz": ("a", "its kind is not known"),
    "not.parquet": ("a,y\n1,2\n", "cannot be read"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_clear_line_and_exit_code_2(tmp_path, name):
    content, message = BAD[name]
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = mixable("race", path, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("vehicle", "--forecasters", "gfa"), "no forecaster is called 'gfa'; did you mean 'gaf'?"),
        (("vehicle", "--forecasters", "aioli"), "aioli is for two classes"),
        (("vehicle", "--grid", "nowhere.json"), "nowhere.json"),
        (("vehicle", "--engine", "dask"), "needs --scheduler"),
        (("vehicle", "--alphas", "-1"), "--alphas"),
        (("vehicle", "--forecasters", "zzz"), "no forecaster is called 'zzz'. There are auto, gaf"),
        (("vehicle", "--grid", '{"gaf": [{"lambda": 1}]}'), "vehicle: gaf with {'lambda': 1.0}: "),
        (("vehicle", "--grid", '{"gaf": [{"lam": -1}]}'), "lam must be above 0"),
        (("vehicle", "--grid", '{"gfa": [{"lam": 1}]}'), "no forecaster is called 'gfa'"),
        (
            ("vehicle", "--engine", "dask", "--scheduler", "tcp://127.0.0.1:9"),
            "no Dask scheduler answers at tcp://127.0.0.1:9",
        ),
        (
            ("vehicle", "--engine", "dask", "--scheduler", "nonsense://"),
            "no Dask scheduler answers at nonsense://",
        ),
        (("vehicel",), "no such file; the embedded sets are vehicle, shuttle, segment"),
    ],
)
def test_bad_options(tmp_path, arguments, message):
    (tmp_path / "grid.json").write_text(arguments[-1])
    arguments = ["grid.json" if argument.startswith("{") else argument for argument in arguments]
    done = mixable("race", *arguments, "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = mixable("race", "vehicle", "--out", tmp_path / "file" / "out")
    assert done.returncode == 2
    assert "cannot write to" in done.stderr


def test_missing_target_is_named_and_the_good_files_are_still_raced(tmp_path):
    good = write_table(tmp_path / "good.csv")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    options = (
        "--target",
        "kind",
        "--forecasters",
        "ogd",
        "--grid",
        "none",
        "--repeats",
        1,
        "--out",
        tmp_path / "out",
    )
    done = mixable("race", tmp_path / "bad.csv", good, *options)
    assert done.returncode == 2
    assert "has no column 'kind'; its columns are a, b" in done.stderr
    assert "OGD" in done.stdout


def test_a_grid_of_ones_own(tmp_path):
    (tmp_path / "grid.json").write_text('{"gaf": [{"lam": 0.1}, {"lam": 1}]}')
    options = (
        "--forecasters",
        "gaf",
        "--grid",
        tmp_path / "grid.json",
        "--repeats",
        1,
        "--alphas",
        "1,inf",
        "--out",
        tmp_path / "out",
    )
    assert mixable("race", "vehicle", *options).returncode == 0
    assert len(pl.read_parquet(tmp_path / "out" / "results.parquet")) == 2


def finished(forecaster, setting, losses, data="t"):
    """Results of runs, of the shape that `runs.run` makes."""
    what = {"data": data, "forecaster": forecaster, "setting": setting, "n": 100}
    scores = {"accuracy": 0.9, "calibration_error": 0.01, "microseconds": 1.0}
    return [{**what, **scores, "seed": seed, "log_loss": loss} for seed, loss in enumerate(losses)]


def test_the_setting_of_least_mean_loss_stands_for_its_forecaster():
    first, best, worst = {"lam": 1.0}, {"lam": 0.1}, {"lam": 10.0}
    results = [
        *finished("gaf", first, [0.1, 0.2, 0.9]),  # the least median, and the least loss of all
        *finished("ogd", {"step": 1.0}, [0.25, 0.25, 0.25]),
        *finished("gaf", best, [0.4, 0.3, 0.2]),
        *finished("gaf", worst, [0.5, 0.5, 0.5]),
        *finished("gaf", worst, [0.01, 0.01, 0.01], data="other"),
    ]
    ogd, gaf, other = race.standings(results, {"t": 12.0, "other": None})
    assert (ogd.forecaster, other.data, other.regret) == ("ogd", "other", None)
    assert (gaf.forecaster, gaf.setting) == ("gaf", best)
    assert [gaf.low, gaf.median, gaf.high] == pytest.approx([0.25, 0.3, 0.35])
    assert gaf.regret == pytest.approx(100 * 0.3 - 12.0)
    assert [result["log_loss"] for result in gaf.results] == [0.4, 0.3, 0.2]


def test_scaling_as_libsvm_does(tmp_path):
    """Each column's least value becomes -1, its greatest 1, a constant 0.

    A missing entry is the mean of those before it.
    """
    rng = np.random.default_rng(0)
    a, b = rng.normal(5, 3, 200), rng.uniform(100, 300, 200)
    kind = np.where(a + b / 50 + rng.normal(size=200) > 9, "high", "low")
    missing = np.arange(200) % 20 == 19
    table = pl.DataFrame({"a": a, "b": b, "c": 7.0, "kind": kind})
    table.with_columns(b=pl.when(pl.Series(~missing)).then("b")).write_csv(tmp_path / "t.csv")
    options = ("--scale", "libsvm", "--forecasters", "gaf", "--grid", "none", "--keep-order")
    done = mixable("race", tmp_path / "t.csv", *options, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    low, high = b[~missing].min(), b[~missing].max()
    Z = np.ones((200, 4))  # with the intercept first
    Z[:, 1] = 2 * (a - a.min()) / (a.max() - a.min()) - 1
    Z[:, 2] = 2 * (b - low) / (high - low) - 1
    Z[:, 3] = 0
    for t in np.flatnonzero(missing):
        Z[t, 2] = Z[:t, 2][~missing[:t]].mean()
    y = (kind == "low").astype(int)
    expected = log_loss(GAF(4, 2).run(Z, y), y).mean()
    results = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert results["log_loss"][0] == pytest.approx(expected, abs=1e-9)


def test_chunks_are_read_in_order_and_make_the_same_run(tmp_path):
    path = write_table(tmp_path / "t.csv")
    layout = sources.survey(str(path), None)
    parts = list(sources.chunks(layout, size=37))
    assert len(parts) > 5
    np.testing.assert_array_equal(np.vstack([X for X, _ in parts]), sources.table(layout)[0])
    kept = runs.run(runs.Task("t", layout, "gaf", (), None, "causal"))
    assert kept["n"] == ROWS


def test_the_best_model_in_hindsight_is_skipped_for_large_data(tmp_path, monkeypatch):
    monkeypatch.setattr(race, "MOST_ROWS_IN_HINDSIGHT", 100)
    layout = sources.survey("vehicle", None)
    assert race.hindsight(layout, race.Store(tmp_path)) is None
    task = runs.Task("vehicle", layout, "ogd", (), 0, "causal")
    (row,) = race.standings([runs.run(task)], {"vehicle": None})
    assert row.regret is None


def test_dask_gives_the_same_numbers_though_a_worker_is_killed(tmp_path):
    from distributed import LocalCluster

    layout = sources.survey("segment", None)
    tasks = [
        runs.Task("segment", layout, name, (), seed, "causal")
        for seed in range(4)
        for name in ("auto", "ogd")
    ]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        got = {}
        for task, result in race.on_dask(tasks, cluster.scheduler_address):
            if not got:
                os.kill(victim, signal.SIGKILL)
            got[task] = result["log_loss"]
    assert len(got) == 8
    for task in tasks[:3]:
        assert got[task] == runs.run(task)["log_loss"]


def test_generated_streams():
    X, y = datasets.make_drift(3000, kind="jump")
    assert X.shape == (3000, 10)
    assert np.array_equal(datasets.make_drift(3000, kind="jump")[1], y)
    for bad in ("fast", None):
        with pytest.raises(ValueError, match="kind must be"):
            datasets.make_drift(10, kind=bad)
    X, y = datasets.make_separable(500, 4, 3, margin=0.2)
    from sklearn.linear_model import LogisticRegression

    assert (
        LogisticRegression(C=1e6, max_iter=10_000, fit_intercept=False).fit(X, y).score(X, y) == 1.0
    )


def test_datasets_lists_what_is_embedded():
    out = mixable("datasets").stdout
    for name, rows in (("vehicle", "846"), ("shuttle", "58,000"), ("segment", "2,310")):
        assert name in out
        assert rows in out


def test_table1_measures_exponents():
    class Sleeper:  # its time is known, whatever else the machine does
        def __init__(self, d, K, B, n):
            self.size = d * K**2

        def run(self, X, y):
            time.sleep(len(X) * self.size * 5e-5)

    sizes = [1.0, 4.0, 16.0]
    in_d = [growth.seconds_per_step(Sleeper, int(d), 1, 0.01) for d in sizes]
    in_k = [growth.seconds_per_step(Sleeper, 1, int(K), 0.01) for K in sizes]
    assert growth.slope(sizes, in_d) == pytest.approx(1.0, abs=0.3)
    assert growth.slope(sizes, in_k) == pytest.approx(2.0, abs=0.3)
    got = growth.measure("OGD", budget=0.001)
    assert 0 < got.regret_in_n < 0.8
    assert np.isfinite([got.time_in_d, got.time_in_k, got.regret_in_b]).all()
    assert mixable("table1", "--only", "nothing").returncode == 2


def test_a_large_csv_does_not_need_more_memory(tmp_path):
    """Peak memory for five times the rows: the same, up to what Polars keeps around."""
    script = """
import resource, sys
from mixable.experiments import runs, sources
layout = sources.survey(sys.argv[1], None)
print(runs.run(runs.Task("t", layout, "ogd", (), None, "causal"))["n"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    peaks = []
    for n in (60_000, 300_000):
        rng = np.random.default_rng(0)
        path = Path(tmp_path / f"{n}.csv")
        frame = pl.DataFrame({f"x{i}": rng.normal(size=n) for i in range(8)}).with_columns(
            y=pl.col("x0") > 0
        )
        frame.write_csv(path)
        out = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
        ).stdout.split()
        assert int(out[0]) == n
        peaks.append(int(out[1]))
        path.unlink()
    assert peaks[1] < peaks[0] + 250
