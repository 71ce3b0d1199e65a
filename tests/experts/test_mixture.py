"""Mixture: the aggregating algorithm's theorems, on streams and against brute force."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import drifting_stream, logistic_stream, shuffled

from mixable import AIOLI, GAF, OGD, ONS, VAW, Folklore, Foster, Mixture
from mixable.datasets import load_vehicle
from mixable.losses import log_loss


def experts(d, K):
    return [
        GAF(d, K),
        GAF(d, K, alpha=np.inf),
        GAF(d, K, drift=0.01),
        Folklore(d, K),
        OGD(d, K),
        ONS(d, K),
    ]


STREAMS = {
    "vehicle": lambda: shuffled(*load_vehicle()[:2], seed=0),
    "binary": lambda: logistic_stream(1000, 4, 2),
    "many classes": lambda: logistic_stream(400, 3, 12),
    "drift": lambda: drifting_stream("jump", n=4000),
    "noise": lambda: (
        np.random.default_rng(0).normal(size=(500, 3)),
        np.random.default_rng(1).integers(0, 3, 500),
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_loss_is_at_most_the_best_experts_plus_log_n(name):
    X, y = STREAMS[name]()
    d, K = X.shape[1], int(y.max()) + 1
    alone = [log_loss(expert.run(X, y), y).cumsum() for expert in experts(d, K)]
    f = Mixture(experts(d, K))
    together = log_loss(f.run(X, y), y).cumsum()
    assert (
        together <= np.min(alone, axis=0) + np.log(6) + 1e-9
    ).all()  # at every step, not only the last
    posterior = np.exp(-(np.array(alone)[:, -1] - np.min(alone, axis=0)[-1]))
    np.testing.assert_allclose(f.weights, posterior / posterior.sum(), atol=1e-9)  # Bayes' rule


def best_switching(losses, most):
    """The least loss of a sequence of experts with 0, ..., `most` switches: dynamic programming."""
    best = np.full((most + 1, losses.shape[0]), np.inf)
    best[0] = 0
    for column in losses.T:
        switched = np.vstack(
            [
                np.full(losses.shape[0], np.inf),
                np.repeat(best[:-1].min(axis=1)[:, None], losses.shape[0], axis=1),
            ]
        )
        best = np.minimum(best, switched) + column
    return best.min(axis=1)


@pytest.mark.parametrize("share", [1e-4, 1e-3, 0.02, 0.3])
def test_with_a_share_loss_is_at_most_that_of_the_best_switching_sequence_plus_its_cost(share):
    X, y = drifting_stream("jump", n=1500)
    d, K, n, N = X.shape[1], 4, len(y), 6
    each = np.array([log_loss(expert.run(X, y), y) for expert in experts(d, K)])
    loss = log_loss(Mixture(experts(d, K), share).run(X, y), y).sum()
    for switches, best in enumerate(best_switching(each, 8)):
        assert (
            loss
            <= best
            + np.log(N)
            + switches * np.log((N - 1) / share)
            - (n - switches - 1) * np.log1p(-share)
            + 1e-9
        )


class Saying:
    """An expert of two classes that says what it was given: the probabilities of class 0."""

    n_features, n_classes = 1, 2

    def __init__(self, says):
        self.says, self.t = says, 0

    def predict(self, x):
        return np.array([self.says[self.t], 1 - self.says[self.t]])

    def learn(self, x, y, weight=1.0):
        self.t += 1


@pytest.mark.parametrize("share", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("N", [2, 3, 4])
def test_it_is_bayes_rule_over_all_sequences_of_experts(N, share):
    """Each of the N^n sequences by itself.

    Prior 1 / N, then 1 - share to stay and share / (N - 1) to go to each of the others.
    """
    n, rng = 5, np.random.default_rng(N)
    says, y = rng.uniform(0.02, 0.98, size=(N, n)), rng.integers(0, 2, n)
    f = Mixture([Saying(row) for row in says], share)
    right = np.where(y == 0, says, 1 - says)  # (N, n), the probability that each gave to what came
    evidence = [1.0]
    for t in range(1, n + 1):
        total = 0.0
        for path in itertools.product(range(N), repeat=t):
            steps = [1 - share if a == b else share / (N - 1) for a, b in itertools.pairwise(path)]
            total += np.prod(steps) / N * np.prod(right[list(path), range(t)])
        evidence.append(total)
    got = f.run(np.zeros((n, 1)), y)[range(n), y]
    np.testing.assert_allclose(got, np.divide(evidence[1:], evidence[:-1]), rtol=1e-12)


class Fixed:
    """An expert of numbers that only says what it was given."""

    n_features = 1

    def __init__(self, says):
        self.says, self.t = says, 0

    def predict(self, x):
        return float(self.says[self.t]) if np.ndim(x) == 1 else np.full(len(x), self.says[self.t])

    def learn(self, x, y, weight=1.0):
        self.t += 1


@settings(max_examples=60, deadline=None)
@given(
    says=st.lists(st.lists(st.floats(-3, 3), min_size=4, max_size=4), min_size=1, max_size=12),
    targets=st.lists(st.floats(-2, 2), min_size=12, max_size=12),
)
def test_squared_loss_is_at_most_the_best_experts_plus_two_y_squared_log_n(says, targets):
    says = np.array(says)
    f = Mixture([Fixed(column) for column in says.T], target_bound=2.0)
    loss = 0.0
    for y in targets[: len(says)]:
        loss += (f.predict([1.0]) - y) ** 2
        f.learn([1.0], y)
    best = ((np.clip(says, -2, 2) - np.array(targets[: len(says)])[:, None]) ** 2).sum(axis=0).min()
    assert loss <= best + 2 * 2.0**2 * np.log(4) + 1e-9


def test_the_substitution_is_vovks():
    """(g(-Y) - g(Y)) / (4 Y) with g the mixture's loss, written out for two experts."""
    f = Mixture([Fixed([0.5]), Fixed([-1.0])], target_bound=1.0)
    g = [
        -2 * np.log((np.exp(-((y - 0.5) ** 2) / 2) + np.exp(-((y + 1) ** 2) / 2)) / 2)
        for y in (-1.0, 1.0)
    ]
    assert f.predict([0.0]) == pytest.approx((g[0] - g[1]) / 4, abs=1e-12)


def test_vaw_experts_are_mixed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = np.clip(X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=500), -10, 10)
    f = Mixture([VAW(3, lam=lam) for lam in (0.01, 1.0, 100.0)], target_bound=10.0)
    loss = ((f.run(X, y) - y) ** 2).sum()
    alone = [((VAW(3, lam=lam).run(X, y) - y) ** 2).sum() for lam in (0.01, 1.0, 100.0)]
    assert loss <= min(alone) + 200 * np.log(3)


def test_history_of_the_weights():
    X, y = logistic_stream(30, 3, 3)
    f = Mixture([GAF(3, 3), OGD(3, 3)], history=True)
    f.run(X, y)
    assert f.weight_history.shape == (31, 2)
    assert np.array_equal(f.weight_history[0], [0.5, 0.5])
    assert np.array_equal(f.weight_history[-1], f.weights)
    np.testing.assert_allclose(f.weight_history.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="history=True"):
        _ = Mixture([GAF(3, 3)]).weight_history


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda: {"experts": []}, "at least one"),
        (lambda: {"experts": [GAF(3, 3), GAF(3, 4)]}, r"same n_classes, got \[3, 4\]"),
        (lambda: {"experts": [GAF(3, 3), GAF(4, 3)]}, "same n_features"),
        (lambda: {"experts": [GAF(3, 3), VAW(3)]}, "same n_classes"),
        (lambda: {"experts": [VAW(3)]}, "need a target_bound"),
        (lambda: {"experts": [GAF(3, 3)], "target_bound": 1.0}, "need no target_bound"),
        (lambda: {"experts": [GAF(3, 3)] * 2}, "appears twice"),
        (lambda: {"experts": [GAF(3, 3)], "share": 0.6}, "share"),
        (lambda: {"experts": [GAF(3, 3)], "share": np.nan}, "share"),
    ],
)
def test_mixtures_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Mixture(**arguments())


def test_targets_beyond_the_bound_are_refused_before_anything_is_learned():
    f = Mixture([VAW(1)], target_bound=1.0)
    with pytest.raises(ValueError, match=r"y\[1\] is 2"):
        f.run([[1.0], [1.0]], [0.5, 2.0])
    with pytest.raises(ValueError, match="target_bound"):
        f.learn([1.0], -1.5)
    assert f.steps == f.experts[0].steps == 0


def test_an_input_too_large_for_one_expert_is_refused_before_any_has_learned():
    f = Mixture([OGD(2, 2), GAF(2, 2)])
    with pytest.raises(ValueError, match="too large"):
        f.run([[1.0, 0.0], [1e10, 0.0]], [0, 1])
    assert [expert.steps for expert in f.experts] == [0, 0]


def test_growing_grows_every_expert():
    f = Mixture([GAF(2, 2), OGD(2, 2)])
    f.add_class()
    f.add_features(3)
    assert f.predict(np.zeros(5)).shape == (3,)


def test_growing_that_one_expert_refuses_changes_none():
    for other in (
        AIOLI(2),
        Foster(2, 11),
    ):  # AIOLI is for two classes; Foster refuses more than 20 weights
        f = Mixture([GAF(2, other.n_classes), other])
        with pytest.raises((TypeError, ValueError), match=r"two classes|mix too slowly"):
            f.add_class()
        assert f.predict([0.0, 1.0]).shape == (other.n_classes,)


def test_experts_that_only_predict_and_learn_are_enough():
    f = Mixture([Fixed([0.5] * 3), Fixed([1.0] * 3)], target_bound=1.0)
    assert f.run([[0.0]] * 3, [0.5, 0.5, 0.5]).shape == (3,)
    assert f.weights[0] > 0.5


def test_weights_sum_to_one_after_a_heavy_example_too():
    """Found by tests/fuzz_api.py: they summed to 1 + 1e-4, and the mixture could not be copied."""
    f = Mixture([GAF(2, 4), OGD(2, 4), Folklore(2, 4)])
    f.learn([0.0, 0.0], 2, 1e12)  # all have the same forecast
    np.testing.assert_allclose(np.exp(f._log_weights).sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(copy.deepcopy(f).weights, f.weights, rtol=1e-12)
