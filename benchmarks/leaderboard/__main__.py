"""The command: `python -m benchmarks.leaderboard`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import time
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is imported

HOME = Path.home() / ".cache" / "mixable-leaderboard"


def parser() -> argparse.ArgumentParser:
    """The options."""
    out = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=__doc__)
    out.add_argument("what", nargs="?", choices=("run", "collect", "docs", "curves"), default="run")
    out.add_argument("--cache", type=Path, default=HOME, help="folder of packages with streams")
    out.add_argument("--results", type=Path, default=HOME / "results", help="folder of results")
    out.add_argument("--rows", type=int, default=100_000, help="cut streams after so many rows")
    out.add_argument("--long-rows", type=int, help="the same for streams of 50,000 and more")
    out.add_argument("--seconds", type=float, default=10.0, help="of the processor, for each run")
    out.add_argument("--only", nargs="+", default=[], help="peers whose name begins so")
    out.add_argument("--streams", nargs="+", default=[], help="these streams only")
    out.add_argument("--file", type=Path, help="a stream of your own: CSV or JSON lines")
    out.add_argument("--target", help="its column with the label")
    out.add_argument("--again", action="store_true", help="anew what is there")
    out.add_argument("--add", action="store_true", help="to docs only what has no row yet")
    out.add_argument("--until", help="start no run after this time, such as 15:30")
    out.add_argument("--quick", action="store_true", help="a trial of ten minutes")
    return out


def run(given: argparse.Namespace) -> None:
    """All runs whose result is not there yet, the slow peers last."""
    import pandas as pd

    from benchmarks.leaderboard.peers import PEERS
    from benchmarks.leaderboard.run import perform
    from benchmarks.leaderboard.streams import STREAMS, load, of_frame

    for module in ("lightgbm", "river.linear_model", "sklearn.ensemble", "vowpalwabbit"):
        with contextlib.suppress(ImportError):  # who is not there fails, and the results say so
            importlib.import_module(module)  # for the processes of all runs at once
    begins = tuple(given.only)
    peers = [peer for peer in PEERS.values() if not begins or peer.name.startswith(begins)]
    names = given.streams or list(STREAMS)[:: 5 if given.quick else 1]
    if given.again and not given.streams:
        names = [name for name in STREAMS if (given.results / name).is_dir()]
    if given.file:
        is_lines = given.file.suffix in (".jsonl", ".ndjson")
        frame = pd.read_json(given.file, lines=True) if is_lines else pd.read_csv(given.file)
        number = frame[given.target].dtype.kind == "f"
        own = of_frame(given.file.name, frame[: given.rows], given.target, number)
        names = [own.name]
    for slow in sorted({peer.slow for peer in peers}):
        for name in names:
            data = own if given.file else None
            for peer in peers:
                path = given.results / name / f"{peer.name.replace('/', ' or ')}.json"
                if peer.slow != slow or (path.exists() and not given.again):
                    continue
                if given.until and time.strftime("%H:%M") >= given.until:
                    return
                if data is None:
                    is_long = "long" in STREAMS[name].tags
                    rows = (given.long_rows if is_long else None) or given.rows
                    data = load(STREAMS[name], given.cache, rows)
                path.unlink(missing_ok=True)
                perform(peer, data, given.seconds, path)
                print(time.strftime("%H:%M:%S"), name, peer.name, flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line says."""
    given = parser().parse_args(arguments)
    if given.quick:
        given.rows, given.long_rows, given.seconds = 500, 1000, 1.0
    if given.what == "run":
        run(given)
    from benchmarks.leaderboard import curves, page, results

    if given.what == "docs" and not (given.again or given.add):
        page.write(results.load())
        return
    if given.what == "curves":
        command = (
            f"python -m benchmarks.leaderboard --rows {given.rows} --seconds {given.seconds:g}"
        )
        curves.save(curves.collect(results.load(), given.results, command))
        page.write(results.load())
        return
    words = f"--rows {given.rows} --long-rows {given.long_rows or given.rows}"
    command = f"python -m benchmarks.leaderboard {words} --seconds {given.seconds:g}"
    found = results.collect(given.results, command)
    if given.what == "docs":
        earlier = results.load()
        found = results.joined(earlier, found) if given.add else results.joined(found, earlier)
        results.save(found)
        page.write(found)
    else:
        print(page.text(found))


if __name__ == "__main__":
    main()
