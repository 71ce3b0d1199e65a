"""Ends `mixable serve` at random moments while clients predict, learn and bring late labels, and
compares answers, log and model: each outcome that was answered is learned once, and forecasts are
those of a model that was never disturbed.

python tests/kill_serve.py [KILL|TERM|FULL|DISK] [times] [clients] [numbers|records|nonlinear]
[folder]

FULL lets no file grow beyond a limit, so that labels are refused for a time, and then ends it by
SIGKILL or SIGTERM. DISK does the same with a disk that is full. It needs a folder on a small file
system, say `mount -t tmpfs -o size=4m tmpfs FOLDER`, and makes room again after the end.
"""

import http.client
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from serve_command import Caller, Server, same_models, saved

from mixable._config import one_blas_thread
from mixable.events import EventModel
from mixable.events.applying import Applier
from mixable.events.store import Store

LIMIT = 300_000  # bytes of a file, for FULL


class Client:
    """Sends requests one after the other. One that got no answer is sent again after a restart."""

    def __init__(self, number, kind="numbers"):
        self.number, self.kind, self.sent, self.refused = number, kind, 0, 0
        self._random = random.Random(number)
        self._doubt = None  # path and body of a request without an answer
        self.waiting = set()  # identifiers whose outcome is to come
        self.answered = {}  # forecasts by identifier
        self.steps = {}  # identifier and outcome of each step

    def work(self, port, until):
        """Go on until there is no answer, or until it is told."""
        caller = Caller(port)
        try:
            while not until.is_set():
                path, body = self._doubt or self._next()
                self._doubt = path, body
                status, answer = caller("POST", path, body)
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


def load(server, clients, seconds):
    """Let the clients work; `seconds` None waits until the service has ended."""
    until = threading.Event()
    threads = [threading.Thread(target=each.work, args=(server.port, until)) for each in clients]
    for thread in threads:
        thread.start()
    if seconds is not None:
        time.sleep(seconds)
        until.set()
    return threads


def compare(folder, clients):
    """The log, the saved model and the clients' books; how many outcomes there were."""
    store = Store(folder, read_only=True)
    key = store.models()["default"]
    events, fresh = list(store.since(key)), EventModel(store.options("default"))
    rows = store.rows("SELECT number, id, forecast FROM events ORDER BY number")
    by_number = {number: json.loads(text) for number, _, text in rows}
    by_id = {key: json.loads(text) for _, key, text in rows}  # the last, if it was sent again
    store.close()
    with one_blas_thread():
        applied = Applier(fresh).apply(events)
    steps, answered = {}, {}
    for client in clients:
        assert not steps.keys() & client.steps.keys()
        steps |= client.steps
        answered |= client.answered
    assert sorted(steps) == list(range(1, len(steps) + 1)), "steps are missing"
    learned = [event for event in events if event.label is not None]
    assert [(e.id, e.label) for e in learned] == [steps[s] for s in sorted(steps)], "other outcomes"
    for key, said in answered.items():
        assert by_id[key] == said, "the log has another forecast"
    for event, each in zip(events, applied, strict=True):  # as if nothing had happened
        if each.forecast is not None:
            assert each.forecast == by_number[event.number], "it was disturbed"
    model, rest = saved(folder)
    assert not rest
    assert same_models(model, fresh), "the model differs"
    waiting = {key for client in clients for key in client.waiting}
    assert set(model.waiting) == waiting, "what waits is not what was answered"
    return len(steps)


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


def run(folder, name, times, clients, rng):
    """End a service that many times under load, and compare."""
    kind = () if clients[0].kind == "curved" else ("--linear",)
    options = ("--seconds", 60 if name in ("FULL", "DISK") else 0.2, *kind)
    for _ in range(times):
        if name in ("FULL", "DISK"):
            run_full(folder, name, options, clients, rng)
            continue
        server = Server(folder, *options)
        before = sum(client.sent for client in clients)
        threads = load(server, clients, None)
        while sum(client.sent for client in clients) < before + 2 * len(clients):
            time.sleep(0.005)
        time.sleep(rng.random() * 1.0)
        assert server.end(getattr(signal, f"SIG{name}")) in (0, -signal.SIGKILL)
        for thread in threads:
            thread.join()
    server = Server(folder, *options)  # for what has no answer yet
    for thread in load(server, clients, 0.3):
        thread.join()
    assert all(client._doubt is None for client in clients)
    assert server.end() == 0
    return compare(folder, clients)


def main(name="KILL", times=20, number=8, kind="numbers", place=None):
    rng, done = random.Random(), 0
    assert kind in ("numbers", "records", "curved"), kind
    assert (place is None) == (name != "DISK"), "DISK, and nothing else, needs a folder"
    while done < int(times):
        folder = Path(tempfile.mkdtemp(dir=place))
        try:
            some = min(5, int(times) - done)
            clients = [Client(i, kind) for i in range(int(number))]
            learned = run(folder / "models", name, some, clients, rng)
            done += some
            print(f"{name} {kind}: {done} times; {learned:,} labels, each once", flush=True)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
