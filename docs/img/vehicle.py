"""Draw vehicle.png, the picture of the README: averaged log loss over time on the vehicle data, 20 orders (needs Matplotlib)."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from mixable import GAF, datasets
from mixable.losses import log_loss


def main() -> None:
    """Run and draw."""
    X, y, _ = datasets.load_vehicle()
    X = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(y))])
    t = np.arange(1, len(y) + 1)
    figure, axes = plt.subplots(figsize=(7.5, 4), dpi=150)
    axes.axhline(np.log(4), color="0.5", linestyle=":", label="uniform forecast")
    for alpha, color, style in [(1.0, "tab:blue", "-"), (4.0, "tab:orange", "--"), (np.inf, "tab:green", "-.")]:
        curves = []
        for seed in range(20):
            order = np.random.default_rng(seed).permutation(len(y))
            p = GAF(X.shape[1], 4, alpha=alpha).run(X[order], y[order])
            curves.append(np.cumsum(log_loss(p, y[order])) / t)
        low, median, high = np.quantile(curves, [0.25, 0.5, 0.75], axis=0)
        name = {1.0: "GAF, the paper's width ($\\alpha = 1$)", 4.0: "GAF, half the width ($\\alpha = 4$)"}.get(
            alpha, "GAF without hedging ($\\alpha = \\infty$)"
        )
        axes.plot(t, median, color=color, linestyle=style, label=f"{name}: {median[-1]:.3f}")
        axes.fill_between(t, low, high, color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel="examples seen, one pass", ylabel="averaged log loss (nats)", xlim=(1, len(y)), ylim=(0.4, 1.6))
    axes.set_title("vehicle: 18 features, 4 classes; median and quartiles of 20 orders", fontsize=10)
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
