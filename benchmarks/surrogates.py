"""Whether other surrogates than the paper's pay: log loss of mixtures over lam alone.

    python benchmarks/surrogates.py [--orders 5] [--rows 1000] [--figure surrogates.png]

For each stream and order: the Bayes mixture over lam = 10, 1, ..., 0.001 of `GAF` with each
surrogate, read at alpha = 1, and `AutoGAF` for comparison. A table of medians over orders. The
figure shows losses over the paper's surrogate's on the same order, quartiles over orders.
"""

import argparse

import numpy as np
from structures import made

import mixable as mx
from mixable.losses import log_loss
from mixable.paper.experiments.report import pyplot

QUARTILES = (0.25, 0.5, 0.75)
LAMS = (10.0, 1.0, 0.1, 0.01, 0.001)
SHOWN = ("tangent", "variational", "moments")


def streams(rows):
    """Names, inputs, labels."""
    for name in ("vehicle", "segment", "shuttle"):
        X, y = getattr(mx.datasets, f"load_{name}")()[:2]
        yield name, np.asarray(X, dtype=float), y
    for n, d, K in ((rows, 5, 2), (rows, 20, 2), (rows, 5, 3), (rows, 10, 4), (rows, 5, 8)):
        yield "generated", *made(n, d, K)
    for kind in ("slow", "jump"):
        yield f"{kind} drift, shuffled", *mx.datasets.make_drift(rows, 10, 4, kind=kind)


def ordered(X, y, seed, rows):
    """Rows in a random order, standardised, with an intercept."""
    order = np.random.default_rng(seed).permutation(len(y))[:rows]
    X, y = X[order], y[order]
    spread = X.std(axis=0)
    X = np.clip((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), -10, 10)
    return np.column_stack([X, np.ones(len(X))]), y


def mixed(losses):
    """Mean loss of the Bayes mixture of experts with these losses (n, N)."""
    total = -losses.sum(axis=0)
    top = total.max()
    return (np.log(losses.shape[1]) - top - np.log(np.exp(total - top).sum())) / len(losses)


def draw(ratios, path):
    """Median and quartiles of the loss over that of the tangent surrogate, a line a stream."""
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(7, 0.42 * len(ratios) + 1.2), dpi=150)
    shown = ("variational", "moments", "AutoGAF")
    for row, found in enumerate(ratios.values()):
        for i, (each, colour) in enumerate(zip(shown, ("C0", "C1", "0.6"), strict=True)):
            low, middle, high = np.quantile(np.divide(found[each], found["tangent"]), QUARTILES)
            at = row + 0.22 * (i - 1)
            axes.plot([low, high], [at, at], color=colour, linewidth=2.5, alpha=0.5)
            axes.plot(middle, at, "o", color=colour, markersize=4, label=None if row else each)
    axes.axvline(1, color="0.3", linewidth=0.8)
    axes.set_yticks(range(len(ratios)), list(ratios))
    axes.invert_yaxis()
    axes.set_xlabel("log loss over that of the paper's surrogate")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


def measure(inputs, labels, options):
    """Mean losses in each order, of each surrogate."""
    found = {each: [] for each in (*SHOWN, "AutoGAF")}
    K = int(labels.max()) + 1
    for seed in range(options.orders):
        X, y = ordered(inputs, labels, seed, options.rows)
        d = X.shape[1]
        for surrogate in SHOWN:
            models = [mx.GAF(d, K, lam=lam, surrogate=surrogate) for lam in LAMS]
            losses = [log_loss(f.run(X, y), y) for f in models]
            found[surrogate].append(mixed(np.column_stack(losses)))
        found["AutoGAF"].append(log_loss(mx.AutoGAF(d, K).run(X, y), y).mean())
    return found, f"({d}, {K})"


def main():
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--figure")
    options = parser.parse_args()
    ratios = {}
    print("| stream (d, K) | tangent | variational | moments | `AutoGAF` |\n|---|---|---|---|---|")
    for name, inputs, labels in streams(options.rows):
        found, size = measure(inputs, labels, options)
        title = f"{name} {size}"
        ratios[title] = found
        medians = " | ".join(f"{np.median(values):.3f}" for values in found.values())
        print(f"| {title} | {medians} |", flush=True)
    if options.figure:
        draw(ratios, options.figure)


if __name__ == "__main__":
    main()
