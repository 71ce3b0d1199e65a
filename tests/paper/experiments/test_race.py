"""`mixable race` as a user meets it: interrupted and gone on with, alone and on a cluster."""

import json
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import polars as pl
import pytest
from command_line import MIXABLE, in_process, mixable

from mixable import AutoGAF, _core, datasets
from mixable._files import write_whole
from mixable.cli import race as cli_race
from mixable.losses import log_loss
from mixable.paper.experiments import race, sources

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
    first, *_, last = done.stderr.splitlines()  # a slow machine says more in between
    assert first == "mixable: 0 of 9 runs"
    assert last.startswith("mixable: 9 of 9 runs, ")
    for name in ("loss", "reliability", "weights"):
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / f"{name}.svg").read_text()
    said = json.loads((out / "race.json").read_text())
    assert said["seeds"] == [0, 1, 2]
    assert said["command"].startswith("mixable race vehicle")
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
        "vehicle",
        "--forecasters",
        "gaf,ogd",
        "--grid",
        "none",
        "--repeats",
        "80",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in a background
    )
    while len(list((tmp_path / "runs").glob("*.json")) if (tmp_path / "runs").exists() else []) < 3:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(how)
    _, errors = process.communicate(timeout=60)
    kept = {path.name: path.read_text() for path in (tmp_path / "runs").glob("*.json")}
    assert 3 <= len(kept) < 160
    assert "Traceback" not in errors
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "the same command goes on" in errors
    layout = sources.survey("vehicle", None)
    tasks = [
        race.Task(
            data="vehicle", layout=layout, forecaster=name, setting=(), seed=seed, scale="causal"
        )
        for seed in range(2)
        for name in ("gaf", "ogd")
    ]
    store = race.Store(tmp_path)
    known = {task: store.get(task.key) for task in tasks}
    finished = [task for task in tasks if known[task] is not None]
    assert len(finished) >= 3
    for task in finished:
        assert race.run(task)["log_loss"] == known[task]["log_loss"]


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


def test_dask_gives_the_same_numbers_though_a_worker_is_killed(tmp_path):
    from distributed import LocalCluster

    layout = sources.survey("vehicle", None)
    tasks = [
        race.Task(
            data="vehicle", layout=layout, forecaster=name, setting=(), seed=seed, scale="causal"
        )
        for seed in range(4)
        for name in ("auto", "ogd")
    ]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        victim = next(iter(cluster.workers.values())).pid
        got = {}
        for task, result in race.on_dask(tasks, cluster.scheduler_address):
            if not got:
                os.kill(victim, signal.SIGKILL)
            got[task] = result["log_loss"]
    assert len(got) == 8
    for task in tasks[:3]:
        assert got[task] == race.run(task)["log_loss"]
