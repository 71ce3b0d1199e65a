"""mixable beside the tools people use: the same streams in the same order through river,
scikit-learn and Vowpal Wabbit.

    pip install ".[bench]" && python benchmarks/peers.py

Every contestant forecasts each example before it learns it, one at a time, through Python. Peers
run at their defaults and at the best setting of a grid, chosen for them in hindsight on each stream
by the very log loss that is reported; mixable runs at its defaults only. What is the same for all:
the rows, standardised over the whole stream; a constant for those without an intercept; the score.
Log loss is that of (1 - 0.001) p + 0.001 / K, so that a forecast of 0, of NaN, or for a class not
met before costs ln(K / 0.001) nats. Grids are searched in two processes; afterwards defaults and
winners run one at a time on one thread, and their times are taken (those of winners that need more
than a millisecond per example are left at what they took in the search), without the first 100
examples and without the making of inputs (dictionaries for river, rows for scikit-learn, lines of
text for Vowpal Wabbit, whose parsing counts).

Prints a table, and writes `peers.parquet`, `peers.md` and `peers.png` to the folder `--out`.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import platform
import time
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import polars as pl
from joblib import Parallel, delayed
from numpy.typing import NDArray
from river import ensemble, forest, linear_model, multiclass, naive_bayes, neighbors, optim, tree
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

import mixable as mx

matplotlib.use("Agg")
import matplotlib.pyplot as plt

MIXED_IN = 1e-3
WARM_UP = 100
SLOW = 1000.0  # microseconds per example above which winners are not run again
Setting = dict[str, Any]


class Stream(NamedTuple):
    """Rows (n, d), standardised, and labels 0..K-1, in the order in which all see them."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int_]
    K: int


class Peer(NamedTuple):
    """A contestant: `begin(stream, setting)` returns its inputs, and what forecasts and learns one
    of them.
    """

    name: str
    package: str
    begin: Callable[[Stream, Setting], tuple[list[Any], Callable[[Any], Any]]]
    grid: list[Setting]


def streams(rows: int | None) -> list[Stream]:
    """The six streams, each cut after `rows`."""

    def shuffled(
        name: str, X: NDArray[np.float64], y: NDArray[np.int_], n: int | None = None
    ) -> Stream:
        order = np.random.default_rng(0).permutation(len(y))[:n]
        return in_order(name, X[order], y[order])

    def in_order(name: str, X: NDArray[np.float64], y: NDArray[np.int_]) -> Stream:
        return Stream(name, StandardScaler().fit_transform(X)[:rows], y[:rows], int(y.max()) + 1)

    vehicle, shuttle, segment, digits = (
        mx.datasets.load_vehicle(),
        mx.datasets.load_shuttle(),
        mx.datasets.load_segment(),
        load_digits(),
    )
    return [
        shuffled("vehicle", vehicle.X, vehicle.y),
        shuffled("shuttle", shuttle.X, shuttle.y, 10_000),
        shuffled("segment", segment.X, segment.y),
        shuffled("digits", digits.data, digits.target),
        in_order("slow drift", *mx.datasets.make_drift(5000, kind="slow")),
        in_order("jumps", *mx.datasets.make_drift(5000, kind="jump")),
    ]


def with_river(
    make: Callable[[Setting], Any], constant: bool = False
) -> Callable[[Stream, Setting], Any]:
    """A model of river, or one that has its interface; `constant` adds the feature that stands in
    for an intercept.
    """

    def begin(stream: Stream, setting: Setting) -> tuple[list[Any], Callable[[Any], Any]]:
        model = make(setting)

        def step(event: tuple[dict[str, float], int]) -> Any:
            p = model.predict_proba_one(event[0])
            model.learn_one(*event)
            return p

        extra = {"constant": 1.0} if constant else {}
        features = [f"x{i}" for i in range(stream.X.shape[1])]
        rows = [dict(zip(features, row, strict=True)) | extra for row in stream.X.tolist()]
        return list(zip(rows, stream.y.tolist(), strict=True)), step

    return begin


def with_scikit_learn(make: Callable[[Setting], Any]) -> Callable[[Stream, Setting], Any]:
    """A model of scikit-learn with `partial_fit`, given the classes with the first row, before
    which it can only say 1/K.
    """

    def begin(stream: Stream, setting: Setting) -> tuple[list[Any], Callable[[Any], Any]]:
        model, classes = make(setting), np.arange(stream.K)

        def step(event: tuple[NDArray[np.float64], NDArray[np.int_]]) -> Any:
            p = np.full(stream.K, 1 / stream.K)
            if hasattr(model, "classes_"):
                p = model.predict_proba(event[0])[0]
            model.partial_fit(*event, classes=classes)
            return p

        return [(stream.X[t : t + 1], stream.y[t : t + 1]) for t in range(len(stream.y))], step

    return begin


def refitted(make: Callable[[Setting], Any]) -> Callable[[Stream, Setting], Any]:
    """A batch model, fitted anew to all rows so far after 100, 200, 400, ... of them. Before the
    first time it says the rates of the classes. Tables are forecast at once: an example costs less
    than it would one by one.
    """

    def begin(stream: Stream, setting: Setting) -> tuple[list[Any], Callable[[Any], Any]]:
        n, K = stream.X.shape[0], stream.K
        ends = [100 * 2**i for i in range(20) if 100 * 2**i < n] + [n]
        ready: list[Any] = []

        def step(t: int) -> Any:
            if t < ends[0]:
                counts = np.bincount(stream.y[:t], minlength=K) + 1.0
                return counts / counts.sum()
            if t in ends:
                model = make(setting).fit(stream.X[:t], stream.y[:t])
                rows = stream.X[t : ends[ends.index(t) + 1]]
                p = np.zeros((len(rows), K))
                p[:, model.classes_] = model.predict_proba(rows)
                ready[:] = list(p)
            return ready.pop(0)

        return list(range(n)), step

    return begin


def with_vw(reduction: str) -> Callable[[Stream, Setting], Any]:
    """Vowpal Wabbit, given K. The forecast that learning makes on its way is the
    one before the update.
    """

    def begin(stream: Stream, setting: Setting) -> tuple[list[Any], Callable[[Any], Any]]:
        from vowpalwabbit import LabelType, PredictionType, Workspace

        options = " ".join(f"--{name} {value}" for name, value in setting.items())
        vw = Workspace(
            f"--oaa {stream.K} --probabilities --loss_function logistic --quiet {reduction} "
            f"{options}"
        )

        def step(line: str) -> Any:
            example = vw.parse(line, LabelType.MULTICLASS)
            vw.learn(example)
            p = example.get_prediction(PredictionType.SCALARS)
            vw.finish_example(example)
            return p

        rows = zip(stream.X.tolist(), stream.y.tolist(), strict=True)
        return [
            f"{label + 1} | " + " ".join(f"x{i}:{value!r}" for i, value in enumerate(row))
            for row, label in rows
        ], step

    return begin


def light_gbm(setting: Setting) -> Any:
    """LightGBM's classifier on one thread."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0, **setting)


def optimiser(setting: Setting) -> Any:
    """The optimiser of river that a setting names, with its rate; river's own choice if it names
    none.
    """
    return getattr(optim, setting["optimiser"])(setting["rate"]) if setting else None


RATES = [
    {"optimiser": name, "rate": rate}
    for name, rates in (
        ("SGD", (0.003, 0.03, 0.1, 0.3)),
        ("AdaGrad", (0.1, 0.3, 1, 3)),
        ("Adam", (0.003, 0.01, 0.03)),
    )
    for rate in rates
]
MIXABLE = [
    Peer("mixable GAFClassifier()", "mixable", with_river(lambda _: mx.river.GAFClassifier()), []),
    Peer(
        "mixable GAFClassifier(standardize=False)",
        "mixable",
        with_river(lambda _: mx.river.GAFClassifier(standardize=False)),
        [],
    ),
    Peer(
        'mixable GAFClassifier(kernel="auto")',
        "mixable",
        with_river(lambda _: mx.river.GAFClassifier(kernel="auto")),
        [],
    ),
]
PEERS = [
    Peer(
        "river SoftmaxRegression",
        "river",
        with_river(lambda s: linear_model.SoftmaxRegression(optimiser(s)), constant=True),
        RATES,
    ),
    Peer(
        "river OneVsRest(LogisticRegression)",
        "river",
        with_river(
            lambda s: multiclass.OneVsRestClassifier(linear_model.LogisticRegression(optimiser(s)))
        ),
        RATES,
    ),
    Peer(
        "river AdaptiveRandomForest",
        "river",
        with_river(lambda s: forest.ARFClassifier(seed=0, **s)),
        [{"grace_period": 20}, {"grace_period": 10}],
    ),
    Peer(
        "river HoeffdingAdaptiveTree",
        "river",
        with_river(lambda s: tree.HoeffdingAdaptiveTreeClassifier(seed=0, **s)),
        [{"grace_period": 50}, {"grace_period": 50, "delta": 1e-3}, {"leaf_prediction": "mc"}],
    ),
    Peer(
        "river AMFClassifier",
        "river",
        with_river(lambda s: forest.AMFClassifier(seed=0, **s)),
        [{"n_estimators": 20}],
    ),
    Peer(
        "river SRPClassifier",
        "river",
        with_river(lambda s: ensemble.SRPClassifier(seed=0, **s)),
        [],
    ),
    Peer(
        "river KNNClassifier",
        "river",
        with_river(lambda s: neighbors.KNNClassifier(**s)),
        [{"n_neighbors": 10}, {"n_neighbors": 20}],
    ),
    Peer("river GaussianNB", "river", with_river(lambda _: naive_bayes.GaussianNB()), []),
    Peer(
        "scikit-learn SGDClassifier(log_loss)",
        "scikit-learn",
        with_scikit_learn(lambda s: SGDClassifier(loss="log_loss", random_state=0, **s)),
        [
            {"alpha": 1e-2},
            {"learning_rate": "constant", "eta0": 0.1},
            {"learning_rate": "constant", "eta0": 0.3},
        ],
    ),
    Peer(
        "Vowpal Wabbit --oaa",
        "vowpalwabbit",
        with_vw(""),
        [{"learning_rate": rate} for rate in (0.1, 2, 5, 10, 20, 50)],
    ),
    Peer(
        "scikit-learn MLPClassifier",
        "scikit-learn",
        with_scikit_learn(lambda s: MLPClassifier(random_state=0, **s)),
        [{"learning_rate_init": rate} for rate in (0.003, 0.01)],
    ),
    Peer(
        "refitted: random forest",
        "scikit-learn",
        refitted(lambda s: RandomForestClassifier(random_state=0, **s)),
        [{"min_samples_leaf": 3}],
    ),
    Peer(
        "refitted: LightGBM",
        "lightgbm",
        refitted(light_gbm),
        [{"learning_rate": 0.05, "n_estimators": 50}],
    ),
    Peer(
        "Vowpal Wabbit --oaa -q ::",
        "vowpalwabbit",
        with_vw("-q ::"),
        [{"learning_rate": rate} for rate in (0.1, 2, 5)],
    ),
    Peer(
        "Vowpal Wabbit --oaa --coin",
        "vowpalwabbit",
        with_vw("--coin"),
        [{"l2": value} for value in (1e-6, 1e-4, 1e-3)],
    ),
    Peer(
        "Vowpal Wabbit --oaa --ftrl",
        "vowpalwabbit",
        with_vw("--ftrl"),
        [
            {"ftrl_alpha": alpha, "ftrl_beta": beta}
            for alpha in (0.03, 0.3, 1, 3, 10)
            for beta in (0.1, 1)
        ],
    ),
]


def race(peer: Peer, stream: Stream, setting: Setting) -> dict[str, Any]:
    """One pass: scores, and microseconds per example."""
    events, step = peer.begin(stream, setting)
    warm = min(WARM_UP, len(events) // 2)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter(
            "ignore"
        )  # rates of a grid that are too large overflow; their loss says so
        raw = [step(event) for event in events[:warm]]
        start = time.perf_counter()
        raw += [step(event) for event in events[warm:]]
        seconds = time.perf_counter() - start
    return {
        "setting": in_words(setting),
        **scores(raw, stream),
        "microseconds": 1e6 * seconds / (len(events) - warm),
    }


def scores(raw: list[Any], stream: Stream) -> dict[str, float]:
    """Scores of forecasts as they came: dictionaries by label, or rows; what is no forecast counts
    as 0 for every class.
    """
    p = np.zeros((len(raw), stream.K))
    for row, forecast in zip(p, raw, strict=True):
        if isinstance(forecast, Mapping):
            row[list(forecast)] = list(forecast.values())
        else:
            row[:] = forecast
    total = p.sum(axis=1, keepdims=True)
    p = np.divide(p, total, out=np.zeros_like(p), where=np.isfinite(total) & (total > 0))
    loss = -np.log((1 - MIXED_IN) * p[np.arange(len(p)), stream.y] + MIXED_IN / stream.K)
    tables = mx.metrics.scores(p, stream.y)
    return {
        "log_loss": float(loss.mean()),
        "log_loss_second_half": float(loss[len(loss) // 2 :].mean()),
        "accuracy": tables.accuracy,
        "calibration_error": tables.calibration_error,
    }


def in_words(setting: Setting) -> str:
    """A setting as text."""
    return ", ".join(f"{name} {value}" for name, value in setting.items()) or "defaults"


def installed(peer: Peer) -> bool:
    """Whether a peer can run here; says so if not."""
    try:
        return bool(version(peer.package))
    except PackageNotFoundError:
        print(f"skipped: {peer.name} ({peer.package} is not installed)")
        return False


def measure(chosen: list[Stream]) -> pl.DataFrame:
    """All rows of the table."""
    peers = [peer for peer in MIXABLE + PEERS if installed(peer)]
    tasks = [
        (peer, stream, setting) for peer in peers for stream in chosen for setting in peer.grid
    ]
    tried = Parallel(n_jobs=2)(delayed(race)(*task) for task in tasks)
    print(f"{len(tasks)} runs over the grids; now defaults and winners, one at a time", flush=True)
    rows = []
    for stream in chosen:
        n, d = stream.X.shape
        for peer in peers:
            about = {
                "stream": stream.name,
                "n": n,
                "d": d,
                "K": stream.K,
                "contestant": peer.name,
                "version": version(peer.package),
            }
            at_defaults = race(peer, stream, {})
            rows.append(about | {"chosen": "defaults"} | at_defaults)
            if peer.grid:
                own = [
                    (task[2], result)
                    for task, result in zip(tasks, tried, strict=True)
                    if task[0] is peer and task[1] is stream
                ]
                setting, best = min(own, key=lambda pair: pair[1]["log_loss"])
                if best["log_loss"] >= at_defaults["log_loss"]:
                    best = at_defaults
                elif best["microseconds"] < SLOW:
                    best = race(peer, stream, setting)
                rows.append(about | {"chosen": "best in hindsight"} | best)
    return pl.DataFrame(rows)


def summary(table: pl.DataFrame) -> str:
    """For each stream mixable's log loss at its defaults; loss and time of its kernel and of the
    best peers as multiples of its own.
    """
    ours = [peer.name for peer in MIXABLE]
    lines = [
        f"| | {ours[0]} | {ours[2]}, and time | best peer at its defaults: loss, time | best peer "
        "in hindsight: loss, time |",
        "|---|---|---|---|---|",
    ]
    for (stream,), part in table.group_by("stream", maintain_order=True):
        first, _, kernel = (
            part.row(by_predicate=pl.col("contestant") == name, named=True) for name in ours
        )
        theirs = part.filter(~pl.col("contestant").is_in(ours)).sort("log_loss")
        cells = []
        for row in (
            kernel,
            theirs.filter(pl.col("chosen") == "defaults").row(0, named=True),
            theirs.row(0, named=True),
        ):
            name = "" if row is kernel else f"{row['contestant']} "
            times = " and ".join(
                f"{row[column] / first[column]:.2f}" for column in ("log_loss", "microseconds")
            )
            cells.append(f"{name}{times}")
        lines.append(f"| {stream} | {first['log_loss']:.3f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def as_markdown(table: pl.DataFrame) -> str:
    """The table for people: for each stream log loss (of its second half), accuracy, calibration
    error, and time beside mixable's.
    """
    lines = []
    for (stream, n, d, K), part in table.group_by("stream", "n", "d", "K", maintain_order=True):
        unit = part["microseconds"][0]
        lines += [
            f"\n**{stream}**: {n:,} examples, {d} features, {K} classes; {MIXABLE[0].name} takes "
            f"{unit:.0f} microseconds per example\n",
            "| | setting | log loss | second half | accuracy | calibration error | time beside "
            "mixable's |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in part.iter_rows(named=True):
            setting = row["setting"] + (
                " (best in hindsight)" if row["chosen"] != "defaults" else ""
            )
            lines.append(
                f"| {row['contestant']} | {setting} | {row['log_loss']:.3f} | "
                f"{row['log_loss_second_half']:.3f} | {row['accuracy']:.3f} "
                f"| {row['calibration_error']:.3f} | {row['microseconds'] / unit:.2f} |"
            )
    return "\n".join(lines) + "\n"


def draw(table: pl.DataFrame, path: Path) -> None:
    """Log loss against time, a panel for each stream: open marks for peers' defaults, filled for
    the best in hindsight.
    """
    colors = {
        "mixable": "#000000",
        "river": "#0072B2",
        "scikit-learn": "#D55E00",
        "Vowpal Wabbit": "#009E73",
        "refitted": "#CC79A7",
    }
    contestants = list(dict.fromkeys(table["contestant"]))
    shapes = dict(zip((peer.name for peer in MIXABLE + PEERS), "*Pdos^DhH8pv1sDX<>4", strict=False))
    names = list(dict.fromkeys(table["stream"]))
    figure, panels = plt.subplots(
        -(-len(names) // 3),
        min(3, len(names)),
        figsize=(10.5, 3.1 * -(-len(names) // 3) + 1.9),
        squeeze=False,
    )
    for axes, stream in zip(panels.flat, names, strict=False):
        part = table.filter(pl.col("stream") == stream)
        for name in contestants:
            rows = part.filter(pl.col("contestant") == name)
            color = next(color for maker, color in colors.items() if name.startswith(maker))
            times, losses = rows["microseconds"].to_list(), rows["log_loss"].to_list()
            axes.plot(times, losses, color=color, linewidth=0.7, alpha=0.6)
            filled = [
                name.startswith("mixable") or chosen != "defaults" for chosen in rows["chosen"]
            ]
            for x, y, solid in zip(times, losses, filled, strict=True):
                size = 9 if name.startswith("mixable") else 6
                axes.plot(
                    x,
                    y,
                    shapes[name],
                    color=color,
                    markerfacecolor=color if solid else "white",
                    markersize=size,
                    label=name,
                )
        axes.set(
            xscale="log",
            yscale="log",
            title=f"{stream} (n = {part['n'][0]:,}, d = {part['d'][0]}, K = {part['K'][0]})",
        )
        axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_locator(matplotlib.ticker.NullLocator())
        axes.tick_params(labelsize=8, which="both")
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[-1]:
        axes.set_xlabel("microseconds per example")
    for axes in panels[:, 0]:
        axes.set_ylabel("log loss (nats)")
    handles = {
        handle.get_label(): handle
        for handle in panels[0, 0].lines
        if handle.get_marker() not in ("None", None, "")
    }
    figure.tight_layout(rect=(0, 1.75 / figure.get_figheight(), 1, 1))
    title = "open: a peer's defaults; filled: the best of its grid, chosen in hindsight "
    title += "(mixable: its defaults)"
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="lower center",
        ncols=3,
        frameon=False,
        fontsize=8,
        title=title,
        title_fontsize=8,
    )
    figure.savefig(path, dpi=160)
    plt.close(figure)


def machine() -> str:
    """What was raced where."""
    packages = [peer.package for peer in MIXABLE[:1] + PEERS] + ["numpy"]
    try:
        model = (
            Path("/proc/cpuinfo")
            .read_text()
            .partition("model name")[2]
            .partition(":")[2]
            .partition("\n")[0]
            .strip()
        )
    except OSError:
        model = platform.processor()
    said = []
    for package in dict.fromkeys(packages):
        try:
            said.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            said.append(f"{package} absent")
    machine = f"{model or platform.machine()}, {os.cpu_count()} cores, one thread"
    return f"{', '.join(said)}; Python {platform.python_version()}; {machine}"


def main() -> None:
    """Race, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("peers"),
        help="folder for peers.parquet, peers.md and peers.png",
    )
    parser.add_argument(
        "--rows", type=int, help="cut every stream after so many rows, to try the script out"
    )
    given = parser.parse_args()
    start = time.perf_counter()
    print(machine(), flush=True)
    table = measure(streams(given.rows))
    given.out.mkdir(parents=True, exist_ok=True)
    table.write_parquet(given.out / "peers.parquet")
    text = (
        "As multiples of the first column's log loss and of its time:\n\n"
        + summary(table)
        + as_markdown(table)
    )
    (given.out / "peers.md").write_text(f"{machine()}.\n{text}", encoding="utf-8")
    draw(table, given.out / "peers.png")
    print(text)
    print(
        f"{time.perf_counter() - start:.0f} seconds; {given.out}/peers.parquet, "
        f"{given.out}/peers.md, {given.out}/peers.png"
    )


if __name__ == "__main__":
    main()
