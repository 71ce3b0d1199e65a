"""Weights by class: in the order of `classes_`, in the caller's units."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from streams import logistic_stream

from mixable import GAFClassifier

LINEAR = {"kernel": None, "effort": "low"}


@pytest.mark.parametrize("K", [2, 3])
def test_weights_follow_the_classes_whatever_came_first(K):
    X, y = logistic_stream(200, 2, K)
    forward = GAFClassifier(**LINEAR).fit(X, y)
    mirrored = GAFClassifier(**LINEAR).fit(X, K - 1 - y)
    rows = 1 if K == 2 else K
    assert forward.coef_.shape == forward.coef_std_.shape == (rows, 2)
    assert forward.intercept_.shape == (rows,)
    wanted = -forward.coef_ if K == 2 else forward.coef_[::-1]
    np.testing.assert_allclose(mirrored.coef_, wanted, rtol=1e-6, atol=1e-9)
    assert (forward.coef_std_ > 0).all()


def test_a_class_that_came_later_has_its_place():
    X, _ = logistic_stream(200, 2, 2)
    late = GAFClassifier(**LINEAR).partial_fit(X[:1], ["b"])
    for name in ("a", "c"):
        late.partial_fit(X[:1], [name])
    order = late._order()
    assert [late.learner_.labels[place] for place in order] == ["a", "b", "c"]


def test_there_are_none_before_fit():
    for name in ("coef_", "intercept_", "coef_std_"):
        with pytest.raises(NotFittedError):
            getattr(GAFClassifier(), name)
