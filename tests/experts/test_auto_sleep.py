"""AutoGAF: who is inactive, who wakes, and drift."""

import pickle

import numpy as np
import pytest
from streams import drifting_stream, logistic_stream, mean_loss, shuffled

from mixable import GAF, AutoGAF
from mixable.datasets import load_segment, load_vehicle
from mixable.losses import log_loss

STATIONARY = {
    "vehicle": lambda: shuffled(*load_vehicle()[:2], seed=0),
    "segment": lambda: shuffled(*load_segment()[:2], seed=0),
    "logistic": lambda: logistic_stream(4000, 10, 3),
}


@pytest.mark.parametrize("name", STATIONARY)
def test_drift_candidates_cost_at_most_one_percent_where_nothing_drifts(name):
    X, y = STATIONARY[name]()
    d, K = X.shape[1], int(y.max()) + 1
    still = [setting for setting in AutoGAF.GRID if setting[2] == 0]
    assert mean_loss(AutoGAF(d, K), X, y) <= 1.01 * mean_loss(AutoGAF(d, K, grid=still), X, y)


@pytest.mark.parametrize(("kind", "tolerance"), [("jump", 1.0), ("slow", 1.02)])
def test_drift_is_followed_as_well_as_by_the_best_expert_in_hindsight(kind, tolerance):
    X, y = drifting_stream(kind)
    f = AutoGAF(11, 4)
    loss = mean_loss(f, X, y)
    s, in_closed_form = f.input_scale, {"integrator": "pairwise"}
    fixed = {
        (lam, beta, drift, alpha): mean_loss(
            GAF(11, 4, lam=lam * s, beta=beta, drift=drift / s, alpha=alpha, **in_closed_form), X, y
        )
        for lam, beta, drift in f.grid
        for alpha in f.alphas
    }
    assert loss <= tolerance * min(fixed.values())
    assert loss <= 0.6 * min(value for (_, _, drift, _), value in fixed.items() if drift == 0)


def test_sleepers_wake_when_a_stream_begins_to_drift():
    X, y = drifting_stream("late")
    inactive, active = AutoGAF(11, 4, sleep=True), AutoGAF(11, 4, sleep=False)
    after = slice(10_000, None)
    losses = [log_loss(f.run(X, y)[after], y[after]).mean() for f in (inactive, active)]
    assert losses[0] <= 1.05 * losses[1]
    stationary = AutoGAF(11, 4, sleep=True)
    stationary.run(X[:9_000], y[:9_000])
    assert np.count_nonzero(stationary.active) <= 12  # posteriors and read-outs sleep
    assert stationary.active[-1]  # the fallback does not
    assert any(
        e.drift == 1e-3 and on for e, on in zip(stationary.experts, stationary.active, strict=True)
    )  # nor the drift expert


def test_run_equals_the_loop_through_sleep_and_waking(long_stream):
    X, y = long_stream
    whole, one = AutoGAF(5, 3, sleep=True), AutoGAF(5, 3, sleep=True)
    p = whole.run(X, y)
    expected = []
    for x, label in zip(X, y.tolist(), strict=True):
        expected.append(one.predict(x))
        one.learn(x, label)
    np.testing.assert_allclose(p, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole.weights, one.weights, rtol=0, atol=1e-9)
    assert np.array_equal(whole.active, one.active)
    half = AutoGAF(5, 3, sleep=True)
    half.run(X[:2560], y[:2560])
    assert not half.active.all()


@pytest.mark.parametrize("at", [5, 600, 1000, 2500, 4200])
def test_copies_go_on_with_the_same_bits_through_sleep(long_stream, at):
    X, y = long_stream
    f = AutoGAF(5, 3, sleep=True)
    f.run(X[:at], y[:at])
    twin = pickle.loads(pickle.dumps(f))
    assert np.array_equal(twin.run(X[at:], y[at:]), f.run(X[at:], y[at:]))
    assert np.array_equal(twin.weights, f.weights)


def symmetric(lower):
    return np.tril(lower) + np.tril(lower, -1).T


def precision(state, i, d, K):
    """A of posterior i, with the curvature that is still pending."""
    A, k = symmetric(state[f"{i}.A"]), K - 1
    for x, c in zip(state[f"{i}.curvature_x"], state[f"{i}.curvature_c"], strict=True):
        A += np.kron(c.reshape(k, k), np.outer(x, x))
    return A


def covariance(state, i):
    """A^-1 of posterior i, with the block that is still pending."""
    U = state[f"{i}.T"] @ state[f"{i}.P"]
    return symmetric(state[f"{i}.A_inverse"]) - U.T @ U


def mean(state, i):
    """The weights of posterior i, class after class, with the block that is still pending."""
    return state[f"{i}.V"].ravel() - (state[f"{i}.h"] @ state[f"{i}.P"]).ravel()


@pytest.mark.parametrize(("d", "K", "n"), [(32, 3, 1024), (16, 5, 1024), (43, 4, 2048)])
def test_a_posterior_put_to_sleep_and_woken_at_one_review_is_whole(d, K, n):
    X, y = logistic_stream(n, d, K)
    f = AutoGAF(d, K, structure="full", sleep=True)
    f.run(X, y)
    state = f._core.state()
    for i in range(10):
        if state[f"{i}.awake"] and f"{i}.A" in state:
            residue = precision(state, i, d, K) @ covariance(state, i) - np.eye((K - 1) * d)
            assert np.abs(residue).max() < 1e-6, i


def block(state, i, c, d):
    """A, A^-1 and the weights of class c of posterior i, with what is still pending."""
    rows, s = slice(c * d, c * d + d), len(state[f"{i}.S"]) // d
    X, roots, P = (state[f"{i}.{name}"] for name in ("X", "roots", "P"))
    A = symmetric(state[f"{i}.A"][rows]) + (X * roots[:, [c]] ** 2).T @ X
    return A, state[f"{i}.S"][rows] - P[c::s].T @ P[c::s], state[f"{i}.V"][c]


@pytest.mark.parametrize("structure", ["full", "blocks"])
def test_a_woken_sleeper_knows_what_the_leader_knows_with_a_lam_of_its_own(structure):
    """A - lam I and A times the mean, all that was learned, are the leader's; lam is not."""
    d, K = 4, 3
    X, y = logistic_stream(9000, d, K)
    f = AutoGAF(d, K, structure=structure, sleep=True)
    lam = [lam for lam, _, _ in f.grid]
    still = [i for i, (_, _, drift) in enumerate(f.grid) if drift == 0]

    def known(state, i):
        if structure == "blocks":
            return block(state, i, 1, d)
        return precision(state, i, d, K), covariance(state, i), mean(state, i)

    inactive, woken = set(), {}
    for start in range(0, len(y), 64):  # from review to review
        f.run(X[start : start + 64], y[start : start + 64])
        state = f._core.state()
        leader = state["leader"]
        for i in still:
            if state[f"{i}.awake"] and i in inactive and leader in still:
                woken[i] = leader
                (mine, inverse, weights), (its, _, theirs) = known(state, i), known(state, leader)
                one = np.eye(len(its))
                learned = its - lam[leader] * one
                np.testing.assert_allclose(mine - lam[i] * one, learned, rtol=1e-9, atol=1e-9)
                np.testing.assert_allclose(mine @ weights, its @ theirs, rtol=1e-6, atol=1e-6)
                assert np.abs(mine @ inverse - one).max() < 1e-6
        inactive = {i for i in still if not state[f"{i}.awake"]}
    assert any(lam[i] != lam[leader] for i, leader in woken.items())


def test_full_posteriors_that_do_not_pay_sleep_together_and_the_others_never():
    """Beside cheap ones. They are computed at once, so they sleep when none pays; then for good."""
    X, y = logistic_stream(6000, 8, 5, seed=1)
    f = AutoGAF(8, 5)
    full = [0, 1, 8]
    assert [i for i, each in enumerate(f.structures) if each == "full"] == full
    active = []
    for start in range(0, 6000, 500):
        f.run(X[start : start + 500], y[start : start + 500])
        active.append(f.active.reshape(-1)[:27].reshape(9, 3).any(axis=1))
    active = np.array(active)
    assert active[:, 2:8].all()
    assert active[0, full].all()
    assert not active[-1, full].any()
    assert (active[:, full] == active[:, :1]).all()
