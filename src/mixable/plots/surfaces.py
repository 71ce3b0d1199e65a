"""Probabilities of the classes in the plane of two columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mixable import _validate, metrics
from mixable._types import Array, Labels
from mixable.plots.drawing import MARKERS, STYLES, axes_of, column_of, line_style, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRENGTH = 0.6  # of the shading of a class that is certain
LEVELS = ((0.1, ":"), (0.5, "-"), (0.9, "--"))  # probabilities with a line on a surface


def surface(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    columns: tuple[Any, Any] = (0, 1),
    label: Hashable = None,
    resolution: int = 100,
    ax: Axes | None = None,
) -> Axes:
    """Draw a model's probabilities over two columns, the others at their means, and the points.

    The colours of the classes are mixed by their probabilities, and lines are drawn where the most
    probable class changes. With a `label`, the shading is the probability of that class, from white
    (0) to dark (1), with lines at 0.1, 0.5 and 0.9.

    Parameters
    ----------
    model
        A fitted classifier with `predict_proba` and `classes_`, or a forecaster of labels.
    X
        A table (n, d): the range of the two columns, and the means of the others.
    y
        The labels (n,) of the rows, for the points; None: all points look alike.
    columns
        The two columns, by number or by name.
    label
        The class to draw; None: all, up to eight.
    resolution
        Points in each direction at which the model is asked.

    Examples
    --------
    >>> import mixable as mx
    >>> X, y = mx.datasets.make_shapes(300, "circles")
    >>> model = mx.GAFClassifier(kernel=mx.kernels.RBF(50)).fit(X, y)
    >>> ax = mx.plots.surface(model, X, y, label=1)
    >>> ax.images[0].get_array().shape
    (100, 100)
    """
    resolution = _validate.count(resolution, "resolution", least=2, most=2000)
    predict, classes = _forecasts(model)
    rows = _validate.as_floats(X, "X")
    if rows.ndim != 2 or not len(rows):
        raise ValueError(f"X must be a table (n, d), at least one row, got shape {rows.shape}")
    _validate.refuse(~np.isfinite(rows), rows, "X", "inputs must be finite")
    names = _names(X, model, rows.shape[1])
    if len(names) < 2:
        raise ValueError("a surface needs two columns, and X has one")
    pair = _two_columns(columns, names)
    if label is None and len(classes) > len(STYLES):
        raise ValueError(
            f"the model has {len(classes)} classes, and colours differ for {len(STYLES)}: "
            "say which one to draw with label="
        )
    shown = None if label is None else column_of(label, classes)
    kinds = None if y is None else _kinds(y, classes, len(rows))

    first, second = (_range(rows[:, column], resolution) for column in pair)
    grid = np.tile(rows.mean(axis=0), (resolution * resolution, 1))
    grid[:, pair[0]], grid[:, pair[1]] = (each.ravel() for each in np.meshgrid(first, second))
    p = np.asarray(predict(_like(X, grid, names))).reshape(resolution, resolution, len(classes))

    ax = axes_of(ax)
    halves = [(each[1] - each[0]) / 2 for each in (first, second)]
    ends = [(e[0] - h, e[-1] + h) for e, h in zip((first, second), halves, strict=True)]
    options: dict[str, Any] = {"extent": (*ends[0], *ends[1]), "origin": "lower", "aspect": "auto"}
    plane = (first, second)
    if shown is not None:
        image = ax.imshow(p[..., shown], cmap="Greys", vmin=0, vmax=1 / STRENGTH, **options)
        bar = ax.figure.colorbar(image, ax=ax, boundaries=np.linspace(0, 1, 101))
        bar.set_ticks(np.linspace(0, 1, 6).tolist())
        bar.set_label(f"probability of {words(classes[shown])}")
        for level, dashes in LEVELS:
            if p[..., shown].min() < level < p[..., shown].max():
                lines = ax.contour(
                    *plane, p[..., shown], [level], colors="black", linestyles=dashes
                )
                ax.clabel(lines, fontsize=7)
    else:
        ax.imshow(1 - STRENGTH * p @ (1 - _colours(len(classes))), **options)
        for column in range(len(classes)):
            lead = p[..., column] - np.delete(p, column, axis=-1).max(axis=-1, initial=0.0)
            if lead.min() < 0 < lead.max():
                ax.contour(*plane, lead, [0.0], colors="black", linewidths=0.9)
    _points(ax, rows[:, pair], kinds, classes)
    ax.set_xlabel(names[pair[0]], parse_math=False)
    ax.set_ylabel(names[pair[1]], parse_math=False)
    others = rows.shape[1] - 2
    if others:
        title = f"{others} other column{'s' if others > 1 else ''} at the mean"
        ax.set_title(title, fontsize="small")
    return ax


def _forecasts(model: Any) -> tuple[Any, list[Hashable]]:
    """What predicts tables, and the labels of its columns."""
    if hasattr(model, "predict_proba"):
        if not hasattr(model, "classes_"):
            raise ValueError(f"{type(model).__name__} has no classes_: fit it first")
        return model.predict_proba, metrics._plain(model.classes_, "classes_")
    K = getattr(model, "n_classes", None)
    if K is None or not hasattr(model, "predict"):
        kind = type(model).__name__
        raise TypeError(f"model must be a fitted classifier or a forecaster of labels, got {kind}")
    return model.predict, list(range(K))


def _names(X: Any, model: Any, d: int) -> list[str]:
    """The names of the columns, as many as the model wants."""
    sizes = (getattr(model, name, None) for name in ("n_features_in_", "_row_length", "n_features"))
    wanted = next((size for size in sizes if size is not None), d)
    if wanted != d:
        raise ValueError(f"X has {d} columns, and the model has learned {wanted}")
    given = getattr(X, "columns", None)
    if given is None:
        given = getattr(model, "feature_names_in_", None)
    return [f"column {i}" for i in range(d)] if given is None else [str(name) for name in given]


def _two_columns(columns: Any, names: list[str]) -> list[int]:
    """The positions of two columns given by number or name."""
    wanted = list(columns) if isinstance(columns, Sequence) and not isinstance(columns, str) else []
    if len(wanted) != 2:
        raise ValueError(f"columns must be two, by number or name, got {columns!r:.80}")
    out = []
    for each in wanted:
        if isinstance(each, str):
            if each not in names:
                raise ValueError(f"there is no column {each!r:.80}: they are {names!r:.200}")
            out.append(names.index(each))
        else:
            out.append(_validate.count(each, "columns", least=0, most=len(names) - 1))
    if out[0] == out[1]:
        raise ValueError(f"columns must be two different ones, got {columns!r:.80}")
    return out


def _kinds(y: Any, classes: list[Hashable], n: int) -> Labels:
    """The class of each point."""
    given = metrics._plain(y, "y")
    if len(given) != n:
        raise ValueError(f"y must have {n} labels to go with X, got {len(given)}")
    columns = {label: column for column, label in enumerate(classes)}
    unknown = [label for label in given if label not in columns]
    if unknown:
        raise ValueError(f"y has a label that the model does not know: {unknown[0]!r:.80}")
    return np.array([columns[label] for label in given], dtype=np.int_)


def _range(values: Array, resolution: int) -> Array:
    """Points from below the least value to above the greatest."""
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or 0.5 * max(abs(low), 1.0)
    return np.linspace(low - margin, high + margin, resolution)


def _like(X: Any, rows: Array, names: list[str]) -> Any:
    """Rows as a table of X's kind, if its columns have names."""
    if not hasattr(X, "columns"):
        return rows
    is_pandas = hasattr(X, "iloc")
    return type(X)(
        rows, **({"columns": X.columns} if is_pandas else {"schema": names, "orient": "row"})
    )


def _colours(n: int) -> Array:
    """The colours (n, 3) of classes."""
    codes = [line_style(place)["color"] for place in range(n)]
    return np.array([[int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)] for code in codes])


def _points(ax: Axes, where: Array, kinds: Labels | None, classes: list[Hashable]) -> None:
    """The examples, with a marker and a colour for each class."""
    look: dict[str, Any]
    if kinds is None:
        look = {"color": "black", "edgecolors": "white", "linewidths": 0.4, "s": 8}
        ax.scatter(where[:, 0], where[:, 1], **look)
        return
    for column, label in enumerate(classes):
        own = where[kinds == column]
        look = {"marker": MARKERS[column % len(MARKERS)], "s": 18}
        look.update(color=line_style(column)["color"], edgecolors="white", linewidths=0.5)
        ax.scatter(own[:, 0], own[:, 1], **look, label=words(label))
    ax.legend(fontsize="small")
