"""What a notebook shows of a fitted estimator: true, short, and escaped."""

import copy
import pickle
import re

import numpy as np
import pytest
from sklearn import config_context
from streams import logistic_stream

import mixable
from mixable import FTRL, GAFClassifier, GAFRegressor
from mixable.estimators.shown import MOST_NAMES, heaviest, summary

X, Y = logistic_stream(120, 3, 3)
QUICK = {"effort": "low", "kernel": None}
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&lt;b&gt;'"]


def shown(model):
    """What a notebook shows, without the styles and scripts of scikit-learn's diagram."""
    text = model._repr_html_()
    assert model._repr_mimebundle_()["text/html"].endswith(text[text.rindex("<table") :])
    return text


def test_hostile_names_are_text():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=HOSTILE)
    names = np.array(HOSTILE)[Y]
    model = GAFClassifier(class_weight={HOSTILE[0]: 2.0}, **QUICK).fit(frame, names)
    page = shown(model)
    clean = shown(GAFClassifier(class_weight={"a": 2.0}, **QUICK).fit(X, np.array(list("abc"))[Y]))
    assert "<script>alert" not in page
    for tag in ("<script", "<img", "<b>", "onerror=alert(1)>"):
        # As many as without such names: those of the diagram.
        assert page.count(tag) == clean.count(tag)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page[page.rindex("<table") :]
    assert "&amp;lt;b&amp;gt;&#x27;" in page[page.rindex("<table") :]


def test_it_says_what_was_learned_and_how_well():
    model = GAFClassifier(**QUICK)
    p = model.prequential(X, Y, classes=[0, 1, 2])
    said = summary(model)
    assert said["learned"] == "120 rows of 3 columns"
    assert said["classes"] == "3: 0, 1, 2"
    loss = float(re.match(r"[\d.]+", said["log loss so far"]).group())
    assert loss == pytest.approx(-np.log(p[np.arange(120), Y]).mean(), rel=1e-3)
    half = GAFClassifier(**QUICK)
    half.prequential(X[:60], Y[:60], classes=[0, 1, 2])
    half.prequential(X[60:], Y[60:])
    assert summary(half) == said


def test_the_error_of_a_regressor_is_in_the_units_of_the_target():
    model, y = GAFRegressor(**QUICK), X @ [1.0, 2.0, 3.0]
    mean = model.prequential(X, y, sample_weight=np.arange(120))
    wanted = np.sqrt(np.average((mean - y) ** 2, weights=np.arange(120)))
    said = summary(model)["error so far"]
    assert float(said.split()[0]) == pytest.approx(wanted, rel=1e-3)


def test_a_loss_belongs_to_one_object():
    model = GAFClassifier(**QUICK)
    model.prequential(X, Y)
    for twin in (
        copy.copy(model),
        pickle.loads(pickle.dumps(model)),
        mixable.loads(mixable.dumps(model)),
    ):
        assert "log loss so far" not in summary(twin)
    assert "log loss so far" not in summary(model.fit(X, Y))


def test_long_lists_and_names_are_cut():
    labels = np.array([f"{k:02d}" + "x" * 100 for k in range(20)])[np.arange(120) % 20]
    said = summary(GAFClassifier(**QUICK).fit(X, labels))["classes"]
    assert said.endswith(f"… and {20 - MOST_NAMES} more")
    assert len(said) < 100 * MOST_NAMES


@pytest.mark.parametrize(
    ("model", "leader"),
    [
        (GAFClassifier(), "pool"),
        (GAFClassifier(kernel=None), "GAF, lam"),
        (GAFClassifier(forecaster=FTRL), "FTRL"),
        (GAFRegressor(), "linear"),
        (GAFRegressor(kernel=None), "lam"),
    ],
)
def test_the_heaviest_come_first(model, leader):
    shares = heaviest(model.fit(X, Y).forecaster_)
    assert any(leader in name for name, _ in shares)
    assert summary(model)["heaviest"].startswith(shares[0][0])
    assert [share for _, share in shares] == sorted((share for _, share in shares), reverse=True)
    assert sum(share for _, share in shares) == pytest.approx(1)


def test_an_unfitted_estimator_and_text_display_are_scikit_learns():
    assert "learned" not in GAFClassifier()._repr_html_().split("</style>")[-1]
    with config_context(display="text"):
        assert not hasattr(GAFClassifier().fit(X, Y), "_repr_html_")
        assert "text/html" not in GAFClassifier()._repr_mimebundle_()
