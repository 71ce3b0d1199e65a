"""Kills `mixable decide` at random moments, resumes it each time, and compares its log, answers and
agent with those of a run that was left alone.

python tests/kill_decide.py [number of kills]
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from command_line import MIXABLE


def write_events(path, n, seed=0):
    """Contexts of several kinds, actions that come and go, rewards late, twice or for nobody."""
    rng, waiting = np.random.default_rng(seed), []
    with open(path, "w") as file:
        for t in range(n):
            chance = rng.random()
            context = {"user": f"u{rng.zipf(1.5) % 40}", "x": rng.normal()}
            event = {"id": f"v{t}", "context": context}
            if chance < 0.1:
                event |= {"actions": {"a": {"price": 2.0}, f"new {t // 500}": {"price": 1.0}}}
            elif chance < 0.2:
                event |= {"allowed": ["b", "c"]}
            elif chance < 0.55 and waiting:
                place = int(rng.integers(len(waiting)))
                old = waiting[place] if chance < 0.22 else waiting.pop(place)
                event = {"id": old, "reward": int(rng.random() < 0.4)}
            elif chance < 0.57:
                event = {"id": f"nobody {t}", "reward": 1}
            if "context" in event:
                waiting.append(event["id"])
            file.write("no JSON\n" if chance > 0.99 else json.dumps(event) + "\n")


def command(folder, source):
    """The command in a folder."""
    paths = ("--log", folder / "log", "--model", folder / "agent", "--every", "300")
    options = ("--actions", "a,b,c", "--floor", "0.02", "--seed", "5")
    return [MIXABLE, "decide", str(source), *map(str, paths), *options]


def decided(folder, source, seconds=None):
    """Run it, for so long; whether it was killed before it was done."""
    with open(folder / "answers", "ab") as answers:
        process = subprocess.Popen(
            command(folder, source), stdout=answers, stderr=subprocess.PIPE, text=True
        )
        if seconds is not None:
            size = (folder / "log").stat().st_size if (folder / "log").exists() else 0
            while process.poll() is None and (
                not (folder / "log").exists() or (folder / "log").stat().st_size == size
            ):
                time.sleep(0.002)
            time.sleep(seconds)
            process.kill()
        said = process.communicate()[1]
    assert process.returncode in (0, -9), said
    return process.returncode == -9


def whole_lines(path):
    """Answers: the last before each kill may be half written, or missing."""
    lines = path.read_bytes().split(b"\n")
    return {line for line in lines if line.startswith(b"{") and line.endswith(b"}")}


def main(kills=30):
    """Kill so many runs."""
    rng = np.random.default_rng()
    with tempfile.TemporaryDirectory() as work:
        source = Path(work, "in.jsonl")
        write_events(source, 3000)
        (alone := Path(work, "alone")).mkdir()
        assert not decided(alone, source)
        rewards = [json.loads(line) for line in (alone / "log").read_bytes().splitlines()]
        learned = [each["id"] for each in rewards if "reward" in each]
        assert len(learned) == len(set(learned)) > 500, "a reward counts twice"
        hit = rounds = 0
        while hit < int(kills):
            (folder := Path(work, str(rounds))).mkdir()
            for _ in range(10):
                hit += decided(folder, source, rng.random() * 0.4)
            decided(folder, source)
            for name in ("log", "agent"):
                same = (folder / name).read_bytes() == (alone / name).read_bytes()
                assert same, f"{name} differs"
            assert whole_lines(folder / "answers") <= whole_lines(alone / "answers")
            rounds += 1
            print(f"{hit} kills in {rounds} runs: log and agent are the same", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
