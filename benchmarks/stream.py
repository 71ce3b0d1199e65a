"""Events per second of `mixable stream` from a file, beside Vowpal Wabbit's Python binding; latency
in a slow pipe; memory. Prints Markdown.

    python benchmarks/stream.py                   # rates; needs Vowpal Wabbit
    python benchmarks/stream.py latency           # one event a second, for 20 seconds
    python benchmarks/stream.py memory [events]   # ten million events
    python benchmarks/stream.py late [FILE TARGET]   # late labels: 60,000 records; needs VW

Vowpal Wabbit is given the same numbers in its own text format, classes one against all with
probabilities: per example it parses, predicts, learns and writes, once as three calls and once with
the forecast that learning makes anyway. Rates are events per second of processor time, the best of
three rounds in which all take their turn; both sides' leave out the start of Python.
"""

import contextlib
import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

MIXABLE = str(Path(sysconfig.get_path("scripts")) / "mixable")
N, D, K, ROUNDS = 100_000, 18, 4, 3
SINGLE = ("--forecaster", "gaf", "--lam", "0.1", "--beta", "1")
AUTO = ("--forecaster", "auto")


def write_events(folder: Path, n: int, d: int, k: int) -> None:
    """The same stream as CSV, as JSON lines and in Vowpal Wabbit's format."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).round(4)
    y = (X @ rng.normal(size=(d, k)) + rng.gumbel(size=(n, k))).argmax(axis=1)
    with (
        open(folder / "in.csv", "w") as table,
        open(folder / "in.jsonl", "w") as objects,
        open(folder / "in.vw", "w") as vw,
    ):
        table.write(",".join([f"x{i}" for i in range(d)] + ["y"]) + "\n")
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            table.write(",".join(map(str, row)) + f",c{label}\n")
            objects.write(
                json.dumps({**{f"x{i}": value for i, value in enumerate(row)}, "y": f"c{label}"})
                + "\n"
            )
            vw.write(
                f"{label + 1} | " + " ".join(f"x{i}:{value}" for i, value in enumerate(row)) + "\n"
            )


def cpu_of(*command: str) -> float:
    """Seconds that a command keeps processors busy."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    quiet = subprocess.DEVNULL
    subprocess.run([MIXABLE, "stream", *command], check=True, stdout=quiet, stderr=quiet)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def stream(folder: Path, source: str, *options: str) -> tuple[float, float]:
    """Events per second and log loss of the command."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        names = {"model": "model", "out": "out.csv", "metrics": "metrics"}
        paths = [each for name, file in names.items() for each in (f"--{name}", f"{work}/{file}")]
        seconds = cpu_of(*paths, "--target", "y", *options, str(folder / source))
        last = json.loads(Path(work, "metrics").read_text().splitlines()[-1])
        return N / (seconds - cpu_of("--help")), last["log_loss"]


def vowpal_wabbit(folder: Path, three_calls: bool) -> tuple[float, float]:
    """The same of Vowpal Wabbit."""
    from vowpalwabbit import LabelType, PredictionType, Workspace

    vw, loss = Workspace(f"--oaa {K} --probabilities --loss_function logistic --quiet"), 0.0
    with open(folder / "in.vw") as events, open(folder / "out.vw", "w") as out:
        begin = time.process_time()
        for line in events:
            example = vw.parse(line, LabelType.MULTICLASS)
            if three_calls:
                p = vw.predict(example, PredictionType.SCALARS)
                vw.learn(example)
            else:
                vw.learn(example)
                p = example.get_prediction(PredictionType.SCALARS)
            vw.finish_example(example)
            out.write(",".join(map(repr, p)) + "\n")
            loss -= np.log(max(p[int(line[0]) - 1], 2.2e-16))
        return N / (time.process_time() - begin), loss / N


def rates() -> None:
    """Print the table of rates."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_events(folder, N, D, K)
        contestants = {
            "one GAF, CSV": lambda: stream(folder, "in.csv", *SINGLE),
            "one GAF, JSON lines": lambda: stream(folder, "in.jsonl", *SINGLE),
            "AutoGAF, CSV": lambda: stream(folder, "in.csv", *AUTO),
            "the default, CSV": lambda: stream(folder, "in.csv"),
            "Vowpal Wabbit: parse, predict, learn": lambda: vowpal_wabbit(folder, True),
            "Vowpal Wabbit: parse, learn": lambda: vowpal_wabbit(folder, False),
        }
        results = [{name: run() for name, run in contestants.items()} for _ in range(ROUNDS)]
        print("| what | events a second | log loss |\n|---|---|---|")
        for name in contestants:
            rate = round(max(result[name][0] for result in results), -3)
            print(f"| {name} | {rate:,.0f} | {results[0][name][1]:.3f} |")


def write_late(folder: Path, n: int = 60_000, source: str = "", target: str = "") -> int:
    """Records with prompt labels and with late ones.

    Without a file of CSV they are made: a time, two categories, two numbers. Labels come after 1,
    10, 50 or 200 events.
    """
    rng = np.random.default_rng(0)
    if source:
        import polars as pl

        rows = pl.read_csv(source, infer_schema=False).head(n).fill_null("").to_dicts()
        names = [name for name in rows[0] if name != target]
        records, labels = [[row[name] for name in names] for row in rows], [r[target] for r in rows]
    else:
        names = ["at", "city", "device", "price", "clicks"]
        start = datetime(2024, 1, 1)
        x, city, device = rng.normal(size=n), rng.integers(30, size=n), rng.integers(3, size=n)
        clicks = rng.integers(10, size=n)
        logit = x + 0.3 * clicks - 2 + rng.normal(size=30)[city]
        labels = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "yes", "no").tolist()
        records = [
            [
                (start + timedelta(minutes=t)).isoformat(),
                f"c{city[t]}",
                f"d{device[t]}",
                f"{x[t]:.3f}",
                str(clicks[t]),
            ]
            for t in range(len(labels))
        ]
    due: dict[int, list[int]] = {}
    delays = rng.choice([1, 10, 50, 200], len(records)).tolist()
    with contextlib.ExitStack() as files:
        prompt, late = (
            files.enter_context(open(folder / name, "w", newline=""))
            for name in ("prompt.csv", "late.csv")
        )
        tables = csv.writer(prompt), csv.writer(late)
        for table in tables:
            table.writerow(["id", *names, "y"])
        for t, (record, label, delay) in enumerate(zip(records, labels, delays, strict=True)):
            tables[0].writerow([t, *record, label])
            tables[1].writerow([t, *record, ""])
            due.setdefault(t + delay, []).append(t)
            last = t == len(records) - 1
            for when in sorted(due) if last else [t]:
                for old in due.pop(when, []):
                    tables[1].writerow([old, *[""] * len(names), labels[old]])
    return len(records)


def _vw(names: list[str], record: list[str]) -> str:
    """A record as Vowpal Wabbit reads it: numbers as they are, all else as words."""
    out = []
    for name, cell in zip(names, record, strict=True):
        try:
            out.append(f"{name}:{float(cell)}")
        except ValueError:
            out += [f"{name}={word}" for word in cell.replace(":", ".").split()]
    return " ".join(out)


def late_vowpal_wabbit(folder: Path) -> float:
    """Seconds of processor time of Vowpal Wabbit on the same file, with late labels.

    It keeps the text of an example until its label comes.
    """
    from vowpalwabbit import LabelType, PredictionType, Workspace

    with open(folder / "prompt.csv", newline="") as events:
        classes = sorted({row["y"] for row in csv.DictReader(events)})
    vw = Workspace(f"--oaa {len(classes)} --probabilities --loss_function logistic --quiet")
    waiting: dict[str, str] = {}
    begin = time.process_time()
    with open(folder / "late.csv", newline="") as events, open(folder / "out.vw", "w") as out:
        table = csv.reader(events)
        _, *names, _ = next(table)
        for key, *record, label in table:
            if label:
                text = f"{1 + classes.index(label)} | {waiting.pop(key)}"
                example = vw.parse(text, LabelType.MULTICLASS)
                vw.learn(example)
            else:
                waiting[key] = _vw(names, record)
                example = vw.parse(f"| {waiting[key]}", LabelType.MULTICLASS)
                p = vw.predict(example, PredictionType.SCALARS)
                out.write(key + "," + ",".join(map(repr, p)) + "\n")
            vw.finish_example(example)
    return time.process_time() - begin


def late(source: str = "", target: str = "") -> None:
    """Print the processor time of late labels over that of prompt ones, and Vowpal Wabbit's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n = write_late(folder, source=source, target=target)

        def seconds(file: str) -> float:
            with tempfile.TemporaryDirectory(dir=folder) as work:
                paths = ("--model", f"{work}/model", "--out", f"{work}/out.csv")
                return cpu_of(*paths, "--target", "y", "--id", "id", str(folder / file))

        contestants = {
            "prompt labels": lambda: seconds("prompt.csv"),
            "late labels": lambda: seconds("late.csv"),
            "Vowpal Wabbit, late labels": lambda: late_vowpal_wabbit(folder),
        }
        rounds = [{name: run() for name, run in contestants.items()} for _ in range(ROUNDS)]
        best = {name: min(each[name] for each in rounds) for name in contestants}
        print(f"| {n:,} records | seconds | over prompt labels |\n|---|---|---|")
        for name, took in best.items():
            print(f"| {name} | {took:.2f} | {took / best['prompt labels']:.2f} |")


def latency(events: int = 20) -> None:
    """Print the time from an event to its answer, in a pipe that brings one event a second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_events(folder, events, D, K)
        lines = (folder / "in.csv").read_bytes().splitlines(keepends=True)
        command = [
            MIXABLE,
            "stream",
            "--model",
            f"{name}/model",
            "--target",
            "y",
            "--classes",
            ",".join(f"c{c}" for c in range(K)),
            *AUTO,
        ]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(lines[0] + lines[1])
        process.stdout.readline()
        # The header, and the first answer, which waits for the start of Python.
        process.stdout.readline()
        times = []
        for line in lines[2:]:
            time.sleep(1)
            begin = time.perf_counter()
            process.stdin.write(line)
            process.stdout.readline()
            times.append(1000 * (time.perf_counter() - begin))
        process.stdin.close()
        process.wait()
        print("| events | median, ms | longest, ms |\n|---|---|---|")
        print(f"| {len(times)} | {statistics.median(times):.1f} | {max(times):.1f} |")


def memory(
    events: int = 10_000_000,
    d: int = 6,
    k: int = 3,
    options: tuple[str, ...] = ("--id", "id", "--remember", "1000", *AUTO),
) -> None:
    """Print the memory of the command as events go by: a block of events over and over, a tenth of
    them without their label.
    """
    rng = np.random.default_rng(0)
    block, unit = [], 100_000
    for row, label in zip(
        rng.normal(size=(unit, d)).round(4).tolist(), rng.integers(0, k, unit).tolist(), strict=True
    ):
        number = len(block)
        block.append(
            f"{number}," + ",".join(map(str, row)) + (f",c{label}\n" if number % 10 else ",\n")
        )
    text = "".join(block).encode()
    with tempfile.TemporaryDirectory() as name:
        command = [
            MIXABLE,
            "stream",
            "--model",
            f"{name}/model",
            "--target",
            "y",
            "--out",
            "/dev/null",
            *options,
        ]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdin is not None
        process.stdin.write((",".join(["id", *(f"x{i}" for i in range(d)), "y"]) + "\n").encode())
        print("| events | MiB |\n|---|---|")
        for done in range(unit, events + 1, unit):
            process.stdin.write(text)
            if done % (events // 10) == 0:
                status = Path(f"/proc/{process.pid}/status").read_text()
                resident = int(status.partition("VmRSS:")[2].split()[0]) / 1024
                print(f"| {done:,} | {resident:.0f} |", flush=True)
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    what, *given = sys.argv[1:] or ["rates"]
    if what == "late":
        late(*given)
    else:
        {"rates": rates, "latency": latency, "memory": memory}[what](*map(int, given))
