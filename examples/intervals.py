"""Regression with intervals: how many of the 50% and 90% intervals hold the next target, early and
late in a stream.
"""

import numpy as np

import mixable as mx

rng = np.random.default_rng(0)
n = 500
X = np.column_stack(
    [rng.normal(20, 8, n), rng.uniform(0, 24, n), rng.integers(0, 2, n)]
)  # temperature, hour, weekend
demand = (
    900
    - 12 * X[:, 0]
    + 40 * np.sin(X[:, 1] / 24 * 2 * np.pi)
    - 80 * X[:, 2]
    + 30 * rng.normal(size=n)
)
X = np.column_stack([X, np.sin(X[:, 1] / 24 * 2 * np.pi), np.cos(X[:, 1] / 24 * 2 * np.pi)])

model, held = mx.GAFRegressor(kernel=None), {0.5: [], 0.9: []}
for x, target in zip(X, demand, strict=True):
    for level, inside in held.items():
        if len(inside) or hasattr(model, "n_features_in_"):
            low, high = model.predict_interval(x[None], level=level)[0]
            inside.append(1 if low <= target <= high else 0)
    model.partial_fit(x[None], [target])

for level, inside in held.items():
    print(
        f"{level:.0%} intervals held {np.mean(inside[:100]):.0%} of the first 100 targets, "
        f"{np.mean(inside[100:]):.0%} of the others"
    )
mean, std = model.predict(X[:1], return_std=True)
print(f"the noise has a standard deviation of 30; the model says {std[0]:.1f}")

# Output:
# 50% intervals held 63% of the first 100 targets, 47% of the others
# 90% intervals held 98% of the first 100 targets, 87% of the others
# the noise has a standard deviation of 30; the model says 31.9
