"""Shapes that no linear model can tell apart: by a linear model, by the default, and by one kernel
mixture with random features or with landmarks taken from the stream.
"""

import mixable as mx

models = {
    "linear": lambda: mx.GAFClassifier(kernel=None),
    "default": lambda: mx.GAFClassifier(),
    "fourier": lambda: mx.GAFClassifier(kernel=mx.kernels.RBF(100)),
    "nystroem": lambda: mx.GAFClassifier(kernel=mx.kernels.RBF(100, method="nystroem")),
}
print("log loss over the last 1,000 of 2,000 examples")
print(f"{'':14}" + "".join(f"{name:>10}" for name in models))
for shape in ("spirals", "circles", "checkerboard"):
    X, y = mx.datasets.make_shapes(2000, shape)
    row = [
        mx.metrics.log_loss(make().prequential(X, y, classes=[0, 1])[1000:], y[1000:])
        for make in models.values()
    ]
    print(f"{shape:14}" + "".join(f"{loss:10.3f}" for loss in row))

# Output:
# log loss over the last 1,000 of 2,000 examples
#                   linear   default   fourier  nystroem
# spirals            0.621     0.001     0.002     0.001
# circles            0.694     0.000     0.002     0.002
# checkerboard       0.695     0.072     0.140     0.138
