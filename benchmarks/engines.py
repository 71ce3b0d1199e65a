"""How much faster two workers are than one: Dask processes, and threads of a local Spark.

    python benchmarks/engines.py dask|spark [--rows 20000] [--rounds 4]

One model of 500 columns of numbers, and one of records (numbers, categories, text). Each fit is
timed after a first one that starts the workers; the first rows, which one process learns, and the
reading of partitions count.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time

import numpy as np
import pandas as pd

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


def with_dask(workers, cases, rounds):
    from distributed import Client, LocalCluster

    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        for name, (frame, model) in cases.items():
            parts = client.scatter([frame[i::PARTS] for i in range(PARTS)], broadcast=True)
            small = [frame[i : i + 50] for i in range(0, 200, 50)]
            mx.engines.dask.fit(model, small, "label", rounds=1, warmup=50, client=client)
            begin = time.perf_counter()
            mx.engines.dask.fit(model, parts, "label", rounds=rounds, client=client)
            yield name, time.perf_counter() - begin


def with_spark(threads, cases, rounds):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for name, (frame, model) in cases.items():
        data = spark.createDataFrame(frame).repartition(PARTS).persist()
        mx.engines.spark.fit(model, data.limit(200), "label", rounds=1, warmup=50)
        begin = time.perf_counter()
        mx.engines.spark.fit(model, data, "label", rounds=rounds)
        yield name, time.perf_counter() - begin
    spark.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=["dask", "spark"])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    cases = {"500 columns": numbers(options.rows), "records": records(options.rows)}
    for name, (frame, model) in cases.items():
        begin = time.perf_counter()
        mx.loads(mx.dumps(model)).partial_fit(frame.drop(columns="label"), frame["label"])
        print(f"one pass, no engine, {name}: {time.perf_counter() - begin:.1f} s", flush=True)
    run = with_dask if options.engine == "dask" else with_spark
    for workers in (1, 2):
        for name, seconds in run(workers, cases, options.rounds):
            print(f"{options.engine}, {workers} workers, {name}: {seconds:.1f} s", flush=True)


if __name__ == "__main__":
    main()
