"""Labels as scikit-learn has them: a column of one kind."""

import numpy as np
import pytest

from mixable import GAFClassifier
from mixable.estimators.classifier import check_kinds


@pytest.mark.parametrize(
    "y", [[0, 1, 5], ["a", "b", "a"], [True, False, True], np.array(["a", "b", "a"], dtype=object)]
)
def test_columns_of_one_kind_are_kept(y):
    assert GAFClassifier()._outcomes(y, 3).tolist() == list(y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([0, 1], r"inconsistent numbers of samples: \[3, 2\]"),
        ([0.5, 1.5, 2.5], "Unknown label type"),
        ([0.0, 1.0, np.nan], "NaN or infinity"),
        (np.array(["a", None, "b"], dtype=object), "NaN or None"),
        ([float("nan"), "a", "b"], "NaN or None"),
        (("a", np.float32("nan"), "b"), "NaN or None"),
        (np.array(["a", 1, "b"], dtype=object), "1 is a number, and 'a' is text; convert them"),
        (np.eye(3), "y should be a 1d array"),
    ],
)
def test_others_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        GAFClassifier()._outcomes(y, 3)


def test_numbers_of_any_type_go_together_and_truth_is_no_number():
    check_kinds([1, 2.0, np.int8(3)], 0)
    for label, known in ((True, 1), (1, True), ("1", 1)):
        with pytest.raises(ValueError, match="one kind"):
            check_kinds([label], known)
