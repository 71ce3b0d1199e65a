"""Data that the estimators' tests share."""

import numpy as np
import pytest
from sklearn.datasets import load_iris


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    return X[order], y[order]


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, 100.0, 1e-3] + [0.0, 50.0, 1.0]
    return X, X @ [1.0, -0.02, 500.0] + 7 + 0.3 * rng.normal(size=300)
