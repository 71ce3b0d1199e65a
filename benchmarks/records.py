"""Records from a shell: `mixable stream` beside Vowpal Wabbit and river, rare classes, memory, CSR.

    python benchmarks/records.py bank.csv.gz:subscribed ...   # files; without any, make_shop
    python benchmarks/records.py rate bank.csv.gz:subscribed "numbers, coin"   # rates, five times
    python benchmarks/records.py rare [events]                # is a class of 1.6% forecast at 1.6%?
    python benchmarks/records.py memory [events categories]   # 10,000,000 and 1,000,000
    python benchmarks/records.py csr                          # 20,000 x 1,000,000, SGDClassifier

Needs Vowpal Wabbit (`pip install ".[bench]"`), make_shop also river. `mixable stream` is run once
with no option but model, target and file. Vowpal Wabbit gets the same columns as namespaces in its
own format, numbers as numbers and as words, and is run at its defaults, with --ftrl, with --coin
and at four rates: the best of these 14 in hindsight counts. It is told how many classes there are,
`mixable stream` is not: the last column is the loss over the events whose class had come before. A
forecast counts as at least 1e-6, of both. Rates are events per second of processor time, without
the start of Python.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import csv
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mixable as mx
from mixable import datasets

MIXABLE = [sys.executable, "-m", "mixable", "stream"]
RATES = (0.1, 0.5, 2.5, 12.5)
VW = {
    "defaults": "",
    "ftrl": "--ftrl",
    "coin": "--coin",
    **{f"rate {rate:g}": f"-l {rate}" for rate in RATES},
}
LEAST = 1e-6  # what a forecast counts as, if it is less
Event = tuple[dict[str, Any], str]


def events(path: Path, target: str) -> list[Event]:
    """All events of a file: records and labels."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        lines: Iterable[dict[str, Any]] = csv.DictReader(file)
        if ".jsonl" in path.suffixes:
            lines = map(json.loads, file)
        return [(record, record.pop(target)) for record in lines]


def losses(p: Any, y: Any) -> tuple[float, float]:
    """Log loss over all events, and over those whose class had come before."""
    nats = -np.log(np.maximum(p, LEAST))
    new = np.zeros(len(y), bool)
    new[np.unique(y, return_index=True)[1]] = True
    return float(nats.mean()), float(nats[~new].mean())


def stream(path: Path, target: str, y: Any, labels: dict[str, int]) -> dict[str, float]:
    """What the command says and writes."""
    with tempfile.TemporaryDirectory() as work:
        options = {"model": "model", "out": "out.csv", "metrics": "metrics"}
        paths = [each for name, file in options.items() for each in (f"--{name}", f"{work}/{file}")]
        seconds = -cpu_of([*MIXABLE, "--help"])  # the start of Python
        seconds += cpu_of([*MIXABLE, *paths, "--target", target, str(path)])
        last = json.loads(Path(work, "metrics").read_text().splitlines()[-1])
        said, place = [], {}
        with Path(work, "out.csv").open() as file:
            for line in csv.reader(file):
                if line[0] == "line":
                    place = {labels[name]: at for at, name in enumerate(line) if name in labels}
                else:
                    at = place.get(int(y[len(said)]))
                    said.append(0.0 if at is None else float(line[at]))
    loss, known = losses(np.array(said), y)
    return {**last, "loss": loss, "known": known, "rate": len(y) / seconds}


def cpu_of(command: list[str]) -> float:
    """Seconds that a command keeps processors busy: the same on a busy machine, more or less."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    quiet = subprocess.DEVNULL
    subprocess.run(command, check=True, stdout=quiet, stderr=quiet)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def namespaces(record: dict[str, Any], *, as_words: bool) -> str:
    """A record in Vowpal Wabbit's format: each column a namespace."""
    out = []
    for name, value in record.items():
        if value in ("", None, []):
            continue
        values = value if isinstance(value, list) else [value]
        parts = [part for each in values for part in _words(each, as_words=as_words)]
        out.append(f"|{name.replace(':', '_')} {' '.join(parts)}")
    return " ".join(out)


def _words(value: Any, *, as_words: bool) -> list[str]:
    try:
        number = float(value)
    except ValueError:
        text = str(value).lower().replace(":", "_").replace("|", "_")
        return text.split()
    return [f"v{number:g}"] if as_words else [f"v:{number:g}"]


def vowpal_wabbit(path: Path, y: Any, K: int, options: str) -> tuple[tuple[float, float], float]:
    """Losses of Vowpal Wabbit's forecasts before learning, and its events per second."""
    from vowpalwabbit import Workspace

    kind = "--link logistic" if K == 2 else f"--oaa {K} --probabilities"
    out, begin = path.with_suffix(".out"), time.process_time()
    common = f"-d {path} -p {out} -b 22 --loss_function logistic --no_stdin --quiet"
    workspace = Workspace(f"{common} {kind} {options}")
    workspace.run_parser()
    workspace.finish()
    rate = len(y) / (time.process_time() - begin)
    lines = out.read_text().split("\n")[: len(y)]
    if K == 2:
        second = np.array([float(line.split()[0]) for line in lines])
        return losses(np.where(y == 1, second, 1 - second), y), rate
    own = [float(line.split()[c].split(":")[1]) for line, c in zip(lines, y, strict=True)]
    return losses(np.array(own), y), rate


def softmax_of_river(data: list[Event], rate: float) -> float:
    """The loss of river's softmax regression on words, values and scaled numbers."""
    from river import linear_model, optim, preprocessing

    scale = preprocessing.StandardScaler()
    model, nats = linear_model.SoftmaxRegression(optim.SGD(rate)), []
    for record, label in data:
        numbers = {name: v for name, v in record.items() if isinstance(v, float)}
        scale.learn_one(numbers)
        x = {
            f"{name}={part}": 1.0
            for name, value in record.items()
            if isinstance(value, str | list)
            for part in (value.split() if isinstance(value, str) else value)
        }
        x |= scale.transform_one(numbers)
        nats.append(-np.log(max(model.predict_proba_one(x).get(label, 0.0), LEAST)))
        model.learn_one(x, label)
    return float(np.mean(nats))


def write_namespaces(file: Path, data: list[Event], y: Any, K: int, *, as_words: bool) -> None:
    """Write events in Vowpal Wabbit's format."""
    with file.open("w") as out:
        for (record, _), c in zip(data, y.tolist(), strict=True):
            label = 2 * c - 1 if K == 2 else c + 1
            out.write(f"{label} {namespaces(record, as_words=as_words)}\n")


def rate(path: Path, target: str, setting: str, repeats: int = 5) -> None:
    """Print the rates of both, one after the other, several times: machines are busy."""
    data = events(path, target)
    labels: dict[str, int] = {}
    y = np.array([labels.setdefault(label, len(labels)) for _, label in data])
    form, _, name = setting.partition(", ")
    shares = []
    with tempfile.TemporaryDirectory() as work:
        file = Path(work, form)
        write_namespaces(file, data, y, len(labels), as_words=form == "words")
        for _ in range(repeats):
            ours = stream(path, target, y, labels)["rate"]
            theirs = vowpal_wabbit(file, y, len(labels), VW[name])[1]
            shares.append(ours / theirs)
            print(f"{path.name}: {ours:8,.0f} and {theirs:8,.0f} events/s: {shares[-1]:.2f}")
    print(f"{path.name}: median {np.median(shares):.2f}")


def compare(path: Path, target: str) -> None:
    """Run all on one file."""
    data = events(path, target)
    labels: dict[str, int] = {}
    y = np.array([labels.setdefault(label, len(labels)) for _, label in data])
    K, n = len(labels), len(y)
    ours = stream(path, target, y, labels)
    print(f"{path.name}: {n:,} events, {K} classes\n{'':24} log loss  events/s  classes met before")
    print(
        f"{'mixable stream':24} {ours['loss']:8.4f}  {ours['rate']:8,.0f}  {ours['known']:8.4f}; "
        f"rejected {ours['rejected']}, the summary says {ours['log_loss']:.4f}"
    )
    results = {}
    with tempfile.TemporaryDirectory() as work:
        for as_words in (False, True):
            form = "words" if as_words else "numbers"
            file = Path(work, form)
            write_namespaces(file, data, y, K, as_words=as_words)
            for name, options in VW.items():
                results[f"{form}, {name}"] = vowpal_wabbit(file, y, K, options)
    best = min(results, key=lambda name: results[name][0][0])
    for name in dict.fromkeys(("numbers, defaults", "words, defaults", best)):
        (loss, known), rate = results[name]
        print(f"{'VW ' + name:24} {loss:8.4f}  {rate:8,.0f}  {known:8.4f}")
    (loss, known), rate = results[best]
    print(
        f"mixable / best VW: loss {ours['loss'] / loss:.3f}, of classes met before "
        f"{ours['known'] / known:.3f}, rate {ours['rate'] / rate:.2f}"
    )


def shop(n: int = 50_000) -> None:
    """The same on make_shop, labels in time, with river."""
    records, labels, _ = datasets.make_shop(n)
    with tempfile.TemporaryDirectory() as work:
        path = Path(work, "shop.jsonl")
        with path.open("w") as file:
            for record, label in zip(records, labels, strict=True):
                file.write(json.dumps({**record, "outcome": label}) + "\n")
        compare(path, "outcome")
    few = list(zip(records[:20_000], labels[:20_000], strict=True))
    results = {rate: softmax_of_river(few, rate) for rate in (0.003, 0.01, 0.03, 0.1, 0.3)}
    best = min(results, key=lambda rate: results[rate])
    p, model = [], mx.GAFClassifier()
    P = model.prequential(_frame([record for record, _ in few]), labels[:20_000])
    names = model.classes_.tolist()
    p = [float(row[names.index(label)]) for row, label in zip(P, labels, strict=False)]
    print(
        f"first 20,000: mixable {losses(np.array(p), labels[:20_000])[0]:.4f}, river's softmax at "
        f"its best rate ({best:g}) {results[best]:.4f}"
    )


def _frame(records: list[dict[str, Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(records)


def rare(n: int = 60_000) -> None:
    """Print the mean forecast of the rare class over all windows after the first."""
    sums = np.zeros(2)
    for seed in range(3):
        records, labels, _ = datasets.make_shop(n, seed)
        came = np.array(labels) == "buy"
        sums += _say_rare(f"make_shop({n:,}, {seed})", _frame(records), came, labels)
    ratio, error = sums[0] / sums[1], sums[1] ** -0.5
    print(f"forecast / outcomes of all three: {ratio:.3f}, give or take {error:.3f}")
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 8))
        score = X @ rng.normal(size=8)
        shift = np.quantile(score + rng.logistic(size=n), 1 - 0.016)
        y = rng.random(n) < 1 / (1 + np.exp(shift - score))
        _say_rare(f"8 numbers, seed {seed}", X, y, y)


def _say_rare(name: str, X: Any, came: Any, labels: Any, window: int = 10_000) -> Any:
    """Print one stream; return the sums of forecasts and outcomes after the first window."""
    model = mx.GAFClassifier()
    P = model.prequential(X, labels)
    p = P[:, model.classes_.tolist().index("buy" if "buy" in model.classes_ else True)]

    def sums(values: Any) -> Any:
        total = np.concatenate([[0.0], np.cumsum(values)])
        return total[2 * window :] - total[window:-window]

    forecast, outcomes, noise = sums(p), sums(came), np.sqrt(sums(p * (1 - p)))
    running = sums((np.cumsum(came) - came + 0.5) / (np.arange(len(came)) + 1.5))
    rate, after = window * came.mean(), slice(window, None)
    ratio, error = forecast / outcomes, (forecast - outcomes) / noise
    print(
        f"{name}: came {came[after].mean():.4f}, forecast {p[after].mean():.4f}; over all windows "
        f"of {window:,}: forecast / outcomes {ratio.min():.2f} to {ratio.max():.2f}, that is "
        f"{error.min():.1f} to {error.max():.1f} deviations of chance; outcomes / their mean "
        f"{(outcomes / rate).min():.2f} to {(outcomes / rate).max():.2f}; the rate so far "
        f"/ outcomes {(running / outcomes).min():.2f} to {(running / outcomes).max():.2f}"
    )
    return np.array([p[after].sum(), came[after].sum()])


def lines_of_categories(n: int, categories: int) -> Iterator[bytes]:
    """Events with so many categories, all of which come among the first ones."""
    rng = np.random.default_rng(0)
    effect, order = rng.normal(size=categories), rng.permutation(categories)
    yield b"user,device,price,clicked\n"
    for begin in range(0, n, 10_000):
        t = np.arange(begin, min(begin + 10_000, n))
        user = np.where(t < categories, order[t % categories], rng.integers(0, categories, len(t)))
        clicked = rng.random(len(t)) < 1 / (1 + np.exp(-effect[user]))
        device, price = rng.choice(["app", "web"], len(t)), rng.exponential(20, len(t)).round(2)
        cells = zip(user, device, price, clicked, strict=True)
        yield "".join(f"u{u},{d},{p},{int(c)}\n" for u, d, p, c in cells).encode()


def memory(n: int, categories: int) -> None:
    """Print the memory of the command, and the most it had, while events go through a pipe."""
    with tempfile.TemporaryDirectory() as work:
        options = ["--model", f"{work}/model", "--target", "clicked", "--category", "user"]
        command = [*MIXABLE, *options, "--out", f"{work}/out.csv"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdin is not None
        sent, begin = -1, time.perf_counter()
        for block in lines_of_categories(n, categories):
            process.stdin.write(block)
            sent += block.count(b"\n")
            if sent % max(n // 10, 10_000) == 0:
                process.stdin.flush()
                now, most = (_mebibytes(process.pid, what) for what in ("VmRSS", "VmHWM"))
                rate = sent / (time.perf_counter() - begin)
                print(
                    f"{sent:10,} events: {now:6.1f} MiB, at most {most:6.1f}; {rate:,.0f}/s",
                    flush=True,
                )
        process.stdin.close()
        process.wait()


def _mebibytes(process: int, what: str) -> float:
    """A line of the status of a process."""
    status = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith(what)).split()[1]) / 1024


def csr() -> None:
    """Print time and loss of partial_fit on rows of a million columns, beside SGDClassifier."""
    from sklearn.linear_model import SGDClassifier
    from sparse import SGD_RATES, chunks, loss, text

    X, y = text()
    classes = np.arange(int(y.max()) + 1)
    results = {}
    models = {"mixable": lambda: mx.GAFClassifier()}
    for rate in (None, *SGD_RATES):
        schedule = {} if rate is None else {"learning_rate": "constant", "eta0": rate}
        models[f"SGD {rate or 'defaults'}"] = lambda schedule=schedule: SGDClassifier(
            loss="log_loss", **schedule
        )
    for name, make in models.items():
        model, p, seconds = make(), [], 0.0
        for part, labels in chunks(X, y):
            uniform = np.full((len(labels), len(classes)), 1 / len(classes))
            p.append(model.predict_proba(part) if p else uniform)
            begin = time.perf_counter()
            model.partial_fit(part, labels, classes=classes)
            seconds += time.perf_counter() - begin
        results[name] = loss(np.concatenate(p), y), seconds
        print(f"{name:14} {results[name][0]:.4f}  {results[name][1]:6.2f} s")
    ours = results.pop("mixable")
    best = min(results, key=lambda name: results[name][0])
    print(
        f"mixable / {best}: loss {ours[0] / results[best][0]:.3f}, "
        f"time {ours[1] / results[best][1]:.2f}"
    )


def main() -> None:
    """Run what the command line names."""
    first, *rest = sys.argv[1:] or ["shop"]
    if first == "shop":
        shop()
    elif first == "rare":
        rare(*map(int, rest))
    elif first == "rate":
        path, _, target = rest[0].rpartition(":")
        rate(Path(path), target, rest[1])
    elif first == "memory":
        memory(*(map(int, rest) if len(rest) == 2 else (10_000_000, 1_000_000)))
    elif first == "csr":
        csr()
    else:
        for argument in (first, *rest):
            path, _, target = argument.rpartition(":")
            compare(Path(path), target)


if __name__ == "__main__":
    main()
