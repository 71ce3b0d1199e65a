"""All runs of a race, and the file that keeps them: a line for each run that is done."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import platform
import time
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import mixable
from benchmarks.peers.contest import Setting
from benchmarks.peers.run import TABLES, Task, find, perform
from benchmarks.peers.streams import NUMBERS, Source

SLOW = 1000.0  # microseconds an example, from which on nothing is run once more for its time
PACKAGES = ("mixable", "river", "scikit-learn", "vowpalwabbit", "lightgbm", "numpy")
Result = dict[str, Any]


def machine() -> dict[str, str]:
    """Where the race is run, and with what."""
    model = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists() and "model name" in cpu.read_text():
        model = cpu.read_text().partition("model name")[2].partition(":")[2].split("\n")[0].strip()
    said = {"processor": f"{model}, {os.cpu_count()} cores", "python": platform.python_version()}
    for package in PACKAGES:
        try:
            said[package] = version(package)
        except PackageNotFoundError:
            said[package] = "absent"
    return said


def fingerprint() -> str:
    """Of all files of mixable: runs of another state of it are not taken for runs of this one."""
    digest = hashlib.sha256()
    folder = Path(mixable.__file__).parent
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".so"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def key(task: Task) -> str:
    """The name of a run. Contestants that two tables share on a stream run once."""
    cut = f"first {task.source.rows} of " if task.source.rows else ""
    setting = ", ".join(f"{name} {value}" for name, value in task.setting)
    alone = " (alone)" if task.alone else ""
    return f"{cut}{task.source.name} | {task.contestant} | {setting or 'defaults'}{alone}"


class Store:
    """The file of runs. Its first line says what was run where; others continue only with that."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path, self.runs = path, dict[str, Result]()
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or not path.read_bytes().partition(b"\n")[1]:
            path.write_text(json.dumps(about) + "\n", encoding="utf-8")
            return
        whole = path.read_bytes()
        whole = whole[: whole.rindex(b"\n") + 1]  # a line that a kill has cut is run again
        first, *lines = whole.decode().splitlines()
        if json.loads(first) != about:
            raise SystemExit(
                f"{path} has runs of another version, machine or mixable. Give another --out, or "
                "--fresh to begin anew."
            )
        path.write_bytes(whole)
        for line in lines:
            run = json.loads(line)
            self.runs[run.pop("run")] = run

    def add(self, name: str, result: Result) -> None:
        """Keep the result of a run, on the disk first."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"run": name, **result}) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.runs[name] = result


def tasks(sources: dict[str, list[Source]]) -> Iterator[Task]:
    """Everyone at the defaults and at each setting of the grid, on each stream of its table."""
    for table, own in sources.items():
        for contestant in TABLES[table]:
            for source in own:
                for setting in contestant.settings():
                    yield Task(table, source, contestant.name, tuple(setting.items()))


def best(store: Store, table: str, source: Source, name: str) -> tuple[Setting, Setting]:
    """The defaults, and the setting with the least log loss."""
    losses = []
    for setting in find(table, name).settings():
        run = store.runs.get(key(Task(table, source, name, tuple(setting.items()))), {})
        losses.append((run.get("log_loss", float("inf")), setting))
    return {}, min(losses, key=lambda pair: pair[0])[1]


def again(store: Store, sources: dict[str, list[Source]]) -> Iterator[Task]:
    """Defaults and winners, to be timed alone; without those that are slow."""
    for table, own in sources.items():
        for source in own:
            for contestant in TABLES[table]:
                for setting in best(store, table, source, contestant.name):
                    task = Task(table, source, contestant.name, tuple(setting.items()))
                    if store.runs[key(task)].get("microseconds", SLOW) < SLOW:
                        yield task._replace(alone=True)


def _run(store: Store, wanted: Iterable[Task], processes: int) -> None:
    left = list({key(task): task for task in wanted if key(task) not in store.runs}.values())
    begin, context = time.monotonic(), multiprocessing.get_context("forkserver")
    # The server of processes imports everything once, and loads no data.
    context.set_forkserver_preload(["benchmarks.peers.preload"])
    with context.Pool(processes, maxtasksperchild=1) as pool:
        for done, (task, result) in enumerate(pool.imap_unordered(perform, left), 1):
            store.add(key(task), result)
            loss = result.get("error") or f"{result['log_loss']:.3f}"
            passed = time.monotonic() - begin
            print(f"{done}/{len(left)} {passed:.0f} s  {key(task)}: {loss}", flush=True)


def race(store: Store, sources: dict[str, list[Source]], processes: int) -> None:
    """All runs that are not in the store yet."""
    _run(store, tasks(sources), processes)
    _run(store, again(store, sources), 1)


def sources(tables: list[str], rows: int | None, files: list[tuple[str, str]]) -> dict[str, Any]:
    """The streams of each table."""
    six = [Source(name=name, rows=rows) for name in NUMBERS]
    given = [
        Source(name=Path(file).name, rows=rows, file=file, target=target) for file, target in files
    ]
    own = {"numbers": six, "curves": six, "records": [Source(name="shop", rows=rows), *given]}
    return {table: own[table] for table in tables}
