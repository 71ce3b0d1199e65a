"""A truth that jumps every 2,000 examples: log loss by stretches of 500, with and without drift in
the mixture.
"""

import mixable as mx

X, y = mx.datasets.make_drift(6000, kind="jump")
forecasters = {
    "mixed over": mx.GAFClassifier(kernel=None),
    "drift=0": mx.GAFClassifier(kernel=None, drift=0.0),
    "drift=0.01": mx.GAFClassifier(kernel=None, drift=0.01),
}
losses = {
    name: mx.losses.log_loss(model.prequential(X, y, classes=range(4)), y)
    for name, model in forecasters.items()
}

print("examples     " + "".join(f"{name:>18}" for name in losses))
for start in range(0, 6000, 500):
    jump = "  <- the truth jumps" if start and start % 2000 == 0 else ""
    print(
        f"{start:5}-{start + 500:5}  "
        + "".join(f"{loss[start : start + 500].mean():18.3f}" for loss in losses.values())
        + jump
    )
print("all          " + "".join(f"{loss.mean():18.3f}" for loss in losses.values()))

# Output:
# examples             mixed over           drift=0        drift=0.01
#     0-  500               0.510             0.508             0.520
#   500- 1000               0.370             0.369             0.414
#  1000- 1500               0.313             0.312             0.360
#  1500- 2000               0.307             0.313             0.375
#  2000- 2500               0.579             0.910             0.581  <- the truth jumps
#  2500- 3000               0.252             0.468             0.303
#  3000- 3500               0.260             0.409             0.309
#  3500- 4000               0.251             0.375             0.315
#  4000- 4500               0.556             1.202             0.560  <- the truth jumps
#  4500- 5000               0.284             0.628             0.335
#  5000- 5500               0.309             0.540             0.352
#  5500- 6000               0.316             0.516             0.381
# all                       0.359             0.546             0.400
