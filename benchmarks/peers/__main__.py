"""The command: `python -m benchmarks.peers run|show|docs`."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

TABLES = ("numbers", "curves", "records")


def parser() -> argparse.ArgumentParser:
    """The options."""
    out = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description="mixable beside the tools people use"
    )
    commands = out.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="race, or go on with a race that was stopped")
    run.add_argument("--out", type=Path, default=Path("peers"), help="folder of results")
    run.add_argument("--fresh", action="store_true", help="forget runs that are there")
    run.add_argument("--rows", type=int, help="cut every stream after so many rows, for a trial")
    run.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    run.add_argument("--records", action="append", default=[], help="a CSV or JSON lines file")
    run.add_argument("--target", action="append", default=[], help="its column with the label")
    run.add_argument("--processes", type=int, default=2, help="for the search of the grids")
    help_of = {
        "show": "the tables as text, where mixable loses first",
        "docs": "commit results, and write the documents from them",
    }
    for name, words in help_of.items():
        command = commands.add_parser(name, help=words)
        command.add_argument("results", type=Path, nargs="?", help="the committed ones if left out")
    return out


def run(given: argparse.Namespace) -> None:
    """Race, keep the results, print them."""
    from benchmarks.peers import race, results, text

    targets = given.target * (len(given.records) if len(given.target) == 1 else 1)
    if len(targets) != len(given.records):
        raise SystemExit("each --records FILE needs its --target COLUMN, or one for all")
    own = race.sources(given.tables, given.rows, list(zip(given.records, targets, strict=True)))
    begin, path = time.monotonic(), given.out / "runs.jsonl"
    if given.fresh:
        path.unlink(missing_ok=True)
    store = race.Store(path, {"machine": race.machine(), "mixable": race.fingerprint()})
    race.race(store, own, given.processes)
    found = results.collect(store, own)
    results.save(found, given.out / "peers.json")
    print(text.all_tables(found))
    print(f"{time.monotonic() - begin:.0f} seconds; {given.out}/peers.json")


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line says."""
    given = parser().parse_args(arguments)
    if given.command == "run":
        run(given)
        return
    from benchmarks.peers import documents, results, text

    found = results.load(given.results or results.COMMITTED)
    if given.command == "show":
        print(text.all_tables(found))
    else:
        results.save(found, results.COMMITTED)
        documents.write(found)


if __name__ == "__main__":
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"  # before NumPy is imported
    main()
