"""Rates, latencies and memory of `mixable serve`, beside an empty FastAPI endpoint and
`mixable stream`.

    python benchmarks/serve.py [--seconds 1] [--rounds 7] [--linear] [--memory REQUESTS]
        [--other PYTHON]

A client in this process has 16 connections to 127.0.0.1 and one request on each. `--other` is the
Python of an environment with another version of mixable, which has its turn in each round. All
ends by itself. Prints Markdown. Ratios are taken in rounds in which both have their turn, and
printed with their range. On a machine that does other things, look at those of processor times:
what one request costs the server. `--memory` sends that many requests, most of them as lines of
/events, and prints how much memory the service has on the way.
"""

import argparse
import http.client
import json
import resource
import selectors
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np

MIXABLE = str(Path(sysconfig.get_path("scripts")) / "mixable")
D, K, CLIENTS, LINES = 18, 4, 16, 5000
EMPTY = """
import sys, uvicorn
from fastapi import FastAPI, Request, Response
app = FastAPI()
@app.post("/predict")
async def empty(request: Request):
    await request.body()
    return Response(b"{}", media_type="application/json")
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""


def events(n: int) -> list[dict]:
    """Records with their labels, which a curve tells apart better than a line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)).round(4)
    scores = X @ rng.normal(size=(D, K)) + 2 * X[:, :K] ** 2
    y = (scores + rng.gumbel(size=(n, K))).argmax(axis=1)
    return [
        {"features": {f"x{i}": v for i, v in enumerate(row)}, "label": f"c{label}"}
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


class Server:
    """A process that serves at 127.0.0.1."""

    def __init__(self, command: list[str]) -> None:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            self.port = int(sock.getsockname()[1])
        full = [each.replace("PORT", str(self.port)) for each in command]
        self._process = subprocess.Popen(full, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise TimeoutError("the service does not start")

    @property
    def seconds(self) -> float:
        """Processor time that it has had."""
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return 1e-9 * sum(int(task.read_text().split()[0]) for task in tasks)

    @property
    def megabytes(self) -> float:
        """Memory that it has."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


def request(path: str, event: dict) -> bytes:
    """A request as it is sent."""
    body = json.dumps(event).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def is_whole(answer: bytes) -> bool:
    """Whether an answer has come to its end."""
    head, mark, body = answer.partition(b"\r\n\r\n")
    if not mark:
        return False
    assert head.startswith(b"HTTP/1.1 200"), answer
    length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
    return len(body) >= int(length)


def ask(server: Server, requests: list[bytes], seconds: float, rate: float | None = None):
    """Send requests in turn, each connection as fast as it is answered, or at a rate in all.

    Returns the latency of each request, in the order of the answers, with its place in the list.
    At a rate, it counts from when the request was due.
    """
    selector = selectors.DefaultSelector()
    idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(CLIENTS)]
    for each in idle:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(each, selectors.EVENT_READ)
    under_way: dict[socket.socket, tuple[int, float, bytes]] = {}
    out: list[tuple[int, float]] = []
    begin, sent = time.perf_counter(), 0
    while True:
        now = time.perf_counter()
        while idle and now < begin + seconds and (not rate or begin + sent / rate <= now):
            connection = idle.pop()
            due = begin + sent / rate if rate else now
            under_way[connection] = sent % len(requests), due, b""
            connection.sendall(requests[sent % len(requests)])
            sent += 1
        if not under_way and now >= begin + seconds:
            break
        pause = max(0.0, begin + sent / rate - now) if rate and idle else 1.0
        for key, _ in selector.select(min(pause, 1.0)):
            connection = key.fileobj
            which, due, answer = under_way[connection]
            answer += connection.recv(1 << 16)
            if is_whole(answer):
                out.append((which, time.perf_counter() - due))
                del under_way[connection]
                idle.append(connection)
            else:
                under_way[connection] = which, due, answer
    for each in idle:
        each.close()
    return out


def report(name: str, times: list[float], seconds: float) -> None:
    p50, p90, p99 = (1e3 * np.quantile(times, q) for q in (0.5, 0.9, 0.99))
    rate = len(times) / seconds
    print(f"| {name} | {rate:,.0f} | {p50:.2f} | {p90:.2f} | {p99:.2f} |", flush=True)


def row(name: str, ratios: list[float]) -> str:
    return f"| {name} | {np.median(ratios):.2f} | {min(ratios):.2f} | {max(ratios):.2f} |"


def single(
    empty: Server, served: Server, other: Server | None, records: list[dict], options
) -> list[str]:
    """One request at a time on each connection: rows of the table of ratios."""
    asked = [request("/predict", {"features": each["features"]}) for each in records]
    taught = [request("/learn", each) for each in records]
    both = [each for pair in zip(asked, taught, strict=True) for each in pair]
    for server in (served, other):
        if server is not None:
            ask(server, both, 2.0)  # what is measured is not the first experience
    print("| calls | a second | p50, ms | p90, ms | p99, ms |\n|---|---|---|---|---|")
    for name, server, requests in (
        ("an empty FastAPI endpoint", empty, asked),
        ("/predict", served, asked),
        ("/learn", served, taught),
    ):
        times = [t for _, t in ask(server, requests, options.seconds)]
        report(name, times, options.seconds)
    rates: dict[str, list[float]] = {"an empty endpoint": []}
    if other is not None:
        rates["the other version"] = []
    costs: dict[str, list[float]] = {name: [] for name in rates}
    for _ in range(options.rounds):
        numbers, seconds = [], []
        for server, requests in ((served, both), (empty, asked), (other, both)):
            if server is not None:
                before = server.seconds
                numbers.append(len(ask(server, requests, options.seconds)))
                seconds.append((server.seconds - before) / numbers[-1])
        for name, number, cost in zip(rates, numbers[1:], seconds[1:], strict=True):
            rates[name].append(numbers[0] / number)
            costs[name].append(cost / seconds[0])
    half = numbers[0] / options.seconds / 2
    tails: dict[str, list[float]] = {"`/predict`": [], "the empty endpoint": []}
    for _ in range(options.rounds):  # in turn: pauses of the machine are seen by both
        for name, server, sent in zip(tails, (served, empty), (both, asked), strict=True):
            got = ask(server, sent, 2 * options.seconds, half)
            p50, p99 = np.quantile([t for which, t in got if which % 2 == 0], [0.5, 0.99])
            tails[name].append(p99 / p50)
    pair = "`/predict` and `/learn` over"
    return [
        *(row(f"{pair} {name}, processor time", each) for name, each in costs.items()),
        *(row(f"{pair} {name}, requests a second", each) for name, each in rates.items()),
        *(row(f"p99 over p50 of {name} at half load", ratios) for name, ratios in tails.items()),
    ]


def bulk(served: Server, body: bytes) -> float:
    """Lines a second of /events."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port)
    begin = time.perf_counter()
    connection.request("POST", "/events", body)
    answers = connection.getresponse().read().splitlines()
    seconds = time.perf_counter() - begin
    connection.close()
    assert not any(b'"error"' in each for each in answers), answers[0]
    return len(answers) / seconds


def stream(folder: str, records: list[dict], copies: int, *options: str) -> tuple[float, float]:
    """Seconds that `mixable stream` takes for some copies of the records: wall and processor."""
    lines = [json.dumps({**each["features"], "y": each["label"]}) for each in records] * copies
    path = Path(folder, f"events{copies}.jsonl")
    path.write_text("\n".join(lines) + "\n")
    model = Path(folder, f"{time.monotonic_ns()}.model")
    command = [MIXABLE, "stream", path, "--model", model, "--target", "y", *options]
    begin, before = time.perf_counter(), spent()
    subprocess.run([*command, "--out", Path(folder, "out.jsonl")], check=True, capture_output=True)
    return time.perf_counter() - begin, spent() - before


def spent() -> float:
    """Processor time of the processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def many(served: Server, folder: str, records: list[dict], options) -> list[str]:
    """Lines of /events beside lines of `mixable stream`: rows of the table of ratios."""
    body = b"\n".join(json.dumps(each).encode() for each in records)
    kind = ("--forecaster", "auto") if options.linear else ()
    bulk(served, body)
    ratios, costs = [], []
    for _ in range(options.rounds):
        # A long run less a short one: without the time to start.
        long, short = (stream(folder, records, copies, *kind) for copies in (5, 1))
        plain, cost = ((a - b) / 4 / len(records) for a, b in zip(long, short, strict=True))
        before, n = served.seconds, 2 * len(records)
        ours = np.mean([bulk(served, body), bulk(served, body)])
        ratios.append(ours * plain)
        costs.append(cost / ((served.seconds - before) / n))
    return [
        row("`/events` over `mixable stream`, processor time", costs),
        row("the same, lines a second", ratios),
    ]


def memory(served: Server, records: list[dict], requests: int) -> None:
    """How much memory there is after so many requests: one in five alone, the rest in bulk."""
    body = b"\n".join(json.dumps(each).encode() for each in records)
    alone = [request("/learn", {"id": str(i), **each}) for i, each in enumerate(records)]
    done, shown = 0, 0
    print("| requests | MB |\n|---|---|")
    while done < requests:
        for _ in range(4):
            bulk(served, body)
        done += 4 * len(records)
        for _ in range(100):
            if (done % (5 * len(records))) == 0:
                break
            done += min(len(ask(served, alone, 1.0)), 5 * len(records) - done % (5 * len(records)))
        if done >= shown:
            print(f"| {done:,} | {served.megabytes:.0f} |", flush=True)
            shown += requests / 10


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--linear", action="store_true")
    parser.add_argument("--memory", type=int, default=0)
    parser.add_argument("--other", type=Path)
    options, records = parser.parse_args(), events(LINES)
    with tempfile.TemporaryDirectory() as folder:
        kind = ["--linear"] if options.linear else []
        served = Server([MIXABLE, "serve", f"{folder}/models", "--port", "PORT", *kind])
        empty, other = Server([sys.executable, "-c", EMPTY, "PORT"]), None
        if options.other is not None:
            script = str(options.other.parent / "mixable")
            alone = ["env", "-u", "PYTHONPATH", script]
            other = Server([*alone, "serve", f"{folder}/others", "--port", "PORT", *kind])
        try:
            if options.memory:
                memory(served, records, options.memory)
            else:
                rows = single(empty, served, other, records, options)
                rows += many(served, folder, records, options)
                print("\n| ratio | median | lowest | highest |\n|---|---|---|---|")
                print("\n".join(rows))
        finally:
            for server in (empty, served, other):
                if server is not None:
                    server.end()


if __name__ == "__main__":
    main()
