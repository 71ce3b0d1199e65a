"""Kills `mixable stream` at random moments, resumes it each time, and compares model, answers and
rejects with a run that was left alone.

python tests/kill_stream.py [KILL|TERM] [number of kills] [forecaster] [numbers|records]
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from command_line import MIXABLE

FILES = ("model", "out.csv", "rejects")


def write_events(path, n, seed=0):
    """A stream with everything in it: labels missing or late, values missing, one or all, bad
    lines.
    """
    rng = np.random.default_rng(seed)
    W, waiting = rng.normal(size=(6, 3)), []
    with open(path, "w") as file:
        file.write("id,a,b,c,d,e,f,kind\n")
        for t in range(n):
            chance = rng.random()
            x = rng.normal(size=6)
            label = "xyz"[int((x @ W + rng.gumbel(size=3)).argmax())]
            fields = [f"{value:.4f}" for value in x]
            if chance < 0.02:
                file.write(f"{t},broken line {chance}\n")
            elif chance < 0.12 and waiting:
                old, old_label = waiting.pop(int(rng.integers(len(waiting))))
                file.write(f"{old},,,,,,,{old_label}\n")
            elif chance < 0.25:
                waiting.append((t, label))
                file.write(f"{t},{','.join(fields)},\n")
            else:
                if chance < 0.27:
                    fields = [""] * 6
                elif chance < 0.3:
                    fields[int(rng.integers(6))] = ""
                file.write(f"{t},{','.join(fields)},{label}\n")


def write_records(path, n, seed=0):
    """The same with categories, text, times, numbers that may be missing or words."""
    rng = np.random.default_rng(seed)
    words, waiting = ["red", "blue", "shoes", "hats", "for", "men"], []
    with open(path, "w") as file:
        file.write("id,user,price,query,at,kind\n")
        for t in range(n):
            chance, user = rng.random(), int(rng.zipf(1.3)) % 5000
            label = "xyz"[(user + int(rng.random() < 0.2)) % 3]
            query = " ".join(rng.choice(words, 1 + user % 4).tolist())
            price = rng.choice(["", "unknown", f"{rng.exponential():.3f}"], p=[0.05, 0.05, 0.9])
            at = f"2024-03-{1 + t % 28:02d} {t % 24:02d}:00"
            record = f'{t},user {user},{price},"{query}, please",{at}'
            if chance < 0.02:
                file.write(f"{t},broken line {chance}\n")
            elif chance < 0.12 and waiting:
                old, old_label = waiting.pop(int(rng.integers(len(waiting))))
                file.write(f"{old},,,,,{old_label}\n")
            elif chance < 0.25:
                waiting.append((t, label))
                file.write(f"{record},\n")
            else:
                file.write(f"{record},{label}\n")


def command(folder, source, *more):
    paths = [
        "--model",
        folder / "model",
        "--out",
        folder / "out.csv",
        "--rejects",
        folder / "rejects",
    ]
    return [
        MIXABLE,
        "stream",
        "--target",
        "kind",
        "--id",
        "id",
        "--remember",
        "200",
        *map(str, paths),
        *map(str, more),
        str(source),
    ]


def started(process, out, before):
    """Wait until answers are being written."""
    while process.poll() is None and (out.stat().st_size if out.exists() else 0) == before:
        time.sleep(0.002)


def kill_and_resume(folder, source, kills, number, rng, *more):
    """Run the command in a folder, ended `kills` times; returns how many of them came before it was
    done.
    """
    hit = 0
    for _ in range(kills):
        out = folder / "out.csv"
        size = out.stat().st_size if out.exists() else 0
        process = subprocess.Popen(
            command(folder, source, *more), stderr=subprocess.PIPE, text=True
        )
        if rng.random() < 0.8:
            started(process, out, size)
            time.sleep(rng.random() * 0.15)
        else:
            time.sleep(rng.random() * 0.8)
        process.send_signal(number)
        said = process.communicate()[1]
        assert process.returncode in (0, -number), said
        if number == signal.SIGKILL or "events:" in said:
            stopped = process.returncode == -number or json.loads(seen(folder)) < total(source)
            hit += 1 if stopped else 0
    done = subprocess.run(command(folder, source, *more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return hit


def seen(folder):
    """Lines used so far, as the model has it."""
    import mixable as mx

    counts = mx.load(folder / "model").counts
    return str(counts["events"] + counts["late"])


def total(source):
    return len(source.read_bytes().splitlines()) - 1


def main(name="KILL", kills=50, forecaster="auto", kind="numbers"):
    rng = np.random.default_rng()
    with tempfile.TemporaryDirectory() as work:
        source = Path(work, "in.csv")
        {"numbers": write_events, "records": write_records}[kind](source, 20_000)
        more = ("--every", 500, "--forecaster", forecaster)
        (alone := Path(work, "alone")).mkdir()
        subprocess.run(command(alone, source, *more), check=True)
        hit = rounds = 0
        while hit < int(kills):
            (folder := Path(work, str(rounds))).mkdir()
            hit += kill_and_resume(folder, source, 5, getattr(signal, f"SIG{name}"), rng, *more)
            for file in FILES:
                assert (folder / file).read_bytes() == (alone / file).read_bytes(), (
                    f"{file} differs"
                )
            rounds += 1
            print(
                f"{hit} times ended with SIG{name} in mid-run, {rounds} runs: model, answers and "
                "rejects are the same, byte for byte",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
