"""What merging costs in loss: shards by rounds, on three streams.

    python benchmarks/merging.py [--model linear default] [--stream segment] [--orders 1]

Four fifths of a stream are dealt out to the shards, and learned in rounds, as by an engine: in each
round every shard begins with the merged model and learns its next rows. Printed is, in Markdown,
the log loss on the last fifth, over that of one pass by one model (means over orders of the rows).
Before the first round one model learns the first 1,000 rows, or a tenth, or --warmup of them (an
engine's are 1,024, whatever there is). With --cells, some cells only, in nats, too. It takes some
minutes; --stream digits is a fourth stream, which takes as long as the three.
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
    yield "segment", X, y, shuffled(len(y), orders)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(4_000, 8))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    y = np.digitize(f + 5 * X[:, 4] + rng.normal(size=len(X)), [12.0, 17.0])
    yield "curved", X, y, shuffled(len(y), orders)
    X = rng.standard_t(4, size=(4_000, 12))
    W = rng.normal(size=(5, 12))
    y = (X @ W.T + 2 * rng.gumbel(size=(len(X), 5))).argmax(axis=1)
    yield "heavy tails", X, y, shuffled(len(y), orders)
    X, y = load_digits(return_X_y=True)
    yield "digits", X, y, shuffled(len(y), orders)


def shuffled(n, orders):
    return [np.random.default_rng(seed).permutation(n) for seed in range(orders)]


def sharded(make, X, y, shards, n_rounds, classes, warmup=None):
    """The merged model of shards of a stream."""
    warm = warmup or min(1000, len(y) // 10)
    model = make().partial_fit(X[:warm], y[:warm], classes=classes)
    for rows in np.array_split(np.arange(warm, len(y)), n_rounds):
        base = mx.dumps(model)
        each = []
        for own in np.array_split(rows, shards):
            shard = mx.loads(base)
            mx.merging.freeze(shard)
            each.append(shard.partial_fit(X[own], y[own]) if len(own) else shard)
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


def measured(make, X, y, orders, cells, warmup=None):
    """The losses of one pass, and what each cell has more, over orders."""
    end = len(y) * 4 // 5
    best, found = [], {cell: [] for cell in cells}
    for order in orders:
        A, b = X[order], y[order]
        one = make().partial_fit(A[:end], b[:end], classes=np.unique(y))
        best.append(losses(one, A, b, end))
        for cell in cells:
            model = sharded(make, A[:end], b[:end], *cell, np.unique(y), warmup)
            found[cell].append(losses(model, A, b, end) - best[-1])
    return best, found


def show_tables(found):
    """One pass of each model on each stream; rows for shards, columns for rounds."""
    print("| model | stream | rows | columns | classes | loss of one pass |")
    print("|---|---|---|---|---|---|")
    for (model, name), (shape, best, _) in found.items():
        print(f"| {model} | {name} | {' | '.join(shape)} | {np.mean(best):.3f} |")
    for model in dict.fromkeys(model for model, _ in found):
        print("\n| stream | shards | 1 round | 4 rounds | 16 rounds |\n|---|---|---|---|---|")
        for (of, name), (_, best, more) in found.items():
            for shards in SHARDS if of == model else ():
                each = [1 + np.mean(more[shards, n]) / np.mean(best) for n in ROUNDS]
                print(f"| {name} | {shards} |", " | ".join(f"{over:.3f}" for over in each), "|")


def show_cells(found, warmups):
    """A row for each cell, with differences in nats."""
    print("| model | stream | shards | rounds | learned first | over one pass | nats | error |")
    print("|---|---|---|---|---|---|---|---|")
    for ((model, name), (_, best, cells)), warm in zip(found, warmups, strict=True):
        for (shards, n_rounds), more in cells.items():
            error = f"{np.std(more, ddof=1) / len(more) ** 0.5:.4f}" if len(more) > 1 else ""
            ratio = f"{1 + np.mean(more) / np.mean(best):.3f} | {np.mean(more):+.4f}"
            cell = f"{model} | {name} | {shards} | {n_rounds} | {warm or 'a tenth'}"
            print(f"| {cell} | {ratio} | {error} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, nargs="+", default=["linear", "default"])
    parser.add_argument("--stream", default="", help="only streams whose name begins so")
    parser.add_argument("--orders", type=int, default=1)
    parser.add_argument("--cells", default="", help="shards x rounds, such as 8x16,32x16")
    parser.add_argument("--warmup", type=int, nargs="+", default=[0], help="0 is a tenth")
    options = parser.parse_args()
    cells = [tuple(map(int, cell.split("x"))) for cell in options.cells.split(",") if cell]
    whole = [(shards, n_rounds) for shards in SHARDS for n_rounds in ROUNDS]
    found, warmups = [], []
    for name, X, y, orders in streams(options.orders):
        if not name.startswith(options.stream) or (name == "digits" and not options.stream):
            continue
        shape = f"{len(y):,}", str(X.shape[1]), str(len(np.unique(y)))
        for model in options.model:
            for warm in options.warmup:
                taken = measured(MODELS[model], X, y, orders, cells or whole, warm)
                found.append(((model, name), (shape, *taken)))
                warmups.append(warm)
    if cells:
        show_cells(found, warmups)
    else:
        show_tables(dict(found))


if __name__ == "__main__":
    main()
