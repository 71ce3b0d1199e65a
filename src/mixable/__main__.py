"""`python -m mixable`: GAF over the embedded vehicle data, one pass, each example predicted before it is learned."""

import time

import numpy as np

from mixable import GAF
from mixable.datasets import load_vehicle
from mixable.losses import log_loss


def main() -> None:
    """Print the log loss of GAF beside the uniform forecast's."""
    X, y, names = load_vehicle()
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(y))])
    forecaster = GAF(n_features=X.shape[1], n_classes=len(names.classes), alpha=4.0)
    start = time.perf_counter()
    p = forecaster.run(X, y)
    microseconds = (time.perf_counter() - start) / len(y) * 1e6
    print(f"vehicle: {len(y)} examples, {X.shape[1] - 1} standardised features and a constant, {len(names.classes)} classes, one pass")
    print(f"{'':24}{'log loss':>10}{'accuracy':>10}")
    print(f"{'uniform forecast':24}{np.log(len(names.classes)):10.3f}{1 / len(names.classes):10.1%}")
    print(f"{'GAF (alpha = 4)':24}{log_loss(p, y).mean():10.3f}{(p.argmax(axis=1) == y).mean():10.1%}")
    print(f"{'  its last 200 examples':24}{log_loss(p, y)[-200:].mean():10.3f}{(p.argmax(axis=1) == y)[-200:].mean():10.1%}")
    print(f"{microseconds:.1f} microseconds per example, prediction and learning")


if __name__ == "__main__":
    main()
