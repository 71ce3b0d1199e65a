"""Learning curves and calibration: the data in what is drawn."""

from itertools import pairwise

import matplotlib
import numpy as np
import pytest

import mixable as mx
from mixable import plots
from mixable.metrics import LEAST

matplotlib.use("Agg")


def drawn(ax):
    """Each line of the legend, by its name."""
    named = [line for line in ax.lines if not line.get_label().startswith("_")]
    return {line.get_label(): line.get_xydata() for line in named}


def test_learning_curve_is_the_mean_log_loss_so_far(stream):
    _, y, model, p = stream
    ax = plots.learning_curve(p, y, classes=model.classes_, window=50, name="GAF")
    lines = drawn(ax)
    assert list(lines) == ["GAF", "GAF, last 50", "class frequencies"]
    for t in (1, 50, 333, 600):
        loss = mx.metrics.log_loss(p[:t], y[:t], classes=model.classes_)
        assert lines["GAF"][t - 1].tolist() == pytest.approx([t, loss])
    first, *_, last = lines["GAF, last 50"].tolist()
    assert (first[0], last[0]) == (50, 600)
    assert last[1] == pytest.approx(mx.metrics.log_loss(p[-50:], y[-50:], classes=model.classes_))
    assert first[1] == pytest.approx(lines["GAF"][49, 1])
    assert ax.get_xlabel() == "examples seen"
    assert ax.get_ylabel() == "mean log loss (nats per example)"


def test_baseline_is_the_rates_of_the_labels_before_each(stream):
    _, y, model, p = stream
    rates = drawn(plots.learning_curve(p, y, classes=model.classes_))["class frequencies"]
    counts, total = dict.fromkeys(model.classes_, 0.5), 0.0
    for t, label in enumerate(y, start=1):
        total -= np.log(counts[label] / sum(counts.values()))
        counts[label] += 1
        assert rates[t - 1].tolist() == pytest.approx([t, total / t])


def test_baseline_knows_a_class_once_the_forecaster_could():
    """It pays for a new label as the forecaster does, and does not know it before."""
    p = [[0, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0], [0.2, 0.4, 0.4]]
    rates = drawn(plots.learning_curve(p, [0, 1, 0, 7, 2]))["class frequencies"][:, 1]
    each = np.exp(-np.diff(rates * np.arange(1, 6), prepend=0.0))
    # Nothing is known, then 0 alone, then two classes with one label each; 7 has no column and is
    # not learned; the last has three classes, and two labels of 0 and one of 1.
    assert each == pytest.approx([LEAST, LEAST, 1.5 / 3, LEAST, 0.5 / 4.5])


def test_baseline_can_be_left_out_and_runs_share_axes(stream):
    _, y, model, p = stream
    ax = plots.learning_curve(p, y, classes=model.classes_)
    uniform = np.full_like(p, 1 / 3)
    options = {"classes": model.classes_, "name": "uniform", "baseline": False}
    assert plots.learning_curve(uniform, y, **options, ax=ax) is ax
    lines = drawn(ax)
    assert list(lines) == ["forecasts", "class frequencies", "uniform"]
    assert lines["uniform"][:, 1] == pytest.approx(np.full(600, np.log(3)))
    assert ax.get_ylim()[1] > max(np.log(3), lines["class frequencies"][60:, 1].max())
    styles = {str(line.get_linestyle()) + str(line._dash_pattern) for line in ax.lines}
    assert len(styles) == 3


def test_learning_curve_shows_all_but_its_beginning():
    """New labels at the start cost 36 nats each; the axes are for what comes later."""
    p = np.full((1000, 2), 0.5)
    p[:3] = 0
    ax = plots.learning_curve(p, [0, 1] * 500)
    assert drawn(ax)["forecasts"][0, 1] > 36
    assert 0.8 < ax.get_ylim()[1] < 3


def test_reliability_is_the_rate_in_each_bin(stream):
    _, y, model, p = stream
    ax = plots.reliability(p, y, classes=model.classes_, bins=5)
    lines, (panel,) = drawn(ax), ax.child_axes
    assert len(lines) == len(panel.patches) == 3
    for column, (label, steps) in enumerate(zip(model.classes_, panel.patches, strict=True)):
        points = lines[f"{label} ({np.count_nonzero(y == label)} of 600)"]
        expected, counts = [], []
        for low, high in pairwise([0, 0.2, 0.4, 0.6, 0.8, 1.01]):
            inside = (p[:, column] >= low) & (p[:, column] < high)
            counts.append(np.count_nonzero(inside))
            if counts[-1]:
                share = np.count_nonzero(y[inside] == label) / counts[-1]
                expected.append([p[inside, column].mean(), share])
        assert points == pytest.approx(np.array(expected))
        assert steps.get_data().values.tolist() == counts
    assert panel.get_xlabel() == "forecast probability of the class"


def test_reliability_of_some_classes_and_of_certainty():
    p = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    ax = plots.reliability(p, ["a", "c", "b"], classes=["a", "b"], only=["a"])
    assert {name: line.tolist() for name, line in drawn(ax).items()} == {
        "a (1 of 3)": [[0.0, 0.0], [1.0, 0.5]]
    }
    plots.reliability(p, [0, 1, 1], only=[1], ax=ax)
    assert len(drawn(ax)) == 2
    assert len(ax.child_axes) == 1


def test_a_window_alone_and_a_logarithmic_scale(stream):
    _, y, model, p = stream
    options = {"classes": model.classes_, "window": 50, "baseline": False}
    both = drawn(plots.learning_curve(p, y, **options))
    ax = plots.learning_curve(p, y, **options, running=False, log_scale=True, name="GAF")
    assert {name: line.tolist() for name, line in drawn(ax).items()} == {
        "GAF": both["forecasts, last 50"].tolist()
    }
    assert len(ax.lines) == 1
    assert ax.get_ylabel() == "mean log loss of the last 50 (nats)"
    assert (ax.get_xscale(), ax.get_xlim()) == ("log", (6, 600))  # all but the first hundredth


def test_models_are_named_when_they_share_axes(stream):
    _, y, model, p = stream
    options = {"classes": model.classes_, "name": "GAF"}
    assert list(drawn(plots.reliability(p, y, **options, only=["no"]))) == ["GAF"]
    assert all(name.startswith("GAF: ") for name in drawn(plots.reliability(p, y, **options)))


def test_what_stands_below_a_picture_is_within_it(stream):
    _, y, model, p = stream
    ax = plots.reliability(p, y, classes=model.classes_)
    (panel,), shown = ax.child_axes, ax.figure.canvas.get_renderer()
    ax.figure.draw_without_rendering()  # as saving does
    assert panel.get_tightbbox(shown).y0 > 0


def test_coverage_is_the_share_of_numbers_inside():
    rng = np.random.default_rng(0)
    y, half = rng.normal(size=400), {0.9: 1.6449, 0.5: 0.6745}
    intervals = {level: [[-end, end]] * 400 for level, end in half.items()}
    ax = plots.coverage(intervals, y, name="true")
    expected = [[level, np.mean(np.abs(y) <= half[level])] for level in (0.5, 0.9)]
    assert drawn(ax)["true"].tolist() == expected
    (band,) = ax.collections
    for level, share in expected:  # two standard errors
        within = band.get_paths()[0].contains_points([(level, level + d) for d in (0.049, 0.051)])
        assert within.tolist() == ([True, False] if level == 0.5 else [False, False])
        assert abs(share - level) < 2 * np.sqrt(level * (1 - level) / 400)
    plots.coverage({0.9: [[0, 0]] * 400}, y, name="narrow", ax=ax)
    assert drawn(ax)["narrow"].tolist() == [[0.9, 0.0]]
    assert len(ax.collections) == 1
