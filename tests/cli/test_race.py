"""The options of `mixable race`, `datasets` and `table1`."""

import time

import numpy as np
import polars as pl
import pytest
from command_line import in_process, mixable

from mixable.cli.race import _rate
from mixable.paper.experiments import growth, race


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


def test_a_scheduler_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(race, "PATIENCE", 0.3)
    options = ("--engine", "dask", "--scheduler", "tcp://127.0.0.1:9", "--out", tmp_path / "out")
    done = in_process("race", "vehicle", *options)
    assert done.exit_code == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in done.stderr


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = mixable("race", "vehicle", "--out", tmp_path / "file" / "out")
    assert done.returncode == 2
    assert "cannot write to" in done.stderr


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


def test_datasets_lists_what_is_embedded():
    out = mixable("datasets").stdout
    for name, rows in (("vehicle", "846"), ("shuttle", "58,000"), ("segment", "2,310")):
        assert name in out
        assert rows in out


def test_table1_measures_exponents():
    class Busy:  # its processor time is known, whatever else the machine does
        def __init__(self, d, K, B, n):
            self.size = d * K**2

        def run(self, X, y):
            end = time.process_time() + len(X) * self.size * 2e-5
            while time.process_time() < end:
                pass

    sizes = [1.0, 4.0, 16.0]
    in_d = [growth.seconds_per_step(Busy, int(d), 1, 0.004) for d in sizes]
    in_k = [growth.seconds_per_step(Busy, 1, int(K), 0.004) for K in sizes]
    assert growth.slope(sizes, in_d) == pytest.approx(1.0, abs=0.3)
    assert growth.slope(sizes, in_k) == pytest.approx(2.0, abs=0.3)
    got = growth.measure("OGD", budget=0.001)
    assert 0 < got.regret_in_n < 0.8
    assert np.isfinite([got.time_in_d, got.time_in_k, got.regret_in_b]).all()
    assert mixable("table1", "--only", "nothing").returncode == 2


def test_the_rate_that_is_shown_is_the_mean_of_all_runs():
    quick, slow = {"n": 3000, "microseconds": 1.0}, {"n": 1000, "microseconds": 5.0}
    assert [_rate(runs) for runs in ([], [quick], [quick, slow])] == [
        "",
        "1.00 M examples/s",
        "0.50 M examples/s",
    ]
