"""The benchmark of decisions: worlds, runs that are kept, and what the table says of them."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are no part of what is installed

pytest.importorskip("pandas")

from benchmarks.bandits.__main__ import main
from benchmarks.bandits.contestants import SETTINGS, Played
from benchmarks.bandits.coverage import _log, _policy
from benchmarks.bandits.table import Row, summary
from benchmarks.bandits.worlds import JUDGING, KINDS, Job, jobs_of, world

STREAM = ([{"x": float(t)} for t in range(90)], np.arange(90) % 3)


def test_runs_are_kept_and_played_once(tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    asked = ["play", "--no-vw", "--streams", "hundred", "--rounds", "30", "--results", str(path)]
    main([*asked, "--until", "00:00"])
    assert not path.exists()
    main(asked)
    first, lines = capsys.readouterr().out[9:], path.read_text().splitlines()  # after the time
    runs = [json.loads(line)["run"] for line in lines]
    assert runs[:3] == [f"hundred/hundred/{who}/2/30" for who in ("auto", "linucb", "lints")]
    assert len(set(runs)) == len(runs) == 10
    path.write_text("\n".join(lines[:4] + lines[5:]) + "\n")
    main(asked)
    again = path.read_text().splitlines()
    assert json.loads(again[-1])["blocks"] == json.loads(lines[4])["blocks"]
    assert again[:-1] == lines[:4] + lines[5:]
    assert first.split("|")[1:6] == capsys.readouterr().out[9:].split("|")[1:6]
    main(["table", *asked[1:]])
    assert "| auto | linucb |" in capsys.readouterr().out


def test_kinds_of_worlds():
    plain, drift, arriving, cost, noise = (
        world(Job("s", kind), STREAM, 90, 0)
        for kind in ("plain", "drift", "arriving", "cost", "noise")
    )
    assert (plain.rewards.sum(axis=1) == 1).all()
    label = [int(record["x"]) % 3 for record in drift.contexts]
    assert drift.rewards[:45].argmax(axis=1).tolist() == label[:45]
    assert drift.rewards[45:].argmax(axis=1).tolist() == [(k + 1) % 3 for k in label[45:]]
    assert [arriving.offered(t) for t in (0, 8, 9)] == [[0, 1], [0, 1], [0, 1, 2]]
    assert ((cost.rewards >= 0) & (cost.rewards <= 1)).all()
    assert 0 < np.mean(noise.rewards.argmax(axis=1) != [r["x"] % 3 for r in noise.contexts]) < 0.4


def test_those_that_judge_are_held_out():
    from benchmarks.leaderboard.streams import STREAMS

    assert len(set(JUDGING)) == len(JUDGING) >= 25
    assert not any(STREAMS[name].chosen or STREAMS[name].number for name in JUDGING)
    assert {name for names in KINDS.values() for name in names} <= set(JUDGING)
    assert len(set(SETTINGS)) >= 60
    assert jobs_of(Path("folder"), ["a"], []) == [Job("a", "plain", True)]


def test_differences_are_those_of_the_same_rounds():
    def runs(*means):
        return [Played([mean] * 10 + [mean + 0.2] * 10, 5.0 * mean) for mean in means]

    row = Row(Job("s", "plain"), 2, 20, {"auto": runs(0.4, 0.6), "linucb": runs(0.3, 0.5)}, "")
    gap, error = row.difference("auto", "linucb")
    assert (round(gap, 9), round(error, 9)) == (0.1, 0)  # rounds that are easy cancel out
    assert "| auto | linucb | 1 of 1 | 0 | +0.1000" in summary([row], "auto")[0]
    assert row.microseconds("auto") == 2.0


def test_logs_of_coverage_have_their_propensities():
    entries = list(_log(*STREAM, np.random.default_rng(0)))
    assert {round(entry.propensity, 6) for entry in entries} == {0.1, 0.8}
    share = np.mean([entry.propensity > 0.5 for entry in entries])
    assert abs(share - 0.8) < 4 * np.sqrt(0.16 / len(entries))
    first = entries[0]
    assert first.expected == {0: 0.5, 1: 0.5, 2: 0.5}
    policy = _policy([{"c": "ab"[t % 2]} for t in range(8)], np.arange(8) % 2)
    assert [policy({"c": "a"}), policy({"c": "b"})] == [0, 1]
