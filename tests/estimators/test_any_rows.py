"""Rows of any kind: the first ones say which learner there is."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from streams import logistic_stream

from mixable import GAFClassifier, GAFRegressor
from mixable.learner.record_inputs import RecordInputs
from mixable.records import Columns

X, Y = logistic_stream(40, 3, 2)


def test_numbers_records_and_sparse_rows_have_learners_of_their_own():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X[:, 0], "town": np.where(X[:, 1] > 0, "Bonn", "Rome")})
    records = GAFClassifier().fit(frame, Y)
    sparse = GAFClassifier().fit(csr_array(X), Y)
    numbers = GAFClassifier().fit(X, Y)
    assert isinstance(records.learner_.inputs, RecordInputs)
    assert (sparse._is_sparse, records._is_sparse, numbers._is_sparse) == (True, False, False)
    for model, rows in ((records, frame), (sparse, csr_array(X)), (numbers, csr_array(X))):
        assert model.predict_proba(rows).shape == (40, 2)
    assert isinstance(GAFRegressor().fit(frame, X[:, 2]).learner_.inputs, RecordInputs)
    assert GAFRegressor().fit(csr_array(X), X[:, 2])._is_sparse


def test_declared_columns_are_records_though_all_are_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X[:, 0], "shop": np.arange(40) % 3})
    model = GAFClassifier(columns=Columns(category=["shop"])).fit(frame, Y)
    assert model.learner_.inputs.encoder.kinds["shop"] == "category"
    with pytest.raises(ValueError, match="X must be a frame with the columns of the first call"):
        model.predict(frame.to_numpy())


def test_sparse_rows_are_for_mixtures():
    assert GAFClassifier().__sklearn_tags__().input_tags.sparse
    given = {"lam": 1.0, "beta": 1.0, "alpha": 1.0, "drift": 0.0}
    assert GAFClassifier(**given).__sklearn_tags__().input_tags.sparse
    given = GAFClassifier(kernel=None, **given)
    assert not given.__sklearn_tags__().input_tags.sparse
    assert not GAFClassifier(kernel="rbf").__sklearn_tags__().input_tags.sparse
    assert GAFRegressor().__sklearn_tags__().input_tags.sparse
    for given in (GAFRegressor(lam=1.0), GAFRegressor(drift=0.0), GAFRegressor(kernel="rbf")):
        assert not given.__sklearn_tags__().input_tags.sparse


@pytest.mark.parametrize("kind", ["categories", "text"])
def test_pipelines_of_sparse_encoders_work_as_they_come(kind):
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], 300), rng.choice(["s", "l"], 300)
    y = np.where((colour == "red") ^ (rng.random(300) < 0.05), "hot", "cold")
    if kind == "categories":
        rows, encoder = np.column_stack([colour, size]), OneHotEncoder()
    else:
        rows = [f"a {c} hat, size {s}" for c, s in zip(colour, size, strict=True)]
        encoder = HashingVectorizer()
    model = make_pipeline(encoder, GAFClassifier()).fit(rows[:200], y[:200])
    p = model.predict_proba(rows[200:])
    assert p.shape == (100, 2)
    assert model.score(rows[200:], y[200:]) > 0.85
