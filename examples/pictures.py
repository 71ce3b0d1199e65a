"""The picture of docs/guides/plots.md: a run and a model, in four panels.

python examples/pictures.py [picture.png]
"""

import sys

import matplotlib
import numpy as np

import mixable as mx

matplotlib.use("Agg")
import matplotlib.pyplot as plt

figure, panels = plt.subplots(2, 2, figsize=(11, 8.5), layout="constrained")
(curve, calibration), (shares, plane) = panels

X, y, names = mx.datasets.load_vehicle()
order = np.random.default_rng(0).permutation(len(y))
X, labels = X[order], np.array(names.classes)[y[order]]
model = mx.GAFClassifier(kernel=None)
p = model.prequential(X, labels, classes=names.classes)
mx.plots.learning_curve(p, labels, classes=model.classes_, window=100, ax=curve)
mx.plots.reliability(p, labels, classes=model.classes_, bins=5, ax=calibration)
for line in curve.lines:
    print(f"{line.get_label()}: {line.get_ydata()[-1]:.2f} nats per example at the end")

X, y = mx.datasets.make_drift(6000, kind="jump")  # the truth is redrawn every 2,000 examples
mx.plots.expert_weights(mx.GAFClassifier(kernel=None), X, y, pieces=100, by="drift", ax=shares)

X, y = mx.datasets.make_shapes(500, "spirals")
model = mx.GAFClassifier(kernel=mx.kernels.RBF(100)).fit(X, y)
mx.plots.surface(model, X, y, ax=plane)
print(f"spirals: {plane.images[0].get_array().shape[:2]} forecasts in the plane")

titles = ("vehicle: loss", "vehicle: reliability", "jumps: weight by drift", "spirals: surface")
for axes, title in zip(panels.flat, titles, strict=True):
    axes.set_title(title)
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "pictures.png", dpi=110)

# Output:
# forecasts: 0.55 nats per example at the end
# forecasts, last 100: 0.42 nats per example at the end
# class frequencies: 1.40 nats per example at the end
# spirals: (100, 100) forecasts in the plane
