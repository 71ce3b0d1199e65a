"""Probabilities in the plane: what is asked, and how it is coloured."""

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import mixable as mx
from mixable import plots
from mixable.plots import drawing

matplotlib.use("Agg")


class Corner:
    """Knows what it is asked: the probability of "b" is in its third column."""

    classes_ = np.array(["a", "b"])

    def predict_proba(self, X):
        self.asked = np.asarray(X)
        return np.column_stack([1 - self.asked[:, 2], self.asked[:, 2]])


def test_surface_asks_at_two_columns_and_the_means_of_others():
    X = np.array([[1.0, 0.0, 0.1, 7.0], [3.0, 5.0, 0.9, 9.0]])
    model = Corner()
    ax = plots.surface(model, X, columns=(2, 0), label="b", resolution=11)
    assert model.asked.shape == (121, 4)
    assert np.unique(model.asked[:, 1]) == pytest.approx([2.5])
    assert np.unique(model.asked[:, 3]) == pytest.approx([8.0])
    across, up = np.linspace(0.06, 0.94, 11), np.linspace(0.9, 3.1, 11)
    image = ax.images[0]
    assert np.asarray(image.get_array()) == pytest.approx(np.tile(across, (11, 1)))
    assert model.asked[:, 0].reshape(11, 11) == pytest.approx(np.tile(up[:, None], (1, 11)))
    assert image.get_extent() == pytest.approx([0.016, 0.984, 0.79, 3.21])
    assert image.origin == "lower"
    assert ax.collections[-1].get_offsets().tolist() == X[:, [2, 0]].tolist()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column 2", "column 0")
    assert ax.get_title() == "2 other columns at the mean"
    assert ax.figure.axes[-1].get_ylabel() == "probability of b"


def test_surface_mixes_the_colours_of_the_classes(stream):
    X, y, model, _ = stream
    ax = plots.surface(model, X, y, columns=[1, 0], resolution=7)
    shading = np.asarray(ax.images[0].get_array())
    x = X.mean(axis=0)
    low, high = X.min(axis=0), X.max(axis=0)
    x[1], x[0] = (high + 0.05 * (high - low))[1], (low - 0.05 * (high - low))[0]
    p = model.predict_proba(x[None])[0]  # the corner to the right, at the bottom
    colours = [matplotlib.colors.to_rgb(style["color"]) for style in drawing.STYLES[:3]]
    assert shading[0, -1] == pytest.approx(1 - 0.6 * (p @ (1 - np.array(colours))))
    points = ax.collections[-3:]
    assert [each.get_label() for each in points] == ["maybe", "no", "yes"]
    for each in points:
        assert np.array_equal(each.get_offsets(), X[y == each.get_label()][:, [1, 0]])


def test_surface_draws_the_border_between_classes():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.where(X[:, 0] > 0.3, 1, 0)
    f = mx.GAF(2, 2)
    f.run(X, y)
    border = plots.surface(f, X).collections[0].get_paths()[0].vertices
    assert f.predict(border)[:, 1] == pytest.approx(np.full(len(border), 0.5), abs=0.01)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_surface_takes_columns_by_name(stream, kind):
    X, y, *_ = stream
    names = ["a$b$", "_b", *(f"x{i}" for i in range(X.shape[1] - 2))]
    table = kind(dict(zip(names, X.T, strict=True)))
    model = mx.GAFClassifier(kernel=None).fit(table, y)
    ax = plots.surface(model, table, y, columns=("_b", "a$b$"), label="no", resolution=5)
    same = plots.surface(
        mx.GAFClassifier(kernel=None).fit(X, y), X, y, columns=(1, 0), label="no", resolution=5
    )
    ours, plain = (np.asarray(each.images[0].get_array()) for each in (ax, same))
    assert ours == pytest.approx(plain)
    assert ax.get_xlabel() == "_b"
    ax.figure.canvas.draw()


def test_surface_of_another_classifier_and_of_a_constant_column():
    X = np.column_stack([np.full(20, 3.0), np.arange(20.0)])
    y = np.arange(20) % 2
    for model in (LogisticRegression().fit(X, y), DummyClassifier().fit(X, y)):
        ax = plots.surface(model, X, y, label=1)
        assert ax.get_xlim() == pytest.approx((1.5, 4.5), abs=0.1)
