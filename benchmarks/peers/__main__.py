"""The command: `python -m benchmarks.peers run|show|docs`."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import time
from pathlib import Path

from benchmarks.peers import documents, text
from benchmarks.peers.race import Store, fingerprint, machine, race, sources
from benchmarks.peers.results import COMMITTED, collect, load, save
from benchmarks.peers.run import TABLES


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
    show = commands.add_parser("show", help="the tables as text, where mixable loses first")
    show.add_argument("results", type=Path, nargs="?", default=COMMITTED)
    docs = commands.add_parser("docs", help="commit results: write them to the documents")
    docs.add_argument("results", type=Path, nargs="?", default=COMMITTED)
    return out


def run(given: argparse.Namespace) -> None:
    """Race, keep the results, print them."""
    targets = given.target * (len(given.records) if len(given.target) == 1 else 1)
    if len(targets) != len(given.records):
        raise SystemExit("each --records FILE needs its --target COLUMN, or one for all")
    own = sources(given.tables, given.rows, list(zip(given.records, targets, strict=True)))
    begin, path = time.monotonic(), given.out / "runs.jsonl"
    if given.fresh:
        path.unlink(missing_ok=True)
    store = Store(path, {"machine": machine(), "mixable": fingerprint()})
    race(store, own, given.processes)
    results = collect(store, own)
    save(results, given.out / "peers.json")
    print(text.all_tables(results))
    print(f"{time.monotonic() - begin:.0f} seconds; {given.out}/peers.json")


def main() -> None:
    """Do what the command line says."""
    given = parser().parse_args()
    if given.command == "run":
        run(given)
    elif given.command == "show":
        print(text.all_tables(load(given.results)))
    else:
        results = load(given.results)
        save(results, COMMITTED)
        documents.write(results)


if __name__ == "__main__":
    main()
