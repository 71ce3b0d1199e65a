"""How many points does the expectation need? Log loss against m, for the paper's Monte Carlo and
for Sobol, on the embedded data.

    python benchmarks/points.py

The paper reports that m = 100 already suffices in its experiments. One pass over standardised
features and a constant, one order, lam = 0.1, beta = 1, alpha = 1, mu = 1e-6; Monte Carlo is the
mean and the standard deviation over ten seeds. The error is the mean over examples of the largest
|error of log p| over classes, against Sobol with 16,384 points on the same posterior. A second
table has the log loss against alpha, at the default number of points.
"""

import numpy as np

from mixable import GAF, datasets
from mixable.integrals import MonteCarlo, Sobol
from mixable.losses import log_loss

STREAMS = {
    "vehicle": (datasets.load_vehicle, 846),
    "segment": (datasets.load_segment, 2310),
    "shuttle": (datasets.load_shuttle, 4000),
}


def stream(name):
    """Standardised rows with a constant, labels, and the number of classes."""
    load, n = STREAMS[name]
    X, y, names = load()
    order = np.random.default_rng(0).permutation(len(y))[:n]
    X, y = X[order], y[order]
    X = np.clip((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), -10, 10)
    return np.column_stack([X, np.ones(n)]), y, len(names.classes)


def points() -> None:
    """Print log loss and error against the number of points, in Markdown."""
    print("| stream | m | Monte Carlo | deviation | Sobol | error, Monte Carlo | error, Sobol |")
    print("|---|---|---|---|---|---|---|")
    for name in STREAMS:
        X, y, K = stream(name)

        def run(integrator, seed=0, X=X, y=y, K=K):
            return GAF(X.shape[1], K, integrator=integrator, seed=seed).run(X, y)

        exact = run(Sobol(16_384))
        for m in (8, 32, 100, 128, 512):
            draws = [run(MonteCarlo(m), seed) for seed in range(10)]
            losses = [log_loss(p, y).mean() for p in draws]
            sobol = run(Sobol(m))
            errors = [np.abs(np.log(p / exact)).max(axis=1).mean() for p in (draws[0], sobol)]
            print(f"| {name} | {m} | {np.mean(losses):.4f} | {np.std(losses):.4f} |", end="")
            print(
                f" {log_loss(sobol, y).mean():.4f} | {errors[0]:.2f} | {errors[1]:.2f} |",
                flush=True,
            )
        print(f"| {name} | 16,384 | | | {log_loss(exact, y).mean():.4f} | | |", flush=True)


def widths() -> None:
    """Print log loss against alpha, in Markdown."""
    print("\n| alpha | vehicle | segment |\n|---|---|---|")
    streams = [stream(name) for name in ("vehicle", "segment")]
    for alpha in (0.5, 1, 4, 16, np.inf):
        runs = [(GAF(X.shape[1], K, alpha=alpha).run(X, y), y) for X, y, K in streams]
        losses = " | ".join(f"{log_loss(p, y).mean():.3f}" for p, y in runs)
        print(f"| {alpha} | {losses} |", flush=True)


if __name__ == "__main__":
    points()
    widths()
