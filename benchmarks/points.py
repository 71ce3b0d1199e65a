"""How many points does the expectation need? Log loss against m, for the paper's Monte Carlo and
for Sobol, on the embedded data.

    python benchmarks/points.py

The paper reports that m = 100 already suffices in its experiments. One pass over standardised
features and a constant, one order, lam = 0.1, beta = 1, alpha = 1, mu = 1e-6; Monte Carlo is the
mean and the standard deviation over ten seeds. The error is the mean over examples of the largest
|error of log p| over classes, against Sobol with 16,384 points on the same posterior.
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


def main() -> None:
    """Print the table."""
    for name, (load, n) in STREAMS.items():
        X, y, names = load()
        order = np.random.default_rng(0).permutation(len(y))[:n]
        X, y = X[order], y[order]
        X = np.column_stack(
            [np.clip((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), -10, 10), np.ones(n)]
        )

        K = len(names.classes)

        def run(integrator, seed=0, X=X, y=y, K=K):
            return GAF(X.shape[1], K, integrator=integrator, seed=seed).run(X, y)

        exact = run(Sobol(16_384))
        print(
            f"\n{name}: n = {n}, K = {K}, uniform {np.log(K):.3f}, Sobol 16384 "
            f"{log_loss(exact, y).mean():.4f}"
        )
        print("     m   Monte Carlo (sd over seeds)   error of log p     Sobol   error of log p")
        for m in (8, 32, 100, 128, 512, 2048):
            draws = [run(MonteCarlo(m), seed) for seed in range(10)]
            losses = [log_loss(p, y).mean() for p in draws]
            sobol = run(Sobol(m))
            by_chance, by_sobol = (
                np.abs(np.log(p / exact)).max(axis=1).mean() for p in (draws[0], sobol)
            )
            print(f"{m:6}{np.mean(losses):13.4f} ({np.std(losses):.4f}){by_chance:20.4f}", end="")
            print(f"{log_loss(sobol, y).mean():14.4f}{by_sobol:17.4f}", flush=True)


if __name__ == "__main__":
    main()
