"""Requests per second and latency of `mixable serve`, beside an empty FastAPI endpoint.

    python benchmarks/serve.py [seconds for each measurement, 1]

Eight clients in this process ask a service at 127.0.0.1 over connections that they keep; then as
many lines go through /events as one body. All ends by itself. The ratio to the empty endpoint is
taken in rounds in which both have their turn, and printed with its range: on a machine that does
other things it says little. A client in Python is slow, too, which brings the ratio nearer to 1.
"""

import http.client
import json
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

MIXABLE = str(Path(sysconfig.get_path("scripts")) / "mixable")
D, K, CLIENTS, LINES, ROUNDS = 18, 4, 8, 5000, 7
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
    """Records with their labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)).round(4)
    y = (X @ rng.normal(size=(D, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    return [
        {"features": {f"x{i}": v for i, v in enumerate(row)}, "label": f"c{label}"}
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(300):
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the service does not start")


def ask(port: int, paths: tuple[str, ...], bodies: list[list[bytes]], seconds: float) -> dict:
    """Let all clients ask one path after the other; the latencies of each path."""
    times: dict[str, list[float]] = {path: [] for path in paths}
    end = time.perf_counter() + seconds

    def work(first: int) -> None:
        connection, t = http.client.HTTPConnection("127.0.0.1", port), first
        while time.perf_counter() < end:
            for path, kind in zip(paths, bodies, strict=True):
                begin = time.perf_counter()
                connection.request("POST", path, kind[t % len(kind)])
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200, answer.status
                times[path].append(time.perf_counter() - begin)
            t += CLIENTS
        connection.close()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def report(name: str, times: list[float], rate: float) -> None:
    p50, p90, p99 = (1e3 * np.quantile(times, q) for q in (0.5, 0.9, 0.99))
    print(f"{name:34} {rate:8,.0f}/s   p50 {p50:6.2f}  p90 {p90:6.2f}  p99 {p99:6.2f} ms")


def main(seconds: float = 1.0) -> None:
    """Print the table."""
    records = events(LINES)
    asked = [json.dumps({"features": each["features"]}).encode() for each in records]
    taught = [json.dumps(each).encode() for each in records]
    with tempfile.TemporaryDirectory() as folder:
        ports = free_port(), free_port()
        processes = [
            subprocess.Popen([sys.executable, "-c", EMPTY, str(ports[0])]),
            subprocess.Popen(
                [MIXABLE, "serve", f"{folder}/models", "--port", str(ports[1])],
                stderr=subprocess.DEVNULL,
            ),
        ]
        try:
            for port in ports:
                wait_for(port)
            print(f"{CLIENTS} clients, d = {D}, K = {K}")
            empty = ask(ports[0], ("/predict",), [asked], seconds)["/predict"]
            report("an empty FastAPI endpoint", empty, len(empty) / seconds)
            for path, bodies in (("/predict", asked), ("/learn", taught)):
                times = ask(ports[1], (path,), [bodies], seconds)[path]
                report(path, times, len(times) / seconds)
            ratios = []
            for _ in range(ROUNDS):
                plain = len(ask(ports[0], ("/predict",), [asked], seconds)["/predict"])
                both = ask(ports[1], ("/predict", "/learn"), [asked, taught], seconds)
                ratios.append(sum(map(len, both.values())) / plain)
            spread = f"{min(ratios):.2f} to {max(ratios):.2f} in {ROUNDS} rounds"
            print(f"predict + learn / empty endpoint: {np.median(ratios):.2f} ({spread})")
            body, begin = b"\n".join(taught), time.perf_counter()
            connection = http.client.HTTPConnection("127.0.0.1", ports[1])
            connection.request("POST", "/events", body)
            lines = connection.getresponse().read().count(b"\n")
            print(f"/events: {lines / (time.perf_counter() - begin):,.0f} lines/s")
            connection.close()
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
