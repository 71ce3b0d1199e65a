"""What merging costs in loss: shards by rounds, on three streams.

    python benchmarks/merging.py [--model linear|low|default]

Four fifths of a stream are dealt out to the shards, and learned in rounds: in each, every shard
begins with the merged model and learns its next rows. Printed is the log loss on the last fifth,
relative to one pass by one model. Before the first round one model learns the first 1,000 rows, or
a tenth.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse

import numpy as np
from sklearn.datasets import load_digits

import mixable as mx

SHARDS, ROUNDS = (1, 2, 8, 32), (1, 4, 16)


def streams():
    """Name, rows and labels of each stream."""
    X, y, _ = mx.datasets.load_segment()
    order = np.random.default_rng(0).permutation(len(y))
    yield "segment (2,310 rows, 19 columns, 7 classes)", X[order], y[order]
    X, y = load_digits(return_X_y=True)
    yield "digits (1,797 rows, 64 columns, 10 classes)", X, y
    rng = np.random.default_rng(0)
    X = rng.standard_t(4, size=(16_000, 12))
    W = rng.normal(size=(5, 12))
    yield (
        "heavy tails (16,000 rows, 12 columns, 5 classes)",
        X,
        (X @ W.T + 2 * rng.gumbel(size=(len(X), 5))).argmax(axis=1),
    )


def sharded(make, X, y, shards, n_rounds):
    """The merged model of shards of a stream."""
    warm = min(1000, len(y) // 10)
    model = make().partial_fit(X[:warm], y[:warm], classes=np.unique(y))
    for rows in np.array_split(np.arange(warm, len(y)), n_rounds):
        base = mx.dumps(model)
        each = []
        for own in np.array_split(rows, shards):
            shard = mx.loads(base)
            mx.merging.settle(shard)
            each.append(shard.partial_fit(X[own], y[own]))
        model = mx.merge(each, base=model)
    return model


MODELS = {
    "linear": lambda: mx.GAFClassifier(kernel=None),
    "low": lambda: mx.GAFClassifier(kernel=None, effort="low"),
    "default": mx.GAFClassifier,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, default="linear")
    make = MODELS[parser.parse_args().model]
    for name, X, y in streams():
        end = len(y) * 4 // 5
        one = make().partial_fit(X[:end], y[:end], classes=np.unique(y))
        best = mx.metrics.log_loss(one.predict_proba(X[end:]), y[end:])
        print(f"\n{name}: one pass {best:.4f}\n")
        print("| shards | " + " | ".join(f"{n} rounds" for n in ROUNDS) + " |")
        print("|---|" + "---|" * len(ROUNDS))
        for shards in SHARDS:
            cells = []
            for n_rounds in ROUNDS:
                model = sharded(make, X[:end], y[:end], shards, n_rounds)
                loss = mx.metrics.log_loss(model.predict_proba(X[end:]), y[end:])
                cells.append(f"{loss / best:.3f}")
            print(f"| {shards} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
