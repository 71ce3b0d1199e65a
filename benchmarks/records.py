"""Records from a shell: `mixable stream` beside Vowpal Wabbit and river, rare classes, memory, CSR.

    python benchmarks/records.py shop bank.csv.gz:subscribed ...   # make_shop and files
    python benchmarks/records.py river                        # river's softmax on make_shop
    python benchmarks/records.py rare [events]                # is a class of 1.6% forecast at 1.6%?
    python benchmarks/records.py memory [events categories]   # 10,000,000 and 1,000,000
    python benchmarks/records.py csr                          # 20,000 x 1,000,000, SGDClassifier

Needs Vowpal Wabbit (`pip install ".[bench]"`); `river` needs river. `mixable stream` is run with no
option but model, target and file. Vowpal Wabbit gets the same columns as namespaces in its own
format, numbers as numbers and as words, and is run at its defaults, with --ftrl, with --coin and at
four rates: the best of these 14 in hindsight counts. It is told how many classes there are,
`mixable stream` is not: "met" is the loss over the events whose class had come before. A forecast
counts as at least 1e-6, of both. Rates are events per second of processor time, without the start
of Python; the share is our rate over that of Vowpal Wabbit, in rounds in which both have their
turn. All print Markdown.
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
from typing import Any, NamedTuple

import numpy as np

import mixable as mx
from mixable import datasets

MIXABLE = [sys.executable, "-m", "mixable", "stream"]
FREQUENCIES = (0.1, 0.5, 2.5, 12.5)
VW = {
    "defaults": "",
    "ftrl": "--ftrl",
    "coin": "--coin",
    **{f"rate {rate:g}": f"-l {rate}" for rate in FREQUENCIES},
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


class Compared(NamedTuple):
    """Both on one stream; losses are of all events, and of those whose class had come before."""

    name: str
    events: int
    classes: int
    rejected: int
    setting: str
    ours: tuple[float, float]
    theirs: tuple[float, float]
    rate: float
    shares: list[float]


def compare(name: str, path: Path, target: str, rounds: int = 5) -> Compared:
    """Run all on one file."""
    data = events(path, target)
    labels: dict[str, int] = {}
    y = np.array([labels.setdefault(label, len(labels)) for _, label in data])
    K, found, files = len(labels), {}, {}
    with tempfile.TemporaryDirectory() as work:
        for form in ("numbers", "words"):
            files[form] = Path(work, form)
            write_namespaces(files[form], data, y, K, as_words=form == "words")
            for setting, options in VW.items():
                found[form, setting] = vowpal_wabbit(files[form], y, K, options)[0]
        form, setting = best = min(found, key=lambda each: found[each][0])
        rates, shares = [], []
        for _ in range(rounds):
            ours = stream(path, target, y, labels)
            rates.append(ours["rate"])
            shares.append(rates[-1] / vowpal_wabbit(files[form], y, K, VW[setting])[1])
    own, rejected = (ours["loss"], ours["known"]), int(ours["rejected"])
    speed, words = float(np.median(rates)), f"{setting}, {form}"
    return Compared(name, len(y), K, rejected, words, own, found[best], speed, shares)


def show(rows: list[Compared]) -> None:
    """Print what the streams are, losses, and rates."""
    print("| stream | events | classes | rejected | best setting of VW |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row.name} | {row.events:,} | {row.classes} | {row.rejected} | {row.setting} |")
    print("\n| stream | mixable | VW | mixable, met | VW, met |\n|---|---|---|---|---|")
    for row in rows:
        cells = []
        for pair in zip(row.ours, row.theirs, strict=True):
            cells += [f"**{each:.4f}**" if each == min(pair) else f"{each:.4f}" for each in pair]
        print(f"| {row.name} | {' | '.join(cells)} |")
    print("\n| stream | events a second | share | least | most |\n|---|---|---|---|---|")
    for row in rows:
        shares = (np.median(row.shares), min(row.shares), max(row.shares))
        cells = [f"{round(row.rate, -3):,.0f}", *(f"{share:.2f}" for share in shares)]
        print(f"| {row.name} | {' | '.join(cells)} |")


def shop(n: int = 50_000) -> Compared:
    """The same on make_shop, labels in time."""
    records, labels, _ = datasets.make_shop(n)
    with tempfile.TemporaryDirectory() as work:
        path = Path(work, "shop.jsonl")
        with path.open("w") as file:
            for record, label in zip(records, labels, strict=True):
                file.write(json.dumps({**record, "outcome": label}) + "\n")
        return compare("shop", path, "outcome")


def river(n: int = 20_000) -> None:
    """Print the loss on make_shop beside that of river's softmax regression at its best rate."""
    records, labels, _ = datasets.make_shop(n)
    data = list(zip(records, labels, strict=True))
    results = {rate: softmax_of_river(data, rate) for rate in (0.003, 0.01, 0.03, 0.1, 0.3)}
    best = min(results, key=lambda rate: results[rate])
    model = mx.GAFClassifier()
    P, names = model.prequential(_frame(records), labels), model.classes_.tolist()
    p = [float(row[names.index(label)]) for row, label in zip(P, labels, strict=True)]
    print("| model | log loss |\n|---|---|")
    print(f"| `GAFClassifier()` | {losses(np.array(p), labels)[0]:.4f} |")
    print(f"| river's softmax regression, rate {best:g} | {results[best]:.4f} |")


def _frame(records: list[dict[str, Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(records)


def rare(n: int = 60_000) -> None:
    """Print the mean forecast of the rare class, and the range over all windows."""
    found = []
    for seed in range(3):
        records, labels, _ = datasets.make_shop(n, seed)
        came = np.array(labels) == "buy"
        found.append(("shop", seed, *_rare(_frame(records), came, labels)))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 8))
        score = X @ rng.normal(size=8)
        shift = np.quantile(score + rng.logistic(size=n), 1 - 0.016)
        y = rng.random(n) < 1 / (1 + np.exp(shift - score))
        found.append(("numbers", seed, *_rare(X, y, y)))
    print("| stream | seed | share of outcomes | mean forecast |\n|---|---|---|---|")
    for name, seed, p, came, *_ in found:
        print(f"| {name} | {seed} | {came.mean():.4f} | {p.mean():.4f} |")
    forecast, outcomes = (sum(each[i].sum() for each in found if each[0] == "shop") for i in (2, 3))
    print("\n| all shops: forecasts over outcomes | standard error |\n|---|---|")
    print(f"| {forecast / outcomes:.3f} | {outcomes**-0.5:.3f} |")
    print("\n| stream | seed | least | largest | rate so far, least | rate so far, largest |")
    print("|---|---|---|---|---|---|")
    for name, seed, _, _, *ratios in found:
        cells = [f"{end:.2f}" for ratio in ratios for end in (ratio.min(), ratio.max())]
        print(f"| {name} | {seed} | {' | '.join(cells)} |")


def _rare(X: Any, came: Any, labels: Any, window: int = 10_000) -> Any:
    """Forecasts and outcomes after the first window; over all windows, the forecasts over outcomes,
    and the class's rate so far over outcomes.
    """
    model = mx.GAFClassifier()
    P = model.prequential(X, labels)
    p = P[:, model.classes_.tolist().index("buy" if "buy" in model.classes_ else True)]

    def sums(values: Any) -> Any:
        total = np.concatenate([[0.0], np.cumsum(values)])
        return total[2 * window :] - total[window:-window]

    running = (np.cumsum(came) - came + 0.5) / (np.arange(len(came)) + 1.5)
    outcomes, after = sums(came), slice(window, None)
    return p[after], came[after], sums(p) / outcomes, sums(running) / outcomes


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
        sent = -1
        print("| events | MiB | at most |\n|---|---|---|")
        for block in lines_of_categories(n, categories):
            process.stdin.write(block)
            sent += block.count(b"\n")
            if sent % max(n // 10, 10_000) == 0 and sent:
                process.stdin.flush()
                now, most = (_mebibytes(process.pid, what) for what in ("VmRSS", "VmHWM"))
                print(f"| {sent:,} | {now:.0f} | {most:.0f} |", flush=True)
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
    models: dict[str, Any] = {"`GAFClassifier()`": mx.GAFClassifier}
    for rate in (None, *SGD_RATES):
        schedule = {} if rate is None else {"learning_rate": "constant", "eta0": rate}
        name = f"`SGDClassifier`, {f'rate {rate:g}' if rate else 'defaults'}"
        models[name] = lambda schedule=schedule: SGDClassifier(loss="log_loss", **schedule)
    print("| model | log loss | seconds |\n|---|---|---|")
    for name, make in models.items():
        model, p, seconds = make(), [], 0.0
        for part, labels in chunks(X, y):
            uniform = np.full((len(labels), len(classes)), 1 / len(classes))
            p.append(model.predict_proba(part) if p else uniform)
            begin = time.process_time()
            model.partial_fit(part, labels, classes=classes)
            seconds += time.process_time() - begin
        print(f"| {name} | {loss(np.concatenate(p), y):.3f} | {seconds:.1f} |", flush=True)


def main() -> None:
    """Run what the command line names."""
    first, *rest = arguments = sys.argv[1:] or ["shop"]
    if first == "river":
        river()
    elif first == "rare":
        rare(*map(int, rest))
    elif first == "memory":
        memory(*(map(int, rest) if len(rest) == 2 else (10_000_000, 1_000_000)))
    elif first == "csr":
        csr()
    else:
        rows = []
        for argument in arguments:
            path, _, target = argument.rpartition(":")
            name = Path(path).name.partition(".")[0]
            rows.append(shop() if argument == "shop" else compare(name, Path(path), target))
        show(rows)


if __name__ == "__main__":
    main()
