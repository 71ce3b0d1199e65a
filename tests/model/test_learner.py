"""The learner: the order of things; what is interrupted leaves inputs and forecaster in step."""

import copy

import numpy as np
import pytest
from streams import logistic_stream

from mixable import FTRL, GAF
from mixable.model import Design, KernelPlan, Learner, RecordPool

D, K, N = 3, 3, 30
X, CODES = logistic_stream(N, D, K)
X = 5 * X + 100
TARGETS = X @ [1.0, -2.0, 0.5] + 1e4
NAMES = np.array(["a", "b", "c"])[CODES].tolist()
FIXED = {"lam": 0.1, "beta": 1.0}
PLAN = KernelPlan(method="nystroem", n_components=5, gamma=0.1)


def of_labels(labels=(), kernel=None):
    return Learner(Design.for_classes(GAF, FIXED, kernel=kernel), D, list(labels))


def of_numbers(kernel=None):
    return Learner(Design.for_numbers({"lam": 0.1, "drift": 0.0}, kernel=kernel), D, None)


def assert_same(one, other):
    """They have learned the same examples."""
    state, wanted = one.inputs.state(), other.inputs.state()
    for name in state:
        np.testing.assert_allclose(state[name], wanted[name], rtol=1e-10, err_msg=name)
    assert one.forecaster.steps == other.forecaster.steps
    assert one.outcomes.state() == other.outcomes.state()
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-9, atol=1e-9)


def test_a_row_is_scaled_by_those_before_it_then_predicted_then_learned():
    learner, scaler, f = of_labels("abc"), of_labels().inputs.scaler, GAF(D + 1, K, **FIXED)
    expected = []
    for x, code in zip(X, CODES, strict=True):
        z = scaler.transform(x)
        expected.append(f.predict(z))
        f.learn(z, code)
        scaler.learn(x)
    np.testing.assert_allclose(learner.run(X, NAMES, None), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", [None, PLAN])
def test_run_is_the_loop_of_predict_and_learn_with_labels_that_come(kernel):
    whole, one = of_labels(kernel=kernel), of_labels(kernel=kernel)
    P = whole.run(X, NAMES, None)
    for x, name, p in zip(X, NAMES, P, strict=True):
        met = one.predict(x)
        np.testing.assert_allclose(p, np.pad(met, (0, K - len(met))), rtol=0, atol=1e-9)
        one.learn_one(x, name)
    assert_same(one, whole)


@pytest.mark.parametrize("labels", [[], ["a"], ["a", "b"]])
def test_a_table_of_one_row_with_a_new_label_has_a_column_for_it(labels):
    learner = of_labels(labels)
    P = learner.run(X[:1], ["new"], None)
    assert P.shape == (1, len(labels) + 1)
    assert P[0, -1] == 0


def test_following_is_running_and_rows_without_code_are_only_predicted():
    learner, other = of_labels("abc"), of_labels("abc")
    codes = np.where(np.arange(N) % 4 == 3, -1, CODES)
    P, done, reason, _ = learner.follow(X, codes)
    assert (done, reason) == (N, None)
    known = codes >= 0
    Q = other.run(X[known], np.array(NAMES)[known].tolist(), None)
    np.testing.assert_allclose(P[known], Q, rtol=0, atol=1e-9)
    assert_same(learner, other)


@pytest.mark.parametrize("method", ["nystroem", "fourier"])
def test_kernel_features_can_be_followed(method):
    plan = KernelPlan.of("rbf", 8, 0.5, method)
    learner, other = of_labels("abc", plan), of_labels("abc", plan)
    P, done, _, _ = learner.follow(X, CODES)
    np.testing.assert_allclose(P, other.run(X, NAMES, None), rtol=0, atol=1e-9)
    assert done == N
    assert_same(learner, other)


@pytest.fixture
def stop_at(monkeypatch):
    """Let Ctrl-C come when a forecaster has learned so many rows: before the next, or just after
    the last of them.
    """

    def at(kind, verb, steps, *, after=False):
        run, learn = getattr(kind, verb), kind.learn

        def stopped_run(self, Z, y, weight=None):
            left = steps - self.steps
            if left > len(Z) or (left == len(Z) and not after):
                return run(self, Z, y, weight)
            if left > 0:
                run(self, Z[:left], y[:left], None if weight is None else weight[:left])
            raise KeyboardInterrupt

        def stopped_learn(self, z, y, weight=1.0):
            if not after and self.steps == steps:
                raise KeyboardInterrupt
            learn(self, z, y, weight)
            if after and self.steps == steps:
                raise KeyboardInterrupt

        monkeypatch.setattr(kind, verb, stopped_run)
        monkeypatch.setattr(kind, "learn", stopped_learn)
        return monkeypatch.undo

    return at


FIRST_OF_EACH = sorted(NAMES.index(name) for name in "abc")
STEPS = sorted({0, 1, *FIRST_OF_EACH, *(first + 1 for first in FIRST_OF_EACH), 17, N - 1})


@pytest.mark.parametrize("kernel", [None, PLAN])
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("after", [False, True])
def test_labels_interrupted(stop_at, steps, after, kernel):
    learner, expected = of_labels(kernel=kernel), of_labels(kernel=kernel)
    undo = stop_at(RecordPool, "run", steps, after=after and steps > 0)
    with pytest.raises(KeyboardInterrupt):
        learner.run(X, NAMES, None)
    undo()
    for x, name in zip(X[:steps], NAMES[:steps], strict=True):
        expected.learn_one(x, name)
    assert_same(learner, expected)
    assert learner.forecaster.n_classes == max(2, len(learner.labels))
    learner.run(X[steps:], NAMES[steps:], None)
    expected.run(X[steps:], NAMES[steps:], None)
    assert_same(learner, expected)


@pytest.mark.parametrize("kernel", [None, PLAN])
@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 17, N - 1])
def test_targets_interrupted(stop_at, steps, first, kernel):
    """Rows before `first` have weight 0: they are no origin of the targets."""
    learner, expected = of_numbers(kernel), of_numbers(kernel)
    weight = (np.arange(N) >= first).astype(float)
    undo = stop_at(RecordPool, "run", steps)
    with pytest.raises(KeyboardInterrupt):
        learner.run(X, TARGETS, weight)
    undo()
    assert (learner.outcomes.origin is None) == (steps <= first)
    for x, y, w in zip(X[:steps], TARGETS, weight, strict=False):
        expected.learn_one(x, y, w)
    assert_same(learner, expected)
    learner.run(X[steps:], TARGETS[steps:], weight[steps:])
    expected.run(X[steps:], TARGETS[steps:], weight[steps:])
    assert_same(learner, expected)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
def test_one_row_interrupted_is_learned_by_both_or_by_none(stop_at, after, numbers):
    learner, expected = (of_numbers() if numbers else of_labels() for _ in range(2))
    y = TARGETS if numbers else NAMES
    undo = stop_at(RecordPool, "run", 1 if after else 0, after=after)
    with pytest.raises(KeyboardInterrupt):
        learner.learn_one(X[0], y[0])
    undo()
    if after:
        expected.learn_one(X[0], y[0])
    assert_same(learner, expected)


@pytest.mark.parametrize("kind", [FTRL, GAF])
def test_a_pool_of_one_is_a_scaler_and_a_forecaster_in_order(kind):
    """The compiled protocol, for forecasters in C++ and in Python, against the loop in Python."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1, 100, 0.01] + [0, 5, 1]
    X[rng.random(X.shape) < 0.1] = np.nan
    y = rng.integers(0, 3, 60)
    weight = rng.integers(0, 3, 60) / 2
    design = Design.for_classes(kind, {})
    learner, scaler, forecaster = (
        Learner(design, 3, range(3)),
        design.inputs(3).scaler,
        design.forecaster(3, 3),
    )
    P = learner.run(X, y.tolist(), weight)
    for x, label, own, p in zip(X, y, weight, P, strict=True):
        z = scaler.transform(x)
        np.testing.assert_allclose(forecaster.predict(z), p, rtol=0, atol=1e-10)
        forecaster.learn(z, label, own)
        if own:
            scaler.learn(x)
    np.testing.assert_allclose(learner.inputs.moments(), scaler.moments(), rtol=1e-12)


def test_what_is_not_an_array_is_refused():
    learner = Learner(Design.for_classes(None, {"lam": None}), 2, [0, 1])
    with pytest.raises(TypeError, match="float64"):
        learner.learn_one([1.0, 2.0], 0)
    with pytest.raises(ValueError, match="weight"):
        learner.learn_one(np.ones(2), 0, -1.0)
    assert learner.forecaster.steps == 0


def test_a_forecaster_of_the_users_own_can_be_learned():
    class Own(GAF):
        """A subclass that no table knows."""

    learner = Learner(Design.for_classes(Own, {}), 2, [0, 1, 2])
    learner.learn_one(np.ones(2), 2)
    assert learner.predict(np.ones(2)).argmax() == 2


def test_copies_go_their_own_ways():
    learner = Learner(Design.for_classes(None, {"lam": None}), 2, [0, 1])
    learner.learn_one(np.ones(2), 1)
    twin = copy.copy(learner)
    twin.learn_one(np.ones(2), "new")
    assert learner.predict(np.ones(2)).shape == (2,)
    assert learner.forecaster.steps == 1
