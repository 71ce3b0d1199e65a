"""What pictures share: legends, refusals, Matplotlib that is missing."""

import sys

import matplotlib
import numpy as np
import pytest

import mixable as mx
from mixable import plots

matplotlib.use("Agg")

TABLE = np.arange(6.0).reshape(3, 2)


class Corner:
    """Knows what it is asked: the probability of "b" is in its third column."""

    classes_ = np.array(["a", "b"])

    def predict_proba(self, X):
        self.asked = np.asarray(X)
        return np.column_stack([1 - self.asked[:, 2], self.asked[:, 2]])


P, Y = [[0.5, 0.5], [0.2, 0.8]], [0, 1]


def test_legends_show_any_label():
    ax = plots.reliability([[0.5, 0.5]], ["$x"], classes=["$x", "_hidden" + "x" * 100])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [r"\$x (1 of 1)", " _hidden" + "x" * 32 + "… (0 of 1)"]
    ax.figure.canvas.draw()


def fitted():
    return mx.GAFClassifier(kernel=None).fit(TABLE, [0, 1, 0])


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: plots.learning_curve([[0.5, 0.6]], [0]), "not a row of probabilities"),
        (lambda: plots.learning_curve(P, [0]), r"y must have shape \(2,\)"),
        (lambda: plots.learning_curve(P, Y, classes=["a"]), "classes must be the 2 different"),
        (lambda: plots.learning_curve(P, Y, window=3), "window must be at most 2, got 3"),
        (lambda: plots.learning_curve(P, Y, baseline="no"), "baseline must be True or False"),
        (lambda: plots.learning_curve(P, Y, ax=3), "ax must be axes of Matplotlib, got int"),
        (lambda: plots.learning_curve(P, Y, running=False), "there must be a window"),
        (lambda: plots.learning_curve(P, Y, log_scale=1), "log_scale must be True or False"),
        (lambda: plots.coverage({}, Y), "a level of intervals"),
        (lambda: plots.coverage({0.5: P}, []), "there must be a number in y"),
        (lambda: plots.coverage({1.5: P}, Y), "must lie between 0 and 1, got 1.5"),
        (lambda: plots.coverage({0.5: [0, 1]}, Y), r"must have shape \(2, 2\), got \(2,\)"),
        (lambda: plots.posterior(mx.GAF(2, 2, structure="diagonal")), 'structure="full"'),
        (lambda: plots.posterior(mx.GAF(2, 2, alpha=float("inf"))), "finite alpha"),
        (lambda: plots.posterior(mx.GAF(2, 2), (0, 2)), "columns must be at most 1, got 2"),
        (lambda: plots.posterior(mx.GAF(2, 2), labels=(0, 2)), "labels must be at most 1, got 2"),
        (lambda: plots.reliability(P, Y, only=["a"]), r"there is no class 'a': classes are \[0, 1"),
        (lambda: plots.reliability(P, Y, only=[]), "there are no classes to draw"),
        (lambda: plots.expert_weights(mx.GAFClassifier()), "the model has learned nothing"),
        (lambda: plots.expert_weights(mx.GAF(2, 2)), "GAF is no mixture"),
        (lambda: plots.expert_weights(mx.GAF(2, 2), TABLE, [0, 1, 0]), "GAF is no mixture"),
        (lambda: plots.expert_weights(fitted(), by="weights"), "by must be one of 'view', 'lam'"),
        (lambda: plots.expert_weights(fitted(), TABLE), "needs both X and y"),
        (
            lambda: plots.expert_weights(fitted(), TABLE, [0]),
            r"as many rows, at least one, got \[3, 1\]",
        ),
        (
            lambda: plots.expert_weights(fitted(), TABLE, [0, 1, 0], pieces=0),
            "pieces must be at least 1",
        ),
        (
            lambda: plots.expert_weights(mx.AutoGAF(2, 2), TABLE, [0] * 3, classes=[0]),
            "for estimators",
        ),
        (lambda: plots.surface(mx.GAFClassifier(), TABLE), "has no classes_: fit it first"),
        (lambda: plots.surface(mx.AutoRidge(2), TABLE), "fitted classifier or a forecaster of la"),
        (lambda: plots.surface(fitted(), TABLE[:, :1]), "X has 1 columns, and the model has"),
        (lambda: plots.surface(mx.GAF(1, 2), TABLE[:, :1]), "a surface needs two columns"),
        (lambda: plots.surface(fitted(), TABLE[0]), r"X must be a table \(n, d\)"),
        (lambda: plots.surface(fitted(), TABLE * np.nan), r"X\[0, 0\] is nan; inputs must be fin"),
        (lambda: plots.surface(fitted(), TABLE, columns=(0, 2)), "columns must be at most 1"),
        (lambda: plots.surface(fitted(), TABLE, columns=(1, 1)), "two different ones"),
        (lambda: plots.surface(fitted(), TABLE, columns=("a", 1)), "there is no column 'a'"),
        (lambda: plots.surface(fitted(), TABLE, [0, 1]), "y must have 3 labels to go with X"),
        (lambda: plots.surface(fitted(), TABLE, [0, 1, 2]), "the model does not know: 2"),
        (lambda: plots.surface(fitted(), TABLE, label=2), "there is no class 2"),
        (lambda: plots.surface(mx.GAF(2, 9), TABLE), "has 9 classes, and colours differ for 8"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(draw, says):
    with pytest.raises((TypeError, ValueError), match=says):
        draw()


def test_matplotlib_is_asked_for_by_name_of_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError) as error:
        plots.learning_curve(P, Y)
    assert str(error.value) == 'mixable.plots needs Matplotlib: pip install "mixable[cli]"'
