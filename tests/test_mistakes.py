"""Mistakes of the first hour: each error says what to do next."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mixable as mx
from mixable import GAFClassifier, GAFRegressor
from mixable.river import GAFRegressor as RiverRegressor

pandas = pytest.importorskip("pandas")

X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.arange(20) % 2
NUMBERS = X[:, 0]
FRAME = pandas.DataFrame(X, columns=["age", "pay"])
TEXT = pandas.DataFrame({"age": NUMBERS, "town": ["Rome", "Bonn"] * 10})
DATES = pandas.DataFrame({"day": pandas.date_range("2020", periods=20)})
QUICK = {"effort": "low", "kernel": None}


def classifier(**options):
    return GAFClassifier(**QUICK, **options)


def regressor(**options):
    return GAFRegressor(**QUICK, **options)


# What was done; the error; words of the message: what is wrong, and what to do next.
MISTAKES = {
    "text in an array of a regressor": (
        lambda: regressor().fit(TEXT.to_numpy(), NUMBERS),
        ValueError,
        ["text in X", "give GAFRegressor a frame of pandas, Polars or Arrow"],
    ),
    "text for a regressor with lam": (
        lambda: regressor(lam=1.0).fit(TEXT, NUMBERS),
        TypeError,
        ["text, categories and sparse rows need", "neither lam nor drift"],
    ),
    "text in an array": (
        lambda: classifier().fit(TEXT.to_numpy(), Y),
        ValueError,
        ["text in X", "frame of pandas, Polars or Arrow"],
    ),
    "text for river's regressor with a kernel": (
        lambda: RiverRegressor(kernel="rbf").learn_one({"town": "Rome"}, 1.0),
        TypeError,
        ["text, categories and sparse rows need", "kernel='auto' or None"],
    ),
    "dates where there were numbers": (
        lambda: regressor().fit(FRAME[["age"]], NUMBERS).predict(DATES.set_axis(["age"], axis=1)),
        TypeError,
        ["column 'age' holds dates", "the hour of the day"],
    ),
    "the name of a file as X": (
        lambda: classifier().fit("data.csv", Y),
        ValueError,
        ["X is text", "pandas.read_csv('data.csv')"],
    ),
    "a generator as X": (
        lambda: classifier().fit((row for row in X), Y),
        TypeError,
        ["X is a generator", "np.array(list(X))", "partial_fit"],
    ),
    "a generator as y": (
        lambda: classifier().fit(X, (label for label in Y)),
        ValueError,
        ["y is a generator", "list(y)"],
    ),
    "dictionaries as X": (
        lambda: classifier().fit([{"age": 1.0}] * 20, Y),
        TypeError,
        ["list of dictionaries", "pandas.DataFrame(X)", "mixable.river"],
    ),
    "infinite numbers in X": (
        lambda: classifier().fit(np.where(X > 1, np.inf, X), Y),
        ValueError,
        ["infinity", "NaN is taken as missing"],
    ),
    "one row as X": (
        lambda: classifier().fit(X, Y).predict(X[0]),
        ValueError,
        ["Expected 2D array", "array.reshape(1, -1)"],
    ),
    "NaN among targets": (
        lambda: regressor().fit(X, np.where(Y == 1, np.nan, 1.0)),
        ValueError,
        ["y contains NaN", "Leave out the rows", "row 1"],
    ),
    "None among labels": (
        lambda: classifier().fit(X, np.array(["a", "b", None, "a"] * 5, dtype=object)),
        ValueError,
        ["NaN or None", "Leave out the rows", "row 2"],
    ),
    "numbers as labels": (
        lambda: classifier().fit(X, NUMBERS),
        ValueError,
        ["Unknown label type", "use GAFRegressor", "y.astype(str)"],
    ),
    "labels as targets": (
        lambda: regressor().fit(X, np.where(Y == 1, "yes", "no")),
        ValueError,
        ["could not convert", "use GAFClassifier"],
    ),
    "one-hot columns as labels": (
        lambda: classifier().fit(X, np.eye(2)[Y]),
        ValueError,
        ["1d array", "y.argmax(axis=1)"],
    ),
    "labels of two kinds": (
        lambda: classifier().partial_fit(X, Y).partial_fit(X, Y.astype(str)),
        ValueError,
        ["'0' is text, and 0 is a number", "y.astype(str)"],
    ),
    "one class only": (
        lambda: classifier().fit(X, np.zeros(20, dtype=int)),
        UserWarning,
        ["one class only, 0", "two classes or more", "partial_fit"],
    ),
    "a class that was not named": (
        lambda: classifier().partial_fit(X, Y, classes=[0, 1]).partial_fit(X[:1], [2]),
        ValueError,
        ["not in classes: [2]", "name all in the first call, or none"],
    ),
    "more rows than labels": (
        lambda: classifier().fit(X, Y[:5]),
        ValueError,
        ["X has 20 rows and y has 5 entries", "each row needs one"],
    ),
    "negative weights": (
        lambda: classifier().fit(X, Y, sample_weight=-np.ones(20)),
        ValueError,
        ["Negative values", "A row of weight 0 is left out"],
    ),
    "too few weights": (
        lambda: classifier().fit(X, Y, sample_weight=np.ones(3)),
        ValueError,
        ["(3,), expected (20,)", "Each row of X needs one"],
    ),
    "a misspelt parameter": (
        lambda: GAFClassifier(lamda=1.0),
        TypeError,
        ["no parameter 'lamda'", "did you mean 'lam'?"],
    ),
    "a misspelt option": (
        lambda: GAFClassifier(effort="hihg").fit(X, Y),
        ValueError,
        ["effort must be one of 'low', 'auto', 'high'"],
    ),
    "a misspelt class": (
        lambda: mx.GAFClasifier,
        AttributeError,
        ["no attribute 'GAFClasifier'", "did you mean 'GAFClassifier'?"],
    ),
    "a misspelt class weight": (
        lambda: classifier(class_weight="balance").fit(X, Y),
        ValueError,
        ["must be None, 'balanced', or a dictionary"],
    ),
    "too many columns": (
        lambda: GAFClassifier(kernel=None, structure="full").fit(np.zeros((2, 200_000)), [0, 1]),
        MemoryError,
        ["200001 features", "fewer columns", "effort='low'", "scipy.sparse"],
    ),
    "a forecast before any label": (
        lambda: classifier().predict_proba(X),
        NotFittedError,
        ["not fitted yet", "Call 'fit'"],
    ),
    "classes before any label": (
        lambda: classifier().classes_,
        AttributeError,
        ["known after fit or partial_fit"],
    ),
    "other columns than before": (
        lambda: classifier().fit(FRAME, Y).predict(FRAME.rename(columns={"pay": "wage"})),
        ValueError,
        ["- wage", "- pay", "Give the columns of the first call, or call fit"],
    ),
    "another number of columns": (
        lambda: classifier().fit(X, Y).predict(X[:, :1]),
        ValueError,
        ["X has 1 features", "expecting 2", "Give the columns of the first call"],
    ),
    "text for a forecaster": (
        lambda: mx.GAF(2, 2).predict(["1.0", "2.0"]),
        TypeError,
        ["x must be numeric", "convert text by np.asarray(x, float)"],
    ),
    "NaN for a forecaster": (
        lambda: mx.GAF(2, 2).predict([np.nan, 1.0]),
        ValueError,
        ["x[0] is nan", "must be finite", "take NaN as missing"],
    ),
    "a label that a forecaster lacks": (
        lambda: mx.GAF(2, 2).learn([1.0, 2.0], 2),
        ValueError,
        ["y is 2", "labels are 0 to 1", "n_classes"],
    ),
    "per cent as a level": (
        lambda: regressor().fit(X, NUMBERS).predict_interval(X, level=95),
        ValueError,
        ["level must be below 1", "0.9 is 90%"],
    ),
    "a class instead of a model": (
        lambda: mx.dumps(GAFClassifier),
        TypeError,
        ["is a class, not a model", "save an object"],
    ),
    "a pipeline": (
        lambda: mx.dumps(make_pipeline(StandardScaler(), classifier())),
        TypeError,
        ["mixable.save(pipeline[-1], path)", "Leave out 'standardscaler'"],
    ),
    "bytes that are text": (
        lambda: mx.loads("model.safetensors"),
        TypeError,
        ["must be bytes, got str", "mixable.load(path)"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_says_what_is_wrong_and_what_to_do(name):
    mistake, error, words = MISTAKES[name]
    with pytest.raises(error) as raised:
        mistake()
    assert not [word for word in words if word not in str(raised.value)], str(raised.value)


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        (b"age,pay\n1,2\n" * 9, ["is not a saved model", "the file that mixable.save wrote"]),
        (pickle.dumps([1]), ["is a pickle", "write it again by mixable.save"]),
        (None, ["is not a file", "name the file"]),
    ],
)
def test_a_wrong_file(tmp_path, contents, words):
    path = tmp_path / "file"
    path.mkdir() if contents is None else path.write_bytes(contents)
    with pytest.raises((ValueError, OSError)) as raised:
        mx.load(path)
    assert not [word for word in words if word not in str(raised.value)], str(raised.value)


@pytest.mark.parametrize(
    ("lacking", "code", "extra"),
    [
        ("river", "import mixable.river", "mixable[river]"),
        ("matplotlib", "import mixable.plots as p; p.learning_curve([[1.0]], [0])", "mixable[cli]"),
        ("typer", "import mixable.cli; mixable.cli.main()", "mixable[cli]"),
    ],
)
def test_a_missing_extra_is_named(tmp_path, lacking, code, extra):
    error = f"raise ModuleNotFoundError('no {lacking}', name={lacking!r})"
    (tmp_path / f"{lacking}.py").write_text(error)
    source = str(Path(mx.__file__).parent.parent)
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {source!r}]; {code}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode
    assert f'pip install "{extra}"' in run.stderr.splitlines()[-1]
