"""Loss over time, calibration and coverage, from forecasts and outcomes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate, metrics
from mixable._types import Array, Labels
from mixable.metrics import Classes
from mixable.plots.drawing import (
    MARKERS,
    axes_of,
    column_of,
    finish,
    line_style,
    named_lines,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BASELINE: dict[str, Any] = {"color": "0.45", "linestyle": (0, (1, 3))}
EARLY = 10  # one in so many examples, the first ones, may cost more than the axes show


def learning_curve(
    p: ArrayLike,
    y: ArrayLike,
    *,
    classes: Classes = None,
    window: int | None = None,
    running: bool = True,
    baseline: bool = True,
    log_scale: bool = False,
    name: str = "forecasts",
    ax: Axes | None = None,
) -> Axes:
    """Draw the running mean of the log loss, beside that of a forecaster that ignores the inputs.

    That one predicts the frequencies of the classes so far, (n_c + 1/2) / (t + K/2) after t labels
    of which n_c were c. Like the forecaster, it knows a class only once it has been met or has had
    a probability; another label costs 36 nats (see `mixable.metrics`).

    The limits of the axes show all but the first tenth (on a logarithmic scale, hundredth), which
    may cost much more. Several runs may share axes.

    Parameters
    ----------
    p
        Probabilities (n, K), each row made before its label was learned: what `prequential` of an
        estimator or `run` of a forecaster returns.
    y
        The labels (n,).
    classes
        The labels of the columns of p, say `model.classes_`; None: 0 to K - 1.
    window
        Also draw the mean over as many examples, those up to each.
    running
        Whether to draw the mean over all examples so far. Without it, only that of the window is
        drawn, which shows a change at once.
    baseline
        Whether to draw the frequencies of the classes.
    log_scale
        Whether the number of examples is on a logarithmic scale.
    name
        What the legend calls the forecasts.

    Examples
    --------
    >>> import mixable as mx
    >>> X, y = mx.datasets.make_drift(500)
    >>> model = mx.GAFClassifier(kernel=None)
    >>> p = model.prequential(X, y)
    >>> ax = mx.plots.learning_curve(p, y, classes=model.classes_, window=100)
    >>> [line.get_label() for line in ax.lines]
    ['forecasts', 'forecasts, last 100', 'class frequencies']
    """
    values, positions = metrics._table(p, y, classes)
    n = len(values)
    if window is not None:
        window = _validate.count(window, "window", most=n)
    for flag, what in ((baseline, "baseline"), (running, "running"), (log_scale, "log_scale")):
        _validate.flag(flag, what)
    if not running and window is None:
        raise ValueError("without running=True there must be a window")
    ax = axes_of(ax)
    early = n // (EARLY**2 if log_scale else EARLY)
    drawn: list[Array] = []

    def draw(mean: Array, label: str, **style: Any) -> None:
        ax.plot(np.arange(n - len(mean) + 1, n + 1), mean, **style, label=label)
        drawn.append(mean[max(0, early - (n - len(mean))) :])

    loss = -np.log(np.maximum(metrics.of_labels(values, positions), metrics.LEAST))
    style = line_style(len(named_lines(ax)))
    if running:
        draw(_running_mean(loss), words(name), **style, linewidth=1.6)
    if window is not None:
        total = np.concatenate([[0.0], np.cumsum(loss)])
        look: dict[str, Any] = {"linewidth": 0.8, "alpha": 0.6} if running else {"linewidth": 1.6}
        label = words(f"{name}, last {window}" if running else name)
        draw((total[window:] - total[:-window]) / window, label, **style, **look)
    if baseline:
        rates = np.maximum(_class_frequencies(values, positions), metrics.LEAST)
        draw(_running_mean(-np.log(rates)), "class frequencies", **BASELINE, linewidth=1.6)
    top = 1.1 * max(float(each.max()) for each in drawn)
    others = len(named_lines(ax)) > len(drawn)
    ax.set_ylim(0, max(top, ax.get_ylim()[1]) if others else max(top, 1e-3))
    what = "(nats per example)" if running else f"of the last {window} (nats)"
    ax.set(xlabel="examples seen", ylabel=f"mean log loss {what}")
    if log_scale:
        ax.set(xscale="log", xlim=(max(early, 1), n))
    finish(ax)
    return ax


def reliability(
    p: ArrayLike,
    y: ArrayLike,
    *,
    classes: Classes = None,
    bins: int = 10,
    only: Sequence[Hashable] | None = None,
    name: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw, for each class, how often it came against the probability that was forecast.

    The forecasts of a class are put into equally wide bins. Each bin that is not empty is a point:
    the mean forecast, and the share of its examples that had the class. On the diagonal the two
    agree. Below are the numbers of forecasts in each bin, as `ax.child_axes[0]`, on a scale that is
    logarithmic above 1; a bin with few of them says little.

    Parameters
    ----------
    p, y, classes
        Probabilities, labels, and the labels of the columns, as in `learning_curve`.
    bins
        Number of bins.
    only
        The classes to draw; None: all. (Of two classes one is the mirror image of the other.)
    name
        What the legend calls the forecasts, if several models share axes.

    Examples
    --------
    >>> import mixable as mx
    >>> p, y = [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]], ["a", "b", "b", "b"]
    >>> ax = mx.plots.reliability(p, y, classes=["a", "b"], bins=2, only=["b"])
    >>> ax.lines[-1].get_xydata().round(2).tolist()
    [[0.15, 0.5], [0.65, 1.0]]
    """
    values, positions = metrics._table(p, y, classes)
    bins = _validate.count(bins, "bins", most=1000)
    n, K = values.shape
    names = list(range(K)) if classes is None else metrics._plain(classes, "classes")
    columns = [column_of(label, names) for label in (names if only is None else list(only))]
    if not columns:
        raise ValueError("there are no classes to draw")
    ax = axes_of(ax)
    panels = [each for each in ax.child_axes if each.get_label() == "counts"]
    panel: Any = (
        panels[0] if panels else ax.inset_axes((0, -0.34, 1, 0.28), sharex=ax, label="counts")
    )
    if not panels:
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    edges = np.linspace(0, 1, bins + 1)
    for place, column in enumerate(columns, start=len(named_lines(ax))):
        forecast, came = values[:, column], positions == column
        bin_of = np.minimum((forecast * bins).astype(np.int_), bins - 1)
        count = np.bincount(bin_of, minlength=bins)
        full = count > 0
        sure = np.bincount(bin_of, forecast, minlength=bins)[full] / count[full]
        rate = np.bincount(bin_of[came], minlength=bins)[full] / count[full]
        label = f"{words(names[column])} ({np.count_nonzero(came)} of {n})"
        if name is not None:
            label = words(name) if len(columns) == 1 else f"{words(name)}: {label}"
        style = line_style(place)
        marker = MARKERS[place % len(MARKERS)]
        ax.plot(sure, rate, **style, linewidth=1.4, marker=marker, markersize=4, label=label)
        panel.stairs(count, edges, **style, linewidth=1.2)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="how often the class came (share)")
    ax.tick_params(labelbottom=False)
    panel.set_yscale("symlog", linthresh=1)
    panel.set_ylim(bottom=0)
    panel.set(xlabel="forecast probability of the class", ylabel="forecasts")
    panel.spines[["top", "right"]].set_visible(False)
    finish(ax)
    # A layout sees the panel below from the second drawing on.
    ax.figure.canvas.figure.draw_without_rendering()
    return ax


def coverage(
    intervals: Mapping[float, ArrayLike],
    y: ArrayLike,
    *,
    name: str = "intervals",
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of numbers that lay in their intervals, against what was promised.

    On the diagonal the two agree. The band has two standard errors of a share of n numbers on
    either side. Below the diagonal the intervals are too narrow. Several models may share axes.

    Parameters
    ----------
    intervals
        For each level between 0 and 1, the ends (n, 2) of its intervals, each made before its
        number was learned: what `predict_interval` of an estimator returns.
    y
        The numbers (n,).
    name
        What the legend calls the intervals.

    Examples
    --------
    >>> import mixable as mx
    >>> y = [1.0, 2.0, 3.0, 4.0]
    >>> ends = {0.5: [[0.5, 2.5]] * 4, 0.9: [[0.0, 3.5]] * 4}
    >>> ax = mx.plots.coverage(ends, y)
    >>> ax.lines[-1].get_xydata().round(2).tolist()
    [[0.5, 0.5], [0.9, 0.75]]
    """
    target = _validate.as_floats(y, "y")
    if target.ndim != 1 or not len(target) or not intervals:
        raise ValueError("there must be a number in y, and a level of intervals")
    shares = []
    for level, given in sorted(intervals.items()):
        if not 0 < level < 1:
            raise ValueError(f"a level of intervals must lie between 0 and 1, got {level!r:.80}")
        ends = _validate.as_floats(given, f"intervals[{level}]")
        if ends.shape != (len(target), 2):
            raise ValueError(
                f"intervals[{level}] must have shape ({len(target)}, 2), got {ends.shape}"
            )
        shares.append((level, ((ends[:, 0] <= target) & (target <= ends[:, 1])).mean()))
    ax = axes_of(ax)
    place = len(named_lines(ax))
    if not place:
        levels = np.linspace(0, 1, 101)
        error = 2 * np.sqrt(levels * (1 - levels) / len(target))
        ax.fill_between(levels, levels - error, levels + error, color="0.9", linewidth=0)
        ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    look = {**line_style(place), "marker": MARKERS[place % len(MARKERS)]}
    ax.plot(*zip(*shares, strict=True), **look, markersize=4, linewidth=1.4, label=words(name))
    ax.set(
        xlim=(0, 1), ylim=(0, 1), xlabel="level of the intervals", ylabel="numbers inside (share)"
    )
    finish(ax)
    return ax


def _running_mean(loss: Array) -> Array:
    return np.asarray(np.cumsum(loss) / np.arange(1, len(loss) + 1))


def _class_frequencies(p: Array, y: Labels) -> Array:
    """The probability of each label by the frequencies of the classes before it."""
    came = np.where(y[:, None] == np.arange(p.shape[1]), 1.0, 0.0)
    before = np.cumsum(came, axis=0) - came  # (n, K): how often each class came before
    known = (before > 0) | np.logical_or.accumulate(p > 0, axis=0)
    prior = np.where(known, 0.5, 0.0)
    total = np.maximum((before + prior).sum(axis=1), 0.5)
    return metrics.of_labels((before + prior) / total[:, None], y)
