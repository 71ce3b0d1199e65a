"""Rows of any kind: the first ones say which learner there is."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from streams import logistic_stream

from mixable import GAFClassifier, GAFRegressor
from mixable.model.record_inputs import RecordInputs
from mixable.records import Columns, Rows

X, Y = logistic_stream(40, 3, 2)


def test_numbers_records_and_sparse_rows_have_learners_of_their_own():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X[:, 0], "town": np.where(X[:, 1] > 0, "Bonn", "Rome")})
    records = GAFClassifier().fit(frame, Y)
    sparse = GAFClassifier().fit(csr_array(X), Y)
    numbers = GAFClassifier().fit(X, Y)
    assert isinstance(records.learner_.inputs, RecordInputs)
    assert isinstance(sparse._rows(csr_array(X)), Rows)
    assert isinstance(numbers._rows(X), np.ndarray)
    for model, rows in ((records, frame), (sparse, csr_array(X)), (numbers, csr_array(X))):
        assert model.predict_proba(rows).shape == (40, 2)
    assert isinstance(GAFRegressor().fit(frame, X[:, 2]).learner_.inputs, RecordInputs)
    assert isinstance(GAFRegressor().fit(csr_array(X), X[:, 2])._rows(csr_array(X)), Rows)


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


def written(n=40):
    """Columns as people write them: strings, of which some can be read in one way only."""
    days = np.datetime64("2024-01-01") + 9 * np.arange(n)
    numbers = [f"{1000 + 17.25 * t:,.2f}" for t in range(n)]
    return {
        "price": [text.translate(str.maketrans(",.", ".,")) + " €" for text in numbers],
        "cost": [f"${text}" for text in numbers],
        "day": [f"{day.day}/{day.month}/{day.year}" for day in days.astype(object)],
        "sold": [f"{1000 + t:,}" for t in range(n)],
        "colour": ["red", "blue"] * (n // 2),
        "empty": [None] * n,
    }


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_as_people_write_them_are_what_they_are(library):
    frames = pytest.importorskip(library)
    make = frames.table if library == "pyarrow" else frames.DataFrame
    model = GAFClassifier()
    with pytest.warns(UserWarning, match=r"column 'sold' has values such as '1,\d+'.*number="):
        model.fit(make(written()), Y)
    assert model.columns_ == {
        "price": "number, decimal comma",
        "cost": "number",
        "day": "time, day first",
        "sold": "category",
        "colour": "category, 2 indicators",
        "empty": "no value so far",
    }
    columns = Columns(number=["sold"], month_first=["day"])
    declared = GAFClassifier(columns=columns).fit(make(written()), Y)  # and nothing is asked
    assert declared.columns_["sold"] == "number"
    assert declared.columns_["day"] == "time, month first"


def test_a_short_table_is_asked_about_at_once_and_later_ones_after_some_rows():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": [f"{t},234" for t in range(1, 9)]})
    with pytest.warns(UserWarning, match=r"column 'n' has values such as '\d,234'"):
        GAFRegressor().fit(frame, np.arange(8.0))
    model = GAFRegressor().partial_fit(frame, np.arange(8.0))  # more may come that tells
    model.partial_fit(pandas.DataFrame({"n": ["0,5"] * 24}), np.arange(24.0))
    assert model.columns_ == {"n": "number, decimal comma"}


def test_numbers_are_numbers_by_name_or_by_place():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(AttributeError):
        GAFClassifier().columns_  # noqa: B018  # a property
    assert GAFClassifier().fit(X, Y).columns_ == dict.fromkeys(range(3), "number")
    named = GAFRegressor().fit(pandas.DataFrame(X, columns=list("abc")), X[:, 0])
    assert named.columns_ == dict.fromkeys("abc", "number")


def test_what_columns_are_taken_for_is_said_and_shown(capsys):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"price": ["1,5", "2,5"] * 20, "colour": ["red", "blue"] * 20})
    model = GAFClassifier(verbose=1).fit(frame, Y)
    line = "columns are 2: price (number, decimal comma), colour (category, 2 indicators)"
    assert f"GAFClassifier: {line}\n" in capsys.readouterr().err
    assert "price (number, decimal comma), colour (category, 2 indicators)" in model._repr_html_()
    model.partial_fit(frame, Y)
    assert "columns are" not in capsys.readouterr().err  # it was said


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_in_another_order_are_matched_by_name(library):
    frames = pytest.importorskip(library)
    make = frames.table if library == "pyarrow" else frames.DataFrame
    numbers = {"a": X[:, 0], "b": X[:, 1]}
    for columns in (numbers, {**numbers, "word": np.where(Y == 1, "x", "y").tolist()}):
        turned = make(dict(reversed(columns.items())))
        model, other = (GAFClassifier().fit(make(columns), Y) for _ in range(2))
        np.testing.assert_array_equal(
            model.predict_proba(turned), model.predict_proba(make(columns))
        )
        model.partial_fit(make(columns), Y)
        other.partial_fit(turned, Y)
        np.testing.assert_array_equal(model.predict_proba(turned), other.predict_proba(turned))
        assert list(model.columns_) == list(columns)


@pytest.mark.parametrize("verb", ["fit", "partial_fit", "prequential"])
def test_names_of_columns_that_are_not_there_are_refused_with_the_nearest(verb):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X[:, 0], "zip_code": ["a", "b"] * 20})
    for columns, name in (
        (Columns(category=["zip"]), "zip"),
        (Columns(ignore=["zipcode"]), "zipcode"),
        (Columns(cross=[("x", "zip_cod")]), "zip_cod"),
        (Columns(decimal_comma=["Zip_Code"]), "Zip_Code"),
    ):
        model = GAFClassifier(columns=columns)
        why = f"X has no column '{name}', which is declared; did you mean 'zip_code'"
        with pytest.raises(ValueError, match=why):
            getattr(model, verb)(frame, Y)
        assert not hasattr(model, "learner_")


def test_two_columns_of_one_name_are_refused_by_name():
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")
    words = np.array(["u", "v"] * 20, object)
    twice = [
        pandas.DataFrame(np.column_stack([X[:, 0], X[:, 1]]), columns=["a", "a"]),
        pandas.DataFrame(np.column_stack([words, words]), columns=["a", "a"]),
        arrow.table([words.tolist(), X[:, 0]], names=["a", "a"]),
    ]
    for table in twice:
        with pytest.raises(ValueError, match="two columns of the table are called 'a'"):
            GAFClassifier().fit(table, Y)
    model = GAFClassifier().fit(pandas.DataFrame({"a": words, "b": words}), Y)
    with pytest.raises(ValueError, match="two columns of the table are called 'a'"):
        model.predict(twice[1])
