"""How much faster two workers are than one: Dask processes, and threads of a local Spark.

    python benchmarks/engines.py dask|spark [--rows 20000] [--rounds 4]

One model of 500 columns of numbers, and one of records (numbers, categories, text). Each fit is
timed after a first one that starts the workers; the first rows, which one process learns, and the
reading of partitions count. Prints, in Markdown, seconds on the clock, and how many times as fast
two workers are as one. CPU time says more where others use the machine: the second table has that
of all processes (what is above one pass is what the engine adds), and what it makes of the speed-up
if nothing but this process and the busiest worker is waited for.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import psutil

import mixable as mx

PARTS = 4


def numbers(n):
    """500 columns; one posterior."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 500))
    y = (X[:, :20].sum(axis=1) + rng.logistic(size=n) > 0).astype(int)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(500)]).assign(label=y)
    return frame, mx.GAFClassifier(kernel=None, effort="low")


def records(n):
    """Numbers, a category of 1,000 values, words; the estimator as it is by default."""
    rng = np.random.default_rng(0)
    words = np.array(["red", "blue", "shoe", "hat", "old", "new", "big", "small", "cheap"])
    user, price = rng.integers(0, 1000, n), rng.normal(size=(n, 5))
    text = [" ".join(row) for row in words[rng.integers(0, len(words), (n, 4))]]
    has_red = np.array(["red" in each for each in text])
    y = (np.sin(user) + price[:, 0] + has_red + rng.logistic(size=n) > 0).astype(int)
    frame = pd.DataFrame(price, columns=list("abcde"))
    frame = frame.assign(user=[f"u{i}" for i in user], text=text, label=y)
    return frame, mx.GAFClassifier()


def cpu():
    """CPU seconds of this process and of each that it has started, by number."""
    seconds, me = {}, psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        try:
            t = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds[process.pid] = t.user + t.system
    return seconds


class Taken(NamedTuple):
    """Seconds on the clock, and CPU seconds of all, of the busiest worker and of this process."""

    clock: float
    total: float
    busiest: float
    own: float

    @property
    def by_cpu(self):
        """What it would take if nothing but these two were waited for."""
        return self.own + self.busiest


def timed(work):
    """What something takes."""
    before, begin = cpu(), time.perf_counter()
    work()
    clock = time.perf_counter() - begin
    each = {pid: seconds - before.get(pid, 0.0) for pid, seconds in cpu().items()}
    own, total = each.pop(os.getpid()), sum(each.values())
    return Taken(clock, total + own, max(each.values(), default=0.0), own)


def with_dask(workers, cases, rounds):
    from distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        for name, (frame, model) in cases.items():
            parts = client.scatter([frame[i::PARTS] for i in range(PARTS)], broadcast=True)
            small = [frame[i : i + 50] for i in range(0, 200, 50)]
            mx.engines.dask.fit(model, small, "label", rounds=1, warmup=50, client=client)
            work = partial(mx.engines.dask.fit, model, parts, "label", rounds=rounds, client=client)
            yield name, timed(work)


def with_spark(threads, cases, rounds):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for name, (frame, model) in cases.items():
        data = spark.createDataFrame(frame).repartition(PARTS).persist()
        mx.engines.spark.fit(model, data.limit(200), "label", rounds=1, warmup=50)
        yield name, timed(partial(mx.engines.spark.fit, model, data, "label", rounds=rounds))
    spark.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=["dask", "spark"])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    cases = {"500 columns": numbers(options.rows), "records": records(options.rows)}
    taken = {}
    for name, (frame, model) in cases.items():
        X, y = frame.drop(columns="label"), frame["label"]
        taken[name, 0] = timed(partial(mx.loads(mx.dumps(model)).partial_fit, X, y))
    run = with_dask if options.engine == "dask" else with_spark
    for workers in (1, 2):
        for name, each in run(workers, cases, options.rounds):
            taken[name, workers] = each
    print("| data | no engine, s | one worker, s | two workers, s | as fast |")
    print("|---|---|---|---|---|")
    show(taken, cases, lambda each: each.clock, lambda each: each.clock)
    print("\n| CPU time | no engine, s | one worker, s | two workers, s | as fast |")
    print("|---|---|---|---|---|")
    show(taken, cases, lambda each: each.total, lambda each: each.by_cpu)


def show(taken, cases, seconds, waited):
    for name in cases:
        cells = [f"{seconds(taken[name, workers]):.1f}" for workers in (0, 1, 2)]
        faster = waited(taken[name, 1]) / waited(taken[name, 2])
        print(f"| {name} | {' | '.join(cells)} | {faster:.2f} |")


if __name__ == "__main__":
    main()
