"""What a bank of many models takes: memory, the time of a random key, saving and loading.

    python benchmarks/bank.py [--keys 10000] [--features 20]

Times are CPU time of the process, and the best of some rounds: a machine that others use adds to
them, never takes away. A round is 5,000 examples, each predicted and then learned: by one model;
by the models of a bank, each example by a key drawn at random, the same keys in each round and
others in each round; by a bank of one key. The models of the bank are young: they have learned some
ten examples each, the one model 35,000. So there is also a model by itself that is as young.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import gc
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import mixable as mx
from mixable._verbs import verbs

ROUND, ROUNDS, YOUTH = 5_000, 7, 10


def resident():
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def models(d):
    """What one may put in a bank; estimators have met both labels."""
    low = mx.GAFClassifier(kernel=None, effort="low")
    return {
        f"GAF({d}, 2)": mx.GAF(d, 2),
        "GAFClassifier(kernel=None, effort='low')": low.partial_fit(
            np.zeros((2, d)), [0, 1], classes=[0, 1]
        ),
    }


def seconds(step, X, y, keys, draw=None):
    """The least CPU time of an example, over some rounds; `draw` has other keys for each."""
    best = np.inf
    for _ in range(ROUNDS):
        keys = draw() if draw else keys
        begin = time.process_time()
        for key, x, label in zip(keys, X, y, strict=True):
            step(key, x, label)
        best = min(best, time.process_time() - begin)
    return best / len(keys)


def seconds_of_young(data, X, y):
    """The least CPU time of an example, over some rounds, of models that learn their first ones."""
    predict, learn = verbs(mx.loads(data))
    best = np.inf
    for _ in range(ROUNDS):
        total = 0.0
        for first in range(0, 1000, YOUTH):
            model, rows = mx.loads(data), range(first, first + YOUTH)
            begin = time.process_time()
            for i in rows:
                predict(model, X[i])
                learn(model, X[i], y[i], 1.0)
            total += time.process_time() - begin
        best = min(best, total / 1000)
    return best


def steps_of(bank):
    def step(key, x, label):
        bank.predict(key, x)
        bank.learn(key, x, label)

    return step


def measured(name, n_keys, d):
    """A column of the table."""
    model, rng = models(d)[name], np.random.default_rng(0)
    X = list(rng.normal(size=(ROUND, d)))
    y = [int(x[0] > 0) for x in X]
    bank = mx.Bank(model, memory=1e12)
    step = steps_of(bank)
    for i in range(100):
        step(-1 - i, X[i], y[i])
    gc.collect()
    before = resident()
    for key in range(n_keys):
        step(key, X[key % ROUND], y[key % ROUND])
    each = (resident() - before) / n_keys

    def draw():
        return rng.integers(n_keys, size=ROUND).tolist()

    keys = draw()
    drawn = seconds(step, X, y, keys)
    others = seconds(step, X, y, keys, draw)
    of_one = seconds(steps_of(mx.Bank(model)), X, y, [0] * ROUND)
    predict, learn = verbs(model)
    own = mx.loads(mx.dumps(model))

    def alone(_, x, label):
        predict(own, x)
        learn(own, x, label, 1.0)

    single = seconds(alone, X, y, keys)
    young = seconds_of_young(mx.dumps(model), X, y)
    data = mx.dumps(own)
    saved = seconds(lambda *_: mx.dumps(own), X[:200], y[:200], keys[:200])
    loaded = seconds(lambda *_: mx.loads(data), X[:200], y[:200], keys[:200])
    return {
        "all in memory, MB": each * n_keys / 1e6,
        "one saved, kB": len(data) / 1e3,
        "predict and learn, one model by itself, us": 1e6 * single,
        "the same in a bank of one, us": 1e6 * of_one,
        "the same for a key drawn at random, us": 1e6 * drawn,
        "random key over one model by itself": drawn / single,
        "with other keys in each round, us": 1e6 * others,
        "that over one model by itself": others / single,
        "one model by itself, as young, us": 1e6 * young,
        "save, ms": 1e3 * saved,
        "load, ms": 1e3 * loaded,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--features", type=int, default=20)
    options = parser.parse_args()
    names = list(models(options.features))
    columns = []
    for name in names:  # a process each, since memory that is freed stays
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            job = process.submit(measured, name, options.keys, options.features)
            columns.append(job.result())
    print(f"| {options.keys:,} models of {options.features} features |", end="")
    print("".join(f" `{name}` |" for name in names))
    print("|---" * (len(names) + 1) + "|")
    for row in columns[0]:
        print(f"| {row} |" + "".join(f" {own[row]:.3g} |" for own in columns))


if __name__ == "__main__":
    main()
