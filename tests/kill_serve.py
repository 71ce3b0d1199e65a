"""Ends `mixable serve` at random moments while clients predict, learn and bring late labels, and
compares answers, log and model: each outcome that was answered is learned once, and forecasts are
those of a model that was never disturbed.

python tests/kill_serve.py [KILL|TERM|WORKERS|EVICT|BACKUP|FULL|DISK] [times] [clients]
[numbers|records|nonlinear] [folder]

WORKERS ends by SIGKILL one of two processes that only forecast, or the one that learns; forecasts
of the former must be those of the log at a place that was committed when they were asked. EVICT
has a model for each client, one of them in memory, and a client that reads no answers. BACKUP
copies the log meanwhile: a copy must have what was answered before it began, and be whole. FULL
lets no file grow beyond a limit, so that labels are refused for a time, and then ends it by
SIGKILL or SIGTERM. DISK does the same with a disk that is full. It needs a folder on a small file
system, say `mount -t tmpfs -o size=4m tmpfs FOLDER`, and makes room again after the end.
"""

import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from command_line import MIXABLE
from serve_command import Caller, Server, same_models, saved

from mixable._config import one_blas_thread
from mixable.events import EventModel
from mixable.events.applying import Applier
from mixable.events.store import Store

LIMIT = 300_000  # bytes of a file, for FULL
BESIDE = re.compile(r"only forecast, at http://127\.0\.0\.1:(\d+)/")


class Client:
    """Sends requests one after the other. One that got no answer is sent again after a restart."""

    def __init__(self, number, kind="numbers", model="default"):
        self.number, self.kind, self.sent, self.refused = number, kind, 0, 0
        self.model = model
        self.beside = []  # features, forecasts of workers, and the last step known before
        self._random = random.Random(number)
        self._doubt = None  # path and body of a request without an answer
        self.waiting = set()  # identifiers whose outcome is to come
        self.answered = {}  # forecasts by identifier
        self.steps = {}  # identifier and outcome of each step

    def work(self, port, until, workers=None):
        """Go on until there is no answer, or until it is told."""
        caller = Caller(port)
        before = "" if self.model == "default" else f"/models/{self.model}"
        try:
            while not until.is_set():
                path, body = self._doubt or self._next()
                self._doubt = path, body
                if workers is not None and "id" not in body:
                    self.ask_beside(workers, body)
                status, answer = caller("POST", before + path, body)
                if status == 503:
                    self.refused += 1
                    time.sleep(0.02)
                    continue
                assert status == 200, (status, answer, body)
                self._doubt = None
                self._note(body, answer)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            caller.close()

    def ask_beside(self, port, body):
        """Ask a worker. One that is killed has a successor, and others: ask again."""
        last, end = max(self.steps, default=0), time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                caller = Caller(port)
                status, answer = caller("POST", "/predict", body)
                caller.close()
                assert status == 200, (status, answer)
                self.beside.append((body["features"], answer, last))
                return
            time.sleep(0.02)
        raise AssertionError("no worker answers")

    def _next(self):
        self.sent += 1
        draw = self._random
        features = {f"x{i}": round(draw.gauss(0, 1), 3) for i in range(4)}
        label = "abc"[max(range(3), key=lambda k: features[f"x{k}"] + draw.gauss(0, 1))]
        if self.kind == "records":
            features |= {"user": f"u{draw.randrange(50)}", "tags": draw.sample(["a", "b", "c"], 2)}
        key, chance = f"{self.number}-{self.sent}", draw.random()
        if chance < 0.2:
            return "/predict", {"features": features}
        if chance < 0.5:
            return "/predict", {"id": key, "features": features}
        if chance < 0.7 and self.waiting:
            return "/learn", {"id": draw.choice(sorted(self.waiting)), "label": label}
        return "/learn", {"id": key, "features": features, "label": label}

    def _note(self, body, answer):
        if "id" in body and "probabilities" in answer:
            self.answered[body["id"]] = {"probabilities": answer["probabilities"]}
        if "label" in body:
            self.waiting.discard(body["id"])
            assert answer["step"] not in self.steps
            self.steps[answer["step"]] = body["id"], body["label"]
        elif "id" in body:
            self.waiting.add(body["id"])


def load(server, clients, seconds, workers=None):
    """Let the clients work; `seconds` None waits until the service has ended."""
    until = threading.Event()
    given = server.port, until, workers
    threads = [threading.Thread(target=each.work, args=given) for each in clients]
    for thread in threads:
        thread.start()
    if seconds is not None:
        time.sleep(seconds)
        until.set()
    return threads


def compare(folder, clients, name="default"):
    """The log, the saved model and the clients' books; how many outcomes there were."""
    store = Store(folder, read_only=True)
    key = store.models()[name]
    events, fresh = list(store.since(key)), EventModel(store.options(name))
    rows = store.rows("SELECT number, id, forecast FROM events WHERE model = ? ORDER BY 1", key)
    by_number = {number: json.loads(text) for number, _, text in rows}
    by_id = {key: json.loads(text) for _, key, text in rows}  # the last, if it was sent again
    store.close()
    steps, answered, beside = {}, {}, []
    for client in clients:
        assert not steps.keys() & client.steps.keys()
        steps |= client.steps
        answered |= client.answered
        beside += client.beside
    with one_blas_thread():
        applied = followed(fresh, events, beside) if beside else Applier(fresh).apply(events)
    assert sorted(steps) == list(range(1, len(steps) + 1)), "steps are missing"
    learned = [event for event in events if event.label is not None]
    assert [(e.id, e.label) for e in learned] == [steps[s] for s in sorted(steps)], "other outcomes"
    for key, said in answered.items():
        assert by_id[key] == said, "the log has another forecast"
    for event, each in zip(events, applied, strict=True):  # as if nothing had happened
        if each.forecast is not None:
            assert each.forecast == by_number[event.number], "it was disturbed"
    model, rest = saved(folder, name)
    if name == "default":
        assert not rest
    else:  # it may have been out of memory at the end
        Applier(model).all(rest)
    assert same_models(model, fresh), "the model differs"
    waiting = {key for client in clients for key in client.waiting}
    assert set(model.waiting) == waiting, "what waits is not what was answered"
    return len(steps)


def followed(model, events, beside):
    """Apply events; forecasts of workers must be those of a place after what was known then."""
    applier, applied, left = Applier(model), [], list(beside)
    for event in [None, *events]:
        applied += [] if event is None else applier.apply([event])
        learned = model.counts["learned"]
        left = [each for each in left if each[2] > learned or model.forecast(each[0]) != each[1]]
    assert not left, f"{len(left)} of {len(beside)} forecasts of workers are of no place of the log"
    return applied


def fill(folder):
    """Leave little room on the disk; the file that must go to have more."""
    filler, left = folder.parent / "filler", os.statvfs(folder.parent)
    filler.write_bytes(bytes(max(0, left.f_bavail * left.f_frsize - LIMIT)))
    return filler


def run_full(folder, name, options, clients, rng):
    """Let labels be refused, end the service, make room."""
    server = Server(folder, *options, largest_file=LIMIT if name == "FULL" else None)
    before = sum(client.refused for client in clients)
    filler, end = fill(folder) if name == "DISK" else None, time.monotonic() + 60
    threads = load(server, clients, None)
    while sum(client.refused for client in clients) == before:
        assert time.monotonic() < end, "no label was refused"
        time.sleep(0.01)
    time.sleep(rng.random() * 0.3)
    how = rng.choice([signal.SIGKILL, signal.SIGTERM])
    assert server.end(how) in (0, -signal.SIGKILL), server.said
    for thread in threads:
        thread.join()
    if filler is not None:
        filler.unlink()


def children(process):
    """The processes that a process has begun."""
    with contextlib.suppress(OSError):
        return [*map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]
    return []


def kill_workers(server, rng):
    """End some of the processes that only forecast."""
    for _ in range(rng.randrange(1, 4)):
        found = [each for keeper in children(server.process.pid) for each in children(keeper)]
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)
        time.sleep(rng.random() * 0.5)


def copy(folder, target, clients):
    """Back up a log that is written, and look at the copy."""
    known = {key for client in clients for key, _ in list(client.steps.values())}
    subprocess.run([MIXABLE, "backup", folder, target], check=True, capture_output=True)
    store = Store(target, read_only=True)
    assert store.one("PRAGMA integrity_check") == "ok"
    events = list(store.since(store.models()["default"]))
    fresh = EventModel(store.options("default"))
    store.close()
    assert known <= {event.id for event in events if event.label is not None}, "it lacks outcomes"
    model, rest = saved(target)
    with one_blas_thread():
        Applier(fresh).all(events)
        Applier(model).all(rest)
    assert same_models(model, fresh), "the copy's model is not that of its log"
    shutil.rmtree(target)


def unread(server):
    """A connection that has sent many events and reads no answer."""
    made = socket.create_connection(("127.0.0.1", server.port))
    made.setblocking(False)
    body = b'{"features": {"a": 1}}\n' * 2000
    head = f"POST /events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    with contextlib.suppress(BlockingIOError):
        for _ in range(20):
            made.send(head.encode() + body)
    return made


def run(folder, name, times, clients, rng):
    """End a service that many times under load, and compare."""
    kind = () if clients[0].kind == "nonlinear" else ("--linear",)
    options = ("--seconds", 60 if name in ("FULL", "DISK") else 0.2, *kind)
    options += {"WORKERS": ("--workers", 2), "EVICT": ("--in-memory", 1)}.get(name, ())
    for turn in range(times):
        if name in ("FULL", "DISK"):
            run_full(folder, name, options, clients, rng)
            continue
        server, workers, reader = Server(folder, *options), None, None
        before = sum(client.sent for client in clients)
        if name == "WORKERS":
            while not BESIDE.search(server.said):
                time.sleep(0.01)
            workers = int(BESIDE.search(server.said).group(1))
        if name == "EVICT":
            reader, caller = unread(server), Caller(server.port)
            for client in clients:
                assert caller("PUT", f"/models/{client.model}")[0] in (200, 201)
            caller.close()
        threads = load(server, clients, None, workers)
        while sum(client.sent for client in clients) < before + 2 * len(clients):
            assert any(thread.is_alive() for thread in threads), server.said
            time.sleep(0.005)
        time.sleep(rng.random() * 1.0)
        if name == "WORKERS":
            kill_workers(server, rng)
        if name == "BACKUP":
            copy(folder, folder.parent / f"copy{turn}", clients)
        how = getattr(signal, f"SIG{name}", signal.SIGKILL)
        server.process.send_signal(how)
        assert server.process.wait(timeout=30) in (0, -signal.SIGKILL)
        for thread in threads:
            thread.join()
        if reader is not None:
            reader.close()
        if name != "WORKERS":  # those outlive it until the next start, with its standard error
            server.end()
    server = Server(folder, *options)  # for what has no answer yet
    for thread in load(server, clients, 2.0):  # where the machine is busy, 503s come first
        thread.join()
    assert all(client._doubt is None for client in clients)
    assert server.end() == 0
    models = sorted({client.model for client in clients})
    return sum(compare(folder, [c for c in clients if c.model == m], m) for m in models)


def main(name="KILL", times=20, number=8, kind="numbers", place=None):
    seed = random.randrange(10**6)
    rng, done = random.Random(seed), 0
    assert kind in ("numbers", "records", "nonlinear"), kind
    assert (place is None) == (name != "DISK"), "DISK, and nothing else, needs a folder"
    while done < int(times):
        folder = Path(tempfile.mkdtemp(dir=place))
        try:
            some = min(5, int(times) - done)
            models = [f"m{i}" if name == "EVICT" else "default" for i in range(int(number))]
            clients = [Client(i, kind, model) for i, model in enumerate(models)]
            learned = run(folder / "models", name, some, clients, rng)
            done += some
            beside = sum(len(client.beside) for client in clients)
            of_workers = f", {beside:,} forecasts of workers" if beside else ""
            print(
                f"{name} {kind}: {done} times; {learned:,} labels, each once{of_workers}",
                flush=True,
            )
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
