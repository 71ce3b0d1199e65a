"""FreshStarts: who is alive when, what that costs on each interval, and the bound for changes."""

import math

import numpy as np
import pytest
from streams import best_loss_in_ball

from mixable import GAF, VAW, Folklore, FreshStarts, bounds
from mixable.losses import log_loss
from mixable.paper.fresh_starts import priors


def changing(n, changes, B, seed=0):
    """Inputs on the circle, labels drawn from weights of norm B that are redrawn now and then."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    y = np.empty(n, dtype=int)
    for piece in np.array_split(np.arange(n), changes + 1):
        W = rng.normal(size=(2, 2))
        W -= W.mean(axis=0)
        W *= B / np.linalg.norm(W)
        y[piece] = (X[piece] @ W.T + rng.gumbel(size=(len(piece), 2))).argmax(axis=1)
    return X, y


def test_those_alive_are_the_intervals_that_hold_the_next_step():
    f = FreshStarts(Folklore(1, 2))
    for t in range(1, 70):
        wanted = {0: 1}
        for birth in range(1, t + 1):
            lives = [j for j in range(8) if birth % 2**j == 0 and birth + 2**j > t]
            if lives:
                wanted[birth] = len(lives)
        assert {each.birth: len(each.log_weights) for each in f._alive()} == wanted
        assert len(wanted) <= 2 + math.log2(t)
        f.learn([1.0], t % 2)


def test_priors_sum_to_one():
    total = sum(np.exp(priors(birth)).sum() for birth in range(4000))
    assert total == pytest.approx(1, abs=2e-4)


@pytest.mark.parametrize(("birth", "j"), [(32, 5), (48, 4), (40, 3), (63, 0)])
def test_on_an_interval_it_costs_the_prior_at_most(birth, j):
    X, y = changing(100, 3, 4.0)
    loss = log_loss(FreshStarts(Folklore(2, 2)).run(X, y), y)
    rows = slice(birth - 1, birth + 2**j - 1)
    alone = log_loss(Folklore(2, 2).run(X[rows], y[rows]), y[rows])
    assert loss[rows].sum() - alone.sum() <= -priors(birth)[0]
    whole = log_loss(Folklore(2, 2).run(X, y), y)
    assert loss.sum() <= whole.sum() + math.log(2)


def test_half_of_the_prior_would_be_broken():
    """The old copies are sure of the label that is wrong from step 64 on."""
    X, y = np.ones((127, 1)), np.repeat([0, 1], [63, 64])
    loss = log_loss(FreshStarts(Folklore(1, 2)).run(X, y), y)[63:].sum()
    alone = log_loss(Folklore(1, 2).run(X[63:], y[63:]), y[63:]).sum()
    assert -0.5 * priors(64)[0] < loss - alone <= -priors(64)[0]


def test_the_bound_for_changes_holds_and_one_forecaster_pays_twice_as_much():
    """Labels that turn around."""
    n, S, B = 512, 4, 12.0
    X, y = np.ones((n, 1)), np.repeat([0, 1, 0, 1], n // S)

    def static(m):
        return bounds.folklore(m, 1, 2, B, 1.0, 1.0, "tight")

    made = Folklore.from_theory(1, 2, radius=B, bound=1.0, constants="tight")
    best = n * math.log1p(math.exp(-math.sqrt(2) * B))
    paid = log_loss(FreshStarts(made).run(X, y), y).sum() - best
    assert paid <= bounds.switching(static, n, S, births="dyadic")
    alone = Folklore.from_theory(1, 2, radius=B, bound=1.0, constants="tight")
    assert log_loss(alone.run(X, y), y).sum() - best > 2 * paid


def intervals(first, end):
    """The steps from `first` to before `end` as lives of copies, each as long as it can be."""
    while first < end:
        length = first & -first
        while first + length > end:
            length //= 2
        yield first, length
        first += length


def test_a_segment_is_made_of_so_few_lives_that_the_bound_follows():
    """At most 2 (1 + log2 m) of them, none with a prior below the one that the bound has."""
    n = 130
    prior = math.log(2 * n * (n + 1) * (1 + math.log2(n)))
    most = {}
    for first in range(1, n):
        for end in range(first + 1, n + 1):
            lives = list(intervals(first, end))
            assert sum(length for _, length in lives) == end - first
            assert all(birth % length == 0 for birth, length in lives)
            assert max(-priors(birth)[0] for birth, _ in lives) <= prior
            most[end - first] = max(most.get(end - first, 0), len(lives))
    assert all(count <= 2 * (1 + math.log2(m)) for m, count in most.items())
    assert most[62] == 10  # 2 log2(64) - 2: one logarithm alone would not do


class First:
    """Says 1/K, and from then on the label that came first: its regret to constants is ln K."""

    n_features = 1

    def __init__(self, n_classes):
        self.n_classes, self.steps, self.label = n_classes, 0, None

    def predict(self, x):
        K = self.n_classes
        p = np.full(K, 1 / K if self.label is None else 1e-9)
        if self.label is not None:
            p[self.label] = 1 - 1e-9 * (K - 1)
        return p

    def learn(self, x, y, weight=1.0):
        self.label = y if self.label is None else self.label
        self.steps += 1


def test_the_bound_for_births_at_every_step_would_be_broken():
    """Where pieces begin just after multiples of 64, each is made of many short lives."""
    n, K = 511, 7
    y = np.searchsorted([129, 193, 257, 321, 385, 449], np.arange(1, n + 1), side="right")
    paid = log_loss(FreshStarts(First(K)).run(np.ones((n, 1)), y), y).sum()

    def static(m):
        return math.log(K) + 1e-8 * m

    assert 2 * bounds.switching(static, n, K, births="every") < paid
    assert paid <= bounds.switching(static, n, K, births="dyadic")


def test_it_holds_on_drawn_labels():
    n, S, B = 400, 4, 3.0
    X, y = changing(n, S - 1, B)
    made = Folklore.from_theory(2, 2, radius=B, bound=1.0, constants="tight")
    pieces = np.array_split(np.arange(n), S)
    best = sum(best_loss_in_ball(X[piece], y[piece], 2, B) for piece in pieces)
    paid = log_loss(FreshStarts(made).run(X, y), y).sum() - best
    alone = bounds.folklore(n, 2, 2, B, 1.0, 1.0, "tight")
    assert 0 < paid <= bounds.switching(lambda m: alone, n, S, births="dyadic")


def test_what_is_not_fresh_or_forecasts_numbers_is_refused():
    f = GAF(1, 2)
    f.learn([1.0], 1)
    with pytest.raises(ValueError, match="must have learned nothing, got 1 steps"):
        FreshStarts(f)
    with pytest.raises(TypeError, match="must forecast labels, got VAW"):
        FreshStarts(VAW(2))
    state = FreshStarts(GAF(1, 2)).__getstate__()
    for change in ({"births": [1], "steps": 1}, {"weights": [np.zeros(2)]}):
        with pytest.raises(ValueError, match="saved"):
            FreshStarts(GAF(1, 2)).__setstate__({**state, **change})


@pytest.mark.parametrize("seed", [50, 85, 96, 111, 238, 300])
def test_an_example_is_learned_by_all_or_by_none(seed):
    """With so much weight, some copies refuse what others would learn."""
    rng = np.random.default_rng(seed)
    f = FreshStarts(GAF(2, 2, lam=1e-3) if seed % 5 == 0 else GAF(2, 2, lam=10.0, drift=0.1))
    for _ in range(int(rng.integers(1, 12))):
        x = rng.normal(size=2) * 10 ** rng.uniform(-1, 3)
        f.learn(x, int(rng.integers(2)), 10.0 ** rng.integers(0, 3))
    x, weight = rng.normal(size=2) * 10 ** rng.uniform(-2, 6), 10.0 ** rng.integers(6, 101)
    before, steps = f.predict([0.5, 0.5]), f.steps
    with pytest.raises(ValueError, match="cannot be learned in double precision"):
        f.learn(x, int(rng.integers(2)), weight)
    assert f.steps == steps
    np.testing.assert_array_equal(f.predict([0.5, 0.5]), before)
