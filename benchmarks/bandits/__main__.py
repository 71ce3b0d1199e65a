"""The command: `python -m benchmarks.bandits`."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import time
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is imported

import benchmarks.bandits
from benchmarks.bandits import coverage, table
from benchmarks.bandits.contestants import DEFAULT, SETTINGS, Played, made, play
from benchmarks.bandits.worlds import LONG, Job, World, jobs_of, stream_of, world

HOME = Path.home() / ".cache" / "mixable-leaderboard"
CHOOSING, SHUFFLES = 2, 5  # shuffles on which a setting of Vowpal Wabbit is chosen, of so many


class Results:
    """Runs that were played, in a file of JSON lines that grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: dict[str, Played] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                self.runs[entry["run"]] = Played(entry["blocks"], entry["us"])

    def add(self, run: str, played: Played) -> None:
        """Keep a run."""
        self.runs[run] = played
        entry = {"run": run, "blocks": played.blocks, "us": round(played.microseconds, 1)}
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


class OverError(Exception):
    """It is later than `--until`."""


class Player:
    """Plays what is asked for, and is not there yet, of one job."""

    def __init__(self, job: Job, results: Results, given: argparse.Namespace) -> None:
        self.job, self.results, self.given = job, results, given
        self.rounds = LONG.get(job.kind, given.rounds)
        self.worlds: dict[int, World] = {}
        self.stream: object = None

    def world(self, shuffle: int) -> World:
        """The world of a shuffle, made when it is needed."""
        if not self.worlds:
            self.stream = stream_of(self.job, self.given.folder, self.given.cache)
        if shuffle not in self.worlds:
            self.worlds[shuffle] = world(self.job, self.stream, self.given.rounds, shuffle)
        return self.worlds[shuffle]

    def run(self, who: str, shuffle: int, rounds: int) -> str:
        """The name of a run among the results."""
        return f"{self.job.stream}/{self.job.kind}/{who}/{shuffle}/{rounds}"

    def played(self, who: str, shuffle: int, rounds: int | None = None) -> Played:
        """A run, of the results or anew."""
        rounds = rounds or self.rounds
        run = self.run(who, shuffle, rounds)
        if run not in self.results.runs:
            if self.given.until and time.strftime("%H:%M") >= self.given.until:
                raise OverError
            there = self.world(shuffle)
            policy = made(who, self.job.kind, there.rewards.shape[1], shuffle)
            self.results.add(run, play(there, policy, rounds))
        return self.results.runs[run]

    def chosen(self) -> str:
        """The setting of Vowpal Wabbit that is best on the first shuffles."""

        def reward(setting: str, rounds: int) -> float:
            runs = [self.played(f"vw {setting}", s, rounds) for s in range(CHOOSING)]
            return sum(run.reward for run in runs)

        # All play a quarter, the best sixth all rounds.
        order = sorted(SETTINGS, key=lambda each: -reward(each, self.rounds // 4))
        return max(order[: len(SETTINGS) // 6], key=lambda each: reward(each, self.rounds))

    def row(self) -> table.Row:
        """Everybody on the shuffles that score."""
        whos = [*self.given.rules.split(","), "linucb", "lints"]
        setting = ""
        if not self.given.no_vw:
            setting = self.chosen()
            whos += [f"vw {setting}", f"vw {DEFAULT}"]
        # One shuffle after the other, so that times are of the same minutes.
        runs = [[self.played(who, s) for who in whos] for s in range(CHOOSING, SHUFFLES)]
        names = [*whos[: len(whos) - 2], "vw chosen", "vw default"] if setting else whos
        actions = self.results.runs.get(f"{self.job.stream}/{self.job.kind}/actions")
        if actions is None:
            actions = Played([float(self.world(CHOOSING).rewards.shape[1])], 0.0)
            self.results.add(f"{self.job.stream}/{self.job.kind}/actions", actions)
        columns = dict(zip(names, map(list, zip(*runs, strict=True)), strict=True))
        return table.Row(self.job, int(actions.blocks[0]), self.rounds, columns, setting)


def parser() -> argparse.ArgumentParser:
    """The options."""
    out = argparse.ArgumentParser(
        prog="python -m benchmarks.bandits",
        description=benchmarks.bandits.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out.add_argument("what", choices=("play", "table", "coverage"))
    out.add_argument("--folder", type=Path, help="files of streams that choose")
    out.add_argument("--streams", default="", help="by commas; of a folder, its files")
    out.add_argument("--kinds", default="", help="by commas")
    out.add_argument("--rounds", type=int, default=1000)
    out.add_argument("--rules", default="auto", help="of the agent's exploration, by commas")
    out.add_argument("--no-vw", action="store_true")
    out.add_argument("--results", type=Path, default=HOME / "bandits.jsonl")
    out.add_argument("--cache", type=Path, default=HOME, help="folder of packages with streams")
    out.add_argument("--until", help="start no run after this time, such as 15:30")
    out.add_argument("--repetitions", type=int, default=500, help="of coverage")
    return out


def _covered(results: Results, given: argparse.Namespace) -> dict[str, coverage.Drawn]:
    """Coverage of each stream, of the results or measured now."""
    out = {}
    for name in coverage.STREAMS:
        run = f"{name}/coverage/{coverage.ROUNDS}/{given.repetitions}"
        if run not in results.runs:
            found = coverage.drawn(name, given.repetitions, given.cache)
            results.add(run, Played(list(found), 0.0))
        out[name] = coverage.Drawn(*results.runs[run].blocks)
    return out


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line says."""
    given = parser().parse_args(arguments)
    streams = [each for each in given.streams.split(",") if each]
    jobs = jobs_of(given.folder, streams, [each for each in given.kinds.split(",") if each])
    given.results.parent.mkdir(parents=True, exist_ok=True)
    rows = []
    with given.results.with_suffix(".lock").open("w") as lock:
        if given.what != "table":
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            given.until = "00:00"  # nothing is played
        results = Results(given.results)
        if given.what == "coverage":
            print(coverage.text(_covered(results, given), given.repetitions))
            return
        for job in jobs:
            try:
                rows.append(Player(job, results, given).row())
            except OverError:
                continue
            if given.what == "play":
                print(time.strftime("%H:%M:%S"), table.line(rows[-1]), flush=True)
    if given.what == "table":
        print(table.text(rows, [job.label for job in jobs]))


if __name__ == "__main__":
    main()
