"""The picture of docs: How it works: what GAF knows after 5 and after 60 examples, and how it
forecasts with it.

python examples/posterior.py [picture.png]
"""

import sys

import matplotlib
import numpy as np

import mixable as mx

matplotlib.use("Agg")
import matplotlib.pyplot as plt

rng = np.random.default_rng(3)
X = rng.normal(size=(60, 2))
y = (rng.random(60) < 1 / (1 + np.exp(-X @ [1.5, -1.0]))).astype(int)
x = np.array([2.0, 1.0])
f, grid = mx.GAF(n_features=2, n_classes=2, lam=0.1), np.linspace(-7, 9, 400)
figure, (weights, margins) = plt.subplots(1, 2, figsize=(9.5, 4))

for examples, style, grey in ((5, "--", "0.55"), (60, "-", "0")):
    f.run(X[f.steps : examples], y[f.steps : examples])
    theta = f.coef[1] - f.coef[0]  # the margin's weights
    halves = np.hstack([-np.eye(2), np.eye(2)])
    covariance = halves @ np.linalg.inv(2 * f.precision()) @ halves.T
    circle = np.array(
        [np.cos(np.linspace(0, 2 * np.pi, 200)), np.sin(np.linspace(0, 2 * np.pi, 200))]
    )
    ellipse = theta[:, None] + np.linalg.cholesky(covariance) @ circle
    weights.plot(*ellipse, style, color=grey, label=f"after {examples} examples")
    weights.plot(*theta, "o", color=grey)
    mean, deviation = theta @ x, np.sqrt(x @ covariance @ x)
    density = np.exp(-((grid - mean) ** 2) / (2 * deviation**2)) / (deviation * np.sqrt(2 * np.pi))
    margins.fill_between(grid, density, color=grey, alpha=0.25, linewidth=0)
    p, plugged_in = f.predict(x)[1], 1 / (1 + np.exp(-mean))
    margins.plot(
        grid,
        density,
        style,
        color=grey,
        label=f"after {examples}: forecast {p:.2f}, without hedging {plugged_in:.2f}",
    )
    print(
        f"after {examples} examples: margin {mean:.2f} +- {deviation:.2f}, forecast {p:.3f}, "
        f"without hedging {plugged_in:.3f}"
    )

weights.annotate("", x, (0, 0), arrowprops={"arrowstyle": "->", "linewidth": 1.2})
weights.text(2.15, 1.1, "x")
weights.plot(1.5, -1.0, "k+", markersize=11, label="the truth")
weights.set(
    title="the posterior: a Gaussian over the weights",
    xlabel="weight of feature 1",
    ylabel="weight of feature 2",
)
weights.set(xlim=(-1.2, 3.6), ylim=(-2.2, 2.4))
margins.plot(
    grid,
    1 / (1 + np.exp(-grid)),
    ":",
    color="#D55E00",
    label="probability of label 1, given the margin",
)
margins.set(
    title="the rule: read along x, average the probability",
    xlabel="margin of x",
    ylabel="density, probability",
    ylim=(0, 1.45),
)
for axes in (weights, margins):
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "posterior.png", dpi=160)

# Output:
# after 5 examples: margin 0.85 +- 2.59, forecast 0.608, without hedging 0.701
# after 60 examples: margin 2.19 +- 0.81, forecast 0.877, without hedging 0.900
