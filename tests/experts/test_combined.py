"""What mixtures and pools have in common."""

import numpy as np
import pytest

from mixable import GAF, OGD, SMP, VAW, Mixture, Pool


@pytest.mark.parametrize("kind", [Mixture, Pool])
def test_an_expert_that_appears_twice_is_refused(kind):
    expert = GAF(2, 2)
    with pytest.raises(ValueError, match="appears twice"):
        kind([expert, expert])


@pytest.mark.parametrize("kind", [Mixture, Pool])
def test_growth_is_all_or_nothing(kind):
    class Stubborn(OGD):
        def add_class(self):
            raise TypeError("no")

    f = kind([GAF(2, 2), Stubborn(2, 2)])
    with pytest.raises(TypeError, match="no"):
        f.add_class()
    assert [expert.n_classes for expert in f.experts] == [2, 2]
    f = kind([GAF(2, 2), SMP(2, 2)])
    f.add_class()
    assert f.n_classes == 3


class Saying:
    """An expert that has no run, and says what it is told to."""

    n_features, n_classes = 2, 3

    def __init__(self, *said):
        self.said, self.steps = said, 0

    def predict(self, x):
        now = np.array(self.said[min(self.steps, len(self.said) - 1)], dtype=float)
        return now if np.ndim(x) == 1 else np.tile(now, (len(x), *[1] * now.ndim))

    def learn(self, x, y, weight=1.0):
        self.steps += 1


class Running(Saying):
    """The same with a run."""

    def run(self, X, y, weight=None):
        out = []
        for _ in y:
            out.append(self.predict(X[0]))
            self.steps += 1
        return np.array(out)


EVEN = [1 / 3, 1 / 3, 1 / 3]
NO_DISTRIBUTIONS = {
    "certain of all": [1.0, 1.0, 1.0],
    "too little": [0.2, 0.2, 0.2],
    "negative": [-0.5, 0.75, 0.75],
    "not a number": [np.nan, 0.5, 0.5],
    "infinite": [np.inf, 0.0, 0.0],
    "of other classes": [0.5, 0.5],
    "a number": 1.0,
}


@pytest.mark.parametrize("kind", [Mixture, Pool])
@pytest.mark.parametrize("expert", [Saying, Running])
@pytest.mark.parametrize("wrong", NO_DISTRIBUTIONS)
def test_an_expert_whose_forecast_is_no_distribution_is_refused_by_name(kind, expert, wrong):
    X, y = np.ones((50, 2)), np.arange(50) % 3
    f = kind([GAF(2, 3), expert(NO_DISTRIBUTIONS[wrong])])
    calls = (
        lambda: f.predict(X[0]),
        lambda: f.predict(X),
        lambda: f.learn(X[0], 0),
        lambda: f.run(X, y),
        lambda: f.run(X[:5], y[:5]),
    )
    for call in calls:
        with pytest.raises(ValueError, match=rf"expert 1 \({expert.__name__}\) must forecast"):
            call()
        assert [f.steps, *(each.steps for each in f.experts)] == [0, 0, 0]


@pytest.mark.parametrize("kind", [Mixture, Pool])
@pytest.mark.parametrize("expert", [Saying, Running])
@pytest.mark.parametrize("n", [10, 50])
def test_nobody_has_learned_a_table_in_which_one_fails(kind, expert, n):
    """The first rows are good."""
    X, y = np.ones((n, 2)), np.arange(n) % 3
    f = kind([GAF(2, 3), expert(*[EVEN] * 6, [1.0, 1.0, 1.0])])
    f.learn(X[0], 0)
    before = f.predict(X[0])
    with pytest.raises(ValueError, match="expert 1"):
        f.run(X, y)
    assert [f.steps, *(each.steps for each in f.experts)] == [1, 1, 1]
    np.testing.assert_array_equal(f.predict(X[0]), before)


def test_an_expert_that_says_no_number_is_refused():
    class Numbers(Saying):
        n_classes = None

    f = Mixture([VAW(2), Numbers(np.nan)], target_bound=1.0)
    with pytest.raises(ValueError, match=r"expert 1 \(Numbers\) must forecast a finite number"):
        f.learn([1.0, 0.0], 0.5)
    assert f.experts[0].steps == 0


class Unweighted(Saying):
    """Knows of no weights."""

    def learn(self, x, y):
        self.steps += 1


class UnweightedRun(Unweighted):
    """The same with a run."""

    def run(self, X, y):
        self.steps += len(y)
        return np.tile(self.said[0], (len(y), 1))


@pytest.mark.parametrize("kind", [Mixture, Pool])
@pytest.mark.parametrize("expert", [Unweighted, UnweightedRun])
def test_an_expert_without_weights_learns_examples_of_weight_1_only(kind, expert):
    X, y = np.ones((50, 2)), np.arange(50) % 3
    f = kind([GAF(2, 3), expert(EVEN)])
    f.learn(X[0], 0)
    f.run(X, y)
    f.run(X, y, np.ones(50))
    f.run(X[:5], y[:5])
    assert [f.steps, *(each.steps for each in f.experts)] == [106, 106, 106]
    for call in (lambda: f.learn(X[0], 0, 2.0), lambda: f.run(X, y, np.full(50, 0.5))):
        with pytest.raises(TypeError, match=rf"expert 1 \({expert.__name__}\) cannot learn"):
            call()
    assert [f.steps, *(each.steps for each in f.experts)] == [106, 106, 106]
