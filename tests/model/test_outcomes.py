"""Outcomes: labels that come at any time, and numbers measured from the first."""

import numpy as np
import pytest
from streams import logistic_stream

from mixable import GAF
from mixable.model import Design, RecordPool
from mixable.model.outcomes import Labels, Targets

X, CODES = logistic_stream(30, 2, 3)
NAMES = np.array(["a", "b", "c"])[CODES].tolist()


def pool():
    return RecordPool(Design.for_numbers({"lam": None}), 2, None)


def test_a_table_is_the_loop_whenever_labels_come():
    whole, f = Labels([]), GAF(2, 2)
    p = whole.run(f, X, NAMES, None)
    each, g = Labels([]), GAF(2, 2)
    for row, label, wanted in zip(X, NAMES, p, strict=True):
        forecast = each.forecast(g.predict(row))
        np.testing.assert_allclose(wanted[: len(forecast)], forecast, atol=1e-12)
        assert not wanted[len(forecast) :].any()  # 0 for labels not met yet
        each.learn(g, row, label, 1.0)
    assert whole.state() == each.state()
    assert f.n_classes == g.n_classes == 3


def test_with_one_label_all_the_probability_is_its_own():
    outcomes, f = Labels([]), GAF(2, 2)
    assert outcomes.forecast(f.predict(X)).shape == (30, 0)
    outcomes.learn(f, X[0], "only", 1.0)
    assert outcomes.forecast(f.predict(X[:2])).tolist() == [[1.0], [1.0]]
    assert outcomes.n_classes == f.n_classes == 2


class Broken(GAF):
    """It fails where it is told to, before or after it has learned."""

    def add_class(self):
        if self.fails == "add_class":
            raise KeyboardInterrupt
        super().add_class()

    def learn(self, x, y, weight=1.0):
        if self.fails == "before":
            raise KeyboardInterrupt
        super().learn(x, y, weight)
        if self.fails == "after":
            raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("fails", "names", "steps"),
    [("add_class", ["a", "b"], 0), ("before", ["a", "b"], 0), ("after", ["a", "b", "new"], 1)],
)
def test_a_label_is_added_with_its_row_or_not_at_all(fails, names, steps):
    outcomes, f = Labels(["a", "b"]), Broken(2, 2)
    f.fails = fails
    with pytest.raises(KeyboardInterrupt):
        outcomes.learn(f, X[0], "new", 1.0)
    assert (outcomes.names, list(outcomes.codes)) == (names, names)
    assert (f.n_classes, f.steps) == (len(names), steps)


def test_numbers_are_measured_from_the_first_that_counts():
    y = 1e6 + X[:, 0]
    weight = np.r_[0.0, 0.0, np.ones(28)]
    outcomes, f = Targets(centred=True), pool()
    mean, std = outcomes.run(f, X, y, weight)
    assert outcomes.origin == y[2]
    assert mean[:3].tolist() == [0.0] * 3  # there was no origin yet
    assert np.abs(mean[10:] - y[10:]).max() < 1.0
    assert std.shape == (30,)
    one, g = Targets(centred=True), pool()
    for row, target, counts in zip(X, y, weight, strict=True):
        one.learn(g, row, target, counts)
    assert one.forecast(g.predict(X[0])) == pytest.approx(outcomes.forecast(f.predict(X[0])))
    assert Targets(centred=False).offset == 0.0


def test_a_number_that_is_refused_is_no_origin():
    outcomes = Targets(centred=True)
    with pytest.raises(ValueError, match="weight"):
        outcomes.learn(pool(), X[0], 5.0, float("inf"))
    assert outcomes.origin is None


def test_pieces_one_after_the_other():
    outcomes = Labels(["a", "b", "c"])
    pieces = [np.ones((1, 1)), np.full((2, 3), 1 / 3)]
    assert outcomes.stacked(pieces)[0].tolist() == [1.0, 0.0, 0.0]
    assert outcomes.stacked([]).shape == (0, 3)
    assert [len(each) for each in Targets(centred=True).stacked([])] == [0, 0]
