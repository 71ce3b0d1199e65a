"""mixable.metrics against scikit-learn's and against definitions."""

import copy
import itertools

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss
from streams import share

from mixable import GAFClassifier, metrics


@pytest.fixture
def forecasts():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5, 1.0, 2.0], size=400)
    return p, np.array([rng.choice(3, p=row) for row in p]), rng.random(400)


@pytest.mark.parametrize("weighted", [False, True])
def test_same_as_scikit_learns(forecasts, weighted):
    p, y, weight = forecasts
    w = weight if weighted else None
    assert metrics.log_loss(p, y, w) == pytest.approx(
        sklearn_log_loss(y, p, sample_weight=w), abs=1e-12
    )
    assert metrics.accuracy(p, y, w) == pytest.approx(
        accuracy_score(y, p.argmax(axis=1), sample_weight=w), abs=1e-12
    )
    binary = p[:, :2] / p[:, :2].sum(axis=1, keepdims=True)
    labels = np.minimum(y, 1)
    assert metrics.brier(binary, labels, w) == pytest.approx(
        2 * brier_score_loss(labels, binary[:, 1], sample_weight=w), abs=1e-12
    )


def test_streaming_is_batch(forecasts):
    p, y, weight = forecasts
    stream = metrics.Scores()
    for row, label, w in zip(p, y, weight, strict=True):
        stream.update(row, int(label), w)
    batch = metrics.scores(p, y, weight=weight)
    for name in ("log_loss", "brier", "accuracy", "calibration_error"):
        assert getattr(stream, name) == pytest.approx(getattr(batch, name), abs=1e-12)
    assert stream.n == batch.n == 400
    assert [b.n for b in stream.reliability()] == [b.n for b in batch.reliability()]


def test_calibration_error_is_that_of_the_reliability_table(forecasts):
    p, y, _ = forecasts
    table = metrics.reliability(p, y)
    assert sum(b.n for b in table) == 400
    by_hand = sum(b.n / 400 * abs(b.confidence - b.accuracy) for b in table)
    assert metrics.calibration_error(p, y) == pytest.approx(by_hand, abs=1e-12)
    assert metrics.calibration_error(p, y) < 0.08  # labels were drawn from the forecasts
    sure = np.tile([0.0, 0.0, 1.0], (400, 1))
    assert metrics.calibration_error(sure, y) == pytest.approx(1 - share(y == 2))
    for b in table:
        inside = (p.max(axis=1) >= b.low) & (p.max(axis=1) < b.high)
        assert b.confidence == pytest.approx(p.max(axis=1)[inside].mean())
        assert b.accuracy == pytest.approx(share((p.argmax(axis=1) == y)[inside]))


def test_a_class_never_met_costs_what_certainty_of_something_else_costs():
    assert metrics.log_loss([[0.5, 0.5]], [2]) == pytest.approx(-np.log(np.finfo(float).eps))
    stream = metrics.Scores()
    stream.update({"a": 0.7, "b": 0.3}, "c")
    stream.update({}, "a")
    assert stream.log_loss == pytest.approx(-np.log(np.finfo(float).eps))
    assert stream.accuracy == 0
    stream.update({"a": 0.7, "b": 0.3}, "a")
    assert stream.accuracy == pytest.approx(1 / 3)


def test_bad_input():
    with pytest.raises(ValueError, match=r"p\[1\] is not a row of probabilities"):
        metrics.log_loss([[0.5, 0.5], [0.9, 0.2]], [0, 1])
    with pytest.raises(ValueError, match=r"y\[0\] is -1"):
        metrics.log_loss([[0.5, 0.5]], [-1])
    with pytest.raises(ValueError, match="sum to 1"):
        metrics.Scores().update([0.5, 0.6], 0)
    with pytest.raises(ValueError, match="at least one row"):
        metrics.accuracy(np.empty((0, 2)), [])
    with pytest.raises(TypeError, match="integer"):
        metrics.Scores().update([0.5, 0.5], "a")
    assert np.isnan(metrics.Scores().log_loss)


@pytest.mark.parametrize("weight", [1e280, 1e281, 1e300, 1e308])
def test_scores_that_count_a_weight_can_be_copied(weight):
    """Found by tests/fuzz_api.py: the scores of a weight of 1e308 could not be loaded."""
    scores = metrics.Scores(bins=1)
    counts = (
        lambda: scores.update([0.5, 0.5], 0, weight),
        lambda: scores.update_many([[0.5, 0.5]], [1], [weight]),
    )
    for count in 2 * counts:
        if weight > 1e280:
            with pytest.raises(ValueError, match="weight"):
                count()
        else:
            count()
    twin = copy.deepcopy(scores)
    assert twin.n == scores.n == (4 if weight == 1e280 else 0)
    assert twin.n == 0 or twin.log_loss == scores.log_loss == pytest.approx(np.log(2))


def test_string_labels_and_rows_of_one_who_knew_no_class():
    p = [[0.0, 0.0], [0.3, 0.7], [0.6, 0.4]]
    unknown = -np.log(np.finfo(float).eps)
    assert metrics.log_loss(p, ["a", "b", "c"], classes=["a", "b"]) == pytest.approx(
        (2 * unknown - np.log(0.7)) / 3
    )
    assert metrics.accuracy(p, [0, 1, 1]) == pytest.approx(
        1 / 3
    )  # zeros are no forecast of the first class
    assert metrics.log_loss(p[:1], [0]) == pytest.approx(unknown)
    assert metrics.log_loss([[0.5, 0.5]] * 2, [0, "x"], classes=[0, 1]) == pytest.approx(
        (np.log(2) + unknown) / 2
    )
    with pytest.raises(ValueError, match="y must be a column of labels"):
        metrics.log_loss(p, [["a"], ["b"], ["c"]], classes=["a", "b"])
    for classes in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="2 different labels"):
            metrics.log_loss(p, ["a", "b", "c"], classes=classes)
    with pytest.raises(ValueError, match="3 labels to go with p"):
        metrics.log_loss(p, ["a"], classes=["a", "b"])


def test_what_prequential_returns_can_be_scored():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.array(["no", "yes"])[np.arange(60) % 2]
    model = GAFClassifier()
    p = model.prequential(X, y)
    assert p[0].tolist() == [0, 0]
    assert 0.5 < metrics.log_loss(p, y, classes=model.classes_) < 3


def test_the_bits_of_scores_do_not_depend_on_how_forecasts_arrive():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(5), size=301), rng.integers(0, 5, 301)
    states = []
    for cuts in ([0, 301], [0, 1, 50, 51, 300, 301], list(range(302))):
        stream = metrics.Scores()
        for begin, end in itertools.pairwise(cuts):
            stream.update_many(p[begin:end], y[begin:end])
        states.append((stream.log_loss, stream.brier, stream.accuracy, stream.calibration_error))
    assert len(set(states)) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("_sure", 1e300), ("_right", 3.0), ("_binned_weight", 1e9), ("_weight", 7.0)],
)
def test_saved_scores_whose_bins_do_not_go_together_are_refused(name, value):
    """A forged file gave an infinite calibration error."""
    s = metrics.Scores(2)
    s.update_many([[0.2, 0.8], [0.6, 0.4]], [1, 1])
    state = s.__getstate__()
    state[name] = np.full(2, value) if isinstance(state[name], np.ndarray) else value
    with pytest.raises(ValueError, match="do not go with their weights"):
        metrics.Scores.__new__(metrics.Scores).__setstate__(state)
    metrics.Scores.__new__(metrics.Scores).__setstate__(s.__getstate__())
