"""How many points does the expectation need? Log loss against m, for the paper's Monte Carlo and
for Sobol, on the embedded data.

    python benchmarks/points.py [errors]

The paper reports that m = 100 already suffices in its experiments. One pass over standardised
features and a constant, one order, lam = 0.1, beta = 1, alpha = 1, mu = 1e-6; Monte Carlo is the
mean and the standard deviation over ten seeds. The error is the mean over examples of the largest
|error of log p| over classes, against Sobol with 16,384 points on the same posterior. A second
table has the log loss against alpha, at the default number of points. `errors`: the largest error
of log p over the classes and eight random Gaussians, against 262,144 points of another seed.
"""

import sys

import numpy as np

from mixable import GAF, datasets
from mixable.integrals import Ladder, MonteCarlo, Sobol, expectation
from mixable.losses import log_loss
from mixable.paper.integrals.expectation import Rung
from mixable.paper.integrals.sobol import matched_sobol

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
    """Print log loss, and then the error, against the number of points, in Markdown."""
    print("| stream | m | Monte Carlo | deviation | Sobol |\n|---|---|---|---|---|")
    lines = []
    for name in STREAMS:
        X, y, K = stream(name)

        def run(integrator, seed=0, X=X, y=y, K=K):
            return GAF(X.shape[1], K, integrator=integrator, seed=seed).run(X, y)

        exact = run(Sobol(16_384))
        for m in (8, 32, 100, 128, 512):
            draws = [run(MonteCarlo(m), seed) for seed in range(10)]
            losses = [log_loss(p, y).mean() for p in draws]
            sobol = run(Sobol(m))
            numbers = np.mean(losses), np.std(losses), log_loss(sobol, y).mean()
            print(f"| {name} | {m} |", " | ".join(f"{number:.4f}" for number in numbers), "|")
            errors = [np.abs(np.log(p / exact)).max(axis=1).mean() for p in (draws[0], sobol)]
            lines.append(f"| {name} | {m} | {errors[0]:.2f} | {errors[1]:.2f} |")
        print(f"| {name} | 16,384 | | | {log_loss(exact, y).mean():.4f} |", flush=True)
    print("\n| stream | m | Monte Carlo | Sobol |\n|---|---|---|---|")
    print("\n".join(lines))


def widths() -> None:
    """Print log loss against alpha, in Markdown."""
    print("\n| alpha | vehicle | segment |\n|---|---|---|")
    streams = [stream(name) for name in ("vehicle", "segment")]
    for alpha in (0.5, 1, 4, 16, np.inf):
        runs = [(GAF(X.shape[1], K, alpha=alpha).run(X, y), y) for X, y, K in streams]
        losses = " | ".join(f"{log_loss(p, y).mean():.3f}" for p, y in runs)
        print(f"| {alpha} | {losses} |", flush=True)


def gaussians(K, width, number=8):
    """Means and covariances S whose largest eigenvalue is `width`."""
    rng = np.random.default_rng(K)
    for _ in range(number):
        L = rng.normal(size=(K - 1, K - 1))
        S = L @ L.T
        yield rng.normal(size=K - 1), S * width / np.linalg.eigvalsh(S)[-1]


def errors(pairs=2**17) -> None:
    """Print the largest error of log p of each rung, in Markdown."""
    names = ("Taylor", "degree 5", "Sobol 128", "Sobol 1,024", "Sobol 16,384")
    print("| K | width |", " | ".join(names), "|\n|---|---|---|---|---|---|---|")
    for K in (4, 10, 26):
        taylor, cubature = Ladder().rungs(K - 1, 0)[:2]
        rungs = [taylor, cubature, *(Sobol(m).rungs(K - 1, 0)[0] for m in (128, 1024, 16_384))]
        points, weights = matched_sobol(K - 1, pairs, 1), np.full(pairs, 0.5 / pairs)
        exact = Rung("symmetric", np.inf, pairs, points=points, weights=weights)
        for width in (0.01, 0.1, 1, 10):
            found = np.zeros(len(rungs))
            for m, S in gaussians(K, width):
                truth = expectation(m, S, [exact])
                for i, rung in enumerate(rungs):
                    p = expectation(m, S, [rung])
                    fails = p.min() <= 0  # a Taylor expansion, or a cubature, of a wide Gaussian
                    error = np.inf if fails else np.abs(np.log(p / truth)).max()
                    found[i] = max(found[i], error)
            cells = (f"{error:.0e}" if error < 2 else "fails" for error in found)
            print(f"| {K} | {width} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    if "errors" in sys.argv[1:]:
        errors()
    else:
        points()
        widths()
