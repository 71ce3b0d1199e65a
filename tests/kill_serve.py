"""Ends `mixable serve` at random moments while clients predict, learn and bring late labels, and
compares the model with one that learned exactly what was answered, in the same order.

python tests/kill_serve.py [KILL|TERM|FULL|DISK] [times] [clients] [numbers|records|curved] [folder]

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

import numpy as np
from serve_command import Caller, Server, same_models, served_model

import mixable as mx
from mixable._config import one_blas_thread
from mixable.events.events import Event, ModelLimits
from mixable.events.serve.model import Remembered

LIMIT = 300_000  # bytes of a file, for FULL


class Client:
    """Sends requests one after the other. One that got no answer is sent again after a restart."""

    def __init__(self, number, kind="numbers"):
        self.number, self.kind, self.sent, self.refused = number, kind, 0, 0
        self._random = random.Random(number)
        self._doubt = None  # path and body of a request without an answer
        # By id: features, probabilities, and the step before, while the label is to come.
        self.forecasts = {}
        self.learned = {}  # by step: features, label, forecast and the step before it, or None

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
        if chance < 0.7 and self.forecasts:
            return "/learn", {"id": draw.choice(sorted(self.forecasts)), "label": label}
        return "/learn", {"id": key, "features": features, "label": label}

    def _note(self, body, answer):
        if "label" not in body:
            if "id" in body:
                before = max(self.learned, default=0)
                self.forecasts[body["id"]] = body["features"], answer["probabilities"], before
            return
        features, *forecast = self.forecasts.pop(body["id"], None) or [body["features"]]
        assert answer["step"] not in self.learned
        self.learned[answer["step"]] = features, body["label"], forecast or None


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


def replayed(clients):
    """A model that learned what was answered, in the order of the steps.

    A label that came late is learned with the inputs of its forecast: those of the step at which
    the model says what was answered then.
    """
    learned = {}
    for client in clients:
        assert not learned.keys() & client.learned.keys()
        learned.update(client.learned)
    assert sorted(learned) == list(range(1, len(learned) + 1)), "steps are missing"
    model, limits = served_model(curved=clients[0].kind == "curved"), ModelLimits()
    late = {step: (x, *forecast) for step, (x, _, forecast) in learned.items() if forecast}
    waiting = {}
    for step in sorted(learned):
        for other, (features, said, before) in late.items():
            if before < step <= other and other not in waiting and model.predict(features) == said:
                p = np.array(list(said.values()), dtype=float)
                text = json.dumps(features).encode()
                inputs = model._inputs(features, limits)
                waiting[other] = Remembered(text=text, p=p, rates=model.rates, inputs=inputs)
        features, label, forecast = learned[step]
        if forecast is None:
            model.apply(Event(id=None, features=features, label=label), limits)
        else:
            assert step in waiting, "a forecast was not made by this model"
            model.waiting["late"] = waiting[step]
            model.waiting_bytes += waiting[step].bytes
            model.apply(Event(id="late", features=None, label=label), limits)
    return model


def learned_part(model):
    """What was learned, and the scores; not who is remembered.

    Nor the loss of the class rates: clients do not know these at the time of a forecast.
    """
    progress = model.progress
    progress._blocks = [[loss, 0.0] for loss, _ in progress._blocks]
    progress._open[2] = 0.0
    model.waiting.clear()
    model.done.clear()
    model.waiting_bytes, model.counts["remembered"], model.counts["forgotten"] = 0, 0, 0
    return model


def compare(folder, clients):
    """The saved model and the clients' books; how many labels there were."""
    model = mx.load(folder / "default.model")
    waiting = {key for client in clients for key in client.forecasts}
    assert set(model.waiting) == waiting, "what waits is not what was answered"
    with one_blas_thread():
        twin = replayed(clients)
        assert same_models(learned_part(model), learned_part(twin)), "the model differs"
    return twin.counts["learned"]


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
    kind = "--curved" if clients[0].kind == "curved" else "--linear"
    options = ("--seconds", 60 if name in ("FULL", "DISK") else 0.2, kind)
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
