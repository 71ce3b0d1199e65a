"""What the tests of pictures share."""

import matplotlib
import numpy as np
import pytest

import mixable as mx

matplotlib.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def stream():
    """Inputs, labels as texts, and a fitted linear model with the forecasts of its run."""
    X, y = mx.datasets.make_drift(600, kind="jump")
    labels = np.array(["no", "yes", "maybe"])[y % 3]
    model = mx.GAFClassifier(kernel=None)
    return X, labels, model, model.prequential(X, labels, classes=np.unique(labels))
