"""Files of every kind, in chunks, and bad ones."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import in_process, mixable

from mixable import datasets
from mixable.paper.experiments import race, sources

ROWS = 400


def write_table(path):
    """The same small table in every format."""
    rng = np.random.default_rng(0)
    size, weight = rng.normal(size=ROWS).round(3), rng.normal(size=ROWS).round(3)
    colour = rng.choice(["red", "green", "blue"], ROWS)
    kind = np.where(
        size + np.where(colour == "red", 1, 0) + 0.3 * rng.normal(size=ROWS) > 0.3, "big", "small"
    )
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
                f"{1 if k == 'big' else 0} 1:{s} 2:{w}\n"
                for s, w, k in zip(size, weight, kind, strict=True)
            )
        )
    return path


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


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.jsonl", "t.arff"])
def test_files_of_every_kind_are_the_same_data(tmp_path, name):
    layout = sources.survey(str(write_table(tmp_path / name)), "kind")
    assert (layout.rows, layout.n_features, layout.classes) == (ROWS, 5, ("big", "small"))
    X, y = sources.table(layout)
    reference = sources.table(sources.survey(str(write_table(tmp_path / "reference.csv")), None))
    np.testing.assert_array_equal(X, reference[0])
    np.testing.assert_array_equal(y, reference[1])
    assert any("colour" in remark for remark in layout.remarks)
    assert np.count_nonzero(np.isnan(X)) == 8


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


def test_chunks_are_read_in_order_and_make_the_same_run(tmp_path):
    path = write_table(tmp_path / "t.csv")
    layout = sources.survey(str(path), None)
    parts = list(sources.chunks(layout, size=37))
    assert len(parts) > 5
    np.testing.assert_array_equal(np.vstack([X for X, _ in parts]), sources.table(layout)[0])
    kept = race.run(
        race.Task(data="t", layout=layout, forecaster="gaf", setting=(), seed=None, scale="causal")
    )
    assert kept["n"] == ROWS


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


def test_a_large_csv_does_not_need_more_memory(tmp_path):
    """Peak memory for five times the rows: the same, up to what Polars keeps around."""
    script = """
import resource, sys
from mixable.paper.experiments import race, sources
layout = sources.survey(sys.argv[1], None)
task = dict(data="t", layout=layout, forecaster="ogd", setting=(), seed=None, scale="causal")
n = race.run(race.Task(**task))["n"]
print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    peaks = []
    for n in (30_000, 150_000):
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
    assert peaks[1] < peaks[0] + 125


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "t.arff"])
def test_records_of_any_file_are_the_same(name, tmp_path):
    """As they stand: cells of CSV are text, and what is missing is missing."""
    layout = sources.survey(str(write_table(tmp_path / name)), "kind")
    (records, y), *rest = sources.records(layout)
    assert not rest
    assert layout.has_words
    assert len(records) == len(y) == ROWS
    assert set(records[0]) == {"size", "weight", "colour"}
    assert [float(record["size"]) for record in records] == sources.table(layout)[0][:, 0].tolist()
    assert [t for t in range(ROWS) if records[t]["weight"] in (None, "")] == list(
        range(7, ROWS, 50)
    ) or name == "t.arff"


def test_a_race_reads_records_as_a_stream_does(tmp_path):
    """The same file, the same classes: the same loss."""
    path = write_table(tmp_path / "t.csv")
    options = ("--target", "kind", "--classes", "big,small", "--metrics", tmp_path / "metrics")
    out = ("--out", tmp_path / "out.csv")
    assert mixable("stream", "--model", tmp_path / "m", *options, *out, path).returncode == 0
    stream = json.loads((tmp_path / "metrics").read_text().splitlines()[-1])
    layout = sources.survey(str(path), "kind")
    task = race.Task(data="t", layout=layout, forecaster="nonlinear", scale="causal")
    assert task.takes_records
    result = race.run(task)
    assert result["log_loss"] == pytest.approx(stream["log_loss"], rel=1e-9)
    assert result["worst"]["label"] in ("big", "small")
    assert 0 < result["classwise_error"] < 0.2
    shuffled = race.run(race.replace(task, seed=1))
    assert shuffled["log_loss"] != result["log_loss"]
    assert not race.replace(task, forecaster="auto").takes_records
    assert not race.replace(task, scale="zscore").takes_records
