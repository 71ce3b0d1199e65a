"""Dictionaries with text, missing values and features that come later, in river's pipeline."""

import random

from river import compose, preprocessing

import mixable as mx

random.seed(0)


def visits(n):
    """Visits to a shop; from the middle of the stream on there is a new field."""
    for number in range(n):
        x = {"country": random.choice(["fr", "it", "no"]), "minutes": random.expovariate(0.2)}
        if random.random() < 0.2:
            del x["minutes"]
        if number >= n // 2:
            x["basket"] = random.randrange(5)
        score = (
            x.get("minutes", 5) / 5
            + (1 if x["country"] == "no" else 0)
            + 2 * x.get("basket", 0)
            - 3
        )
        yield x, "buys" if random.random() < 1 / (1 + 2.718**-score) else "leaves"


text = compose.Select("country") | preprocessing.OneHotEncoder()
numbers = compose.Discard("country")
model = (text + numbers) | mx.river.GAFClassifier()

scores = mx.metrics.Scores()
for number, (x, label) in enumerate(visits(4000), 1):
    p = model.predict_proba_one(x)
    if number > 10:  # by then both labels are known
        scores.update(p, label)
    model.learn_one(x, label)
    if number % 1000 == 0:
        print(
            f"{number} visits: log loss {scores.log_loss:.2f}, calibration error "
            f"{scores.calibration_error:.2f}"
        )
        scores = mx.metrics.Scores()

# Output:
# 1000 visits: log loss 0.44, calibration error 0.01
# 2000 visits: log loss 0.40, calibration error 0.02
# 3000 visits: log loss 0.32, calibration error 0.02
# 4000 visits: log loss 0.31, calibration error 0.01
