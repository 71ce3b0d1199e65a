"""A truth that jumps every 2,000 examples: log loss by stretches of 500, with and without drift in
the mixture.
"""

import mixable as mx

X, y = mx.datasets.make_drift(6000, kind="jump")
forecasters = {
    "GAFClassifier()": mx.GAFClassifier(),
    "drift=0": mx.GAFClassifier(drift=0.0),
    "drift=0.01": mx.GAFClassifier(drift=0.01),
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
# examples        GAFClassifier()           drift=0        drift=0.01
#     0-  500               0.509             0.509             0.523
#   500- 1000               0.367             0.367             0.424
#  1000- 1500               0.315             0.315             0.358
#  1500- 2000               0.314             0.310             0.354
#  2000- 2500               0.608             1.023             0.649  <- the truth jumps
#  2500- 3000               0.298             0.459             0.306
#  3000- 3500               0.295             0.397             0.313
#  3500- 4000               0.276             0.362             0.322
#  4000- 4500               0.598             1.628             0.573  <- the truth jumps
#  4500- 5000               0.301             0.537             0.348
#  5000- 5500               0.317             0.424             0.366
#  5500- 6000               0.321             0.360             0.395
# all                       0.377             0.558             0.411
