"""Which rows a classifier takes, and that it keeps to the kind of the first."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from mixable import GAFClassifier

NUMBERS = np.random.default_rng(0).normal(size=(40, 3))
LABELS = (NUMBERS[:, 0] > 0).tolist()
KINDS = {
    "numbers": NUMBERS,
    "records": pd.DataFrame({"a": NUMBERS[:, 0], "b": ["x", "y"] * 20}),
    "sparse": csr_array(np.maximum(NUMBERS, 0)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_rows_decide_what_the_learner_takes(kind):
    model = GAFClassifier().fit(KINDS[kind], LABELS)
    p = model.predict_proba(KINDS[kind])
    assert p.shape == (40, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model._is_sparse == (kind == "sparse")


def test_records_are_not_followed_by_plain_numbers():
    model = GAFClassifier().fit(KINDS["records"], LABELS)
    with pytest.raises(ValueError, match="a frame with the columns of the first call"):
        model.predict_proba(NUMBERS[:, :2])
