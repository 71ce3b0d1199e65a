"""What merging costs in loss: shards by rounds, on three streams.

    python benchmarks/merging.py [--model linear|low|default] [--stream segment] [--orders 4]

Four fifths of a stream are dealt out to the shards, and learned in rounds: in each, every shard
begins with the merged model and learns its next rows. Printed is the log loss on the last fifth,
relative to one pass by one model: the mean over orders of the rows, divided by that of one pass.
Before the first round one model learns the first 1,000 rows, or a tenth.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse

import numpy as np
from sklearn.datasets import load_digits

import mixable as mx

SHARDS, ROUNDS = (1, 2, 8, 32), (1, 4, 16)


def streams(orders):
    """Name, rows and labels of each stream, and some orders of its rows."""
    X, y, _ = mx.datasets.load_segment()
    yield "segment (2,310 rows, 19 columns, 7 classes)", X, y, shuffled(len(y), orders)
    X, y = load_digits(return_X_y=True)
    yield "digits (1,797 rows, 64 columns, 10 classes)", X, y, shuffled(len(y), orders)
    rng = np.random.default_rng(0)
    X = rng.standard_t(4, size=(16_000, 12))
    W = rng.normal(size=(5, 12))
    y = (X @ W.T + 2 * rng.gumbel(size=(len(X), 5))).argmax(axis=1)
    yield "heavy tails (16,000 rows, 12 columns, 5 classes)", X, y, [np.arange(len(y))]


def shuffled(n, orders):
    return [np.random.default_rng(seed).permutation(n) for seed in range(orders)]


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


def losses(model, X, y, end):
    """The mean log loss on the rows from `end` on."""
    return mx.metrics.log_loss(model.predict_proba(X[end:]), y[end:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, default="linear")
    parser.add_argument("--stream", default="", help="only streams whose name begins so")
    parser.add_argument("--orders", type=int, default=4)
    parser.add_argument("--cells", default="", help="shards x rounds, such as 8x16,32x16")
    options = parser.parse_args()
    make = MODELS[options.model]
    cells = [tuple(map(int, cell.split("x"))) for cell in options.cells.split(",") if cell]
    cells = cells or [(shards, n_rounds) for shards in SHARDS for n_rounds in ROUNDS]
    for name, X, y, orders in streams(options.orders):
        if not name.startswith(options.stream):
            continue
        end = len(y) * 4 // 5
        found = {cell: [] for cell in cells}
        best = []
        for order in orders:
            A, b = X[order], y[order]
            one = make().partial_fit(A[:end], b[:end], classes=np.unique(y))
            best.append(losses(one, A, b, end))
            for cell in cells:
                model = sharded(make, A[:end], b[:end], *cell)
                found[cell].append(losses(model, A, b, end) - best[-1])
        mean = np.mean(best)
        print(f"\n{name}: one pass {mean:.4f}, {len(orders)} orders\n")
        print("| shards | rounds | over one pass | difference |\n|---|---|---|---|")
        for (shards, n_rounds), more in found.items():
            error = np.std(more, ddof=1) / len(more) ** 0.5 if len(more) > 1 else np.nan
            print(
                f"| {shards} | {n_rounds} | {1 + np.mean(more) / mean:.3f} "
                f"| {np.mean(more):+.4f} +- {error:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
