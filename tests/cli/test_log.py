"""export, backup and replay: the log belongs to the user."""

import csv
import json

import polars as pl
import pytest
from command_line import in_process
from serve_command import in_thread, saved

from mixable.events import ModelOptions, exporting
from mixable.events.store import Store


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What a service leaves that had labels, late labels, words and numbers."""
    path = tmp_path_factory.mktemp("log") / "models"
    with in_thread(path, options=ModelOptions(linear=True)) as (_, call):
        for t in range(40):
            features = {"a": t % 5, "tags": ["x", "y"][: t % 3]}
            if t % 2:
                call.learn(id=t, features=features, label="hi" if t % 5 > 2 else "lo")
            else:
                call.predict(id=t, features=features)
            if t % 4 == 3:
                call.learn(id=t - 1, label="hi" if (t - 1) % 5 > 2 else "lo")
        call("PUT", "/models/price", {"regression": True})
        for t in range(30):
            call("POST", "/models/price/learn", {"features": {"a": t % 5}, "label": t % 5 + 0.5})
    return path


def test_events_are_exported_with_forecasts_and_outcomes(folder, tmp_path):
    for name in ("e.csv", "e.jsonl", "e.parquet"):
        done = in_process("export", folder, "--out", tmp_path / name)
        assert done.exit_code == 0, done.stderr
        assert "40 events of default" in done.stderr
    with open(tmp_path / "e.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    frame = pl.read_parquet(tmp_path / "e.parquet")
    assert len(rows) == len(lines) == len(frame) == 40
    assert [row["outcome"] for row in rows] == [line["outcome"] or "" for line in lines]
    assert sum(line["outcome"] is not None for line in lines) == 30
    late = next(line for line in lines if line["id"] == "2")
    assert late["outcome_time"] >= late["time"]
    assert late["features.tags"] == ["x", "y"]
    assert frame["features.a"].to_list() == [t % 5 for t in range(40)]
    p = [line["forecast.hi"] for line in lines[5:]]
    assert frame["forecast.hi"].to_list()[5:] == p == [float(r["forecast.hi"]) for r in rows[5:]]


def test_events_are_exported_from_a_time_on_and_to_standard_output(folder, capfd):
    done = in_process("export", folder, "price")
    assert done.exit_code == 0, done.stderr
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["outcome"] for line in lines] == [t % 5 + 0.5 for t in range(30)]
    assert {"forecast.mean", "forecast.std", "forecast.low", "forecast.high"} <= set(lines[-1])
    assert (
        "0 events of price" in in_process("export", folder, "price", "--since", "2999-01-01").stderr
    )
    refused = in_process("export", folder, "price", "--since", "soon")
    assert (refused.exit_code, "--since must be a date" in refused.stderr) == (2, True)
    refused = in_process("export", folder, "nobody")
    assert "has no model 'nobody' (it has default, price)" in refused.stderr
    assert in_process("export", folder / "none").exit_code == 2


def test_a_backup_can_be_served(folder, tmp_path):
    done = in_process("backup", folder, tmp_path / "copy")
    assert done.exit_code == 0, done.stderr
    with in_thread(tmp_path / "copy") as (_, call):
        assert call("GET", "/model")[1]["learned"] == saved(folder)[0].counts["learned"] == 30
    refused = in_process("backup", folder, tmp_path / "copy")
    assert (refused.exit_code, "is not empty" in refused.stderr) == (2, True)


def test_a_replay_with_the_same_options_says_what_was_answered(folder):
    store = Store(folder, read_only=True)
    for name in ("default", "price"):
        served, again = exporting.replay(store, name, store.options(name))
        model = saved(folder, name)[0]
        loss = "crps" if name == "price" else "log_loss"
        assert again == model.score_figures()
        assert served[loss] == pytest.approx(again[loss])
    store.close()


def test_a_replay_compares_another_model(folder):
    done = in_process("replay", folder, "price", "--effort", "low", "--level", "0.5")
    assert done.exit_code == 0, done.stderr
    rows = {line.split("│")[1].strip(): line for line in done.stdout.splitlines() if "│" in line}
    assert {"rmse", "crps", "coverage", "baseline", "recent"} <= set(rows)
    refused = in_process("replay", folder, "price", "--classes", "a,b")
    assert (refused.exit_code, "not for regression" in refused.stderr) == (2, True)
