"""`coef_`, `intercept_` and `coef_std_` go by the sorted classes."""

import numpy as np
from sklearn.datasets import load_iris

from mixable import GAFClassifier

OPTIONS = {"lam": 1.0, "beta": 0.5, "alpha": 0.5, "drift": 0.0, "standardize": False}


def test_renamed_labels_bring_their_weights_along():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    plain = GAFClassifier(**OPTIONS).fit(X, y)
    turned = GAFClassifier(**OPTIONS).partial_fit(X, 2 - y)  # met in another order than sorted
    for name in ("coef_", "intercept_", "coef_std_"):
        expected = getattr(GAFClassifier(**OPTIONS).partial_fit(X, y), name)[::-1]
        np.testing.assert_allclose(getattr(turned, name), expected, atol=1e-9)
    assert plain.coef_.shape == plain.coef_std_.shape == (3, 4)
    assert plain.intercept_.shape == (3,)


def test_of_two_classes_there_is_one_row_and_its_sign_is_that_of_the_second():
    x = np.linspace(-1, 1, 50)[:, None]
    model = GAFClassifier(**OPTIONS).fit(x, np.where(x[:, 0] > 0, "b", "a"))
    assert model.coef_.shape == model.coef_std_.shape == (1, 1)
    assert model.coef_[0, 0] > 0
    assert model.intercept_.shape == (1,)
