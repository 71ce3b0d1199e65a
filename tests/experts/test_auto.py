"""AutoGAF: a mixture of its experts that nobody tunes."""

import math
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from streams import drifting_stream, logistic_stream, mean_loss, shuffled, with_intercept

from mixable import GAF, OGD, AutoGAF, Folklore, Mixture, bounds, load, save
from mixable.datasets import load_segment, load_shuttle, load_vehicle
from mixable.experts.structure import in_mixture
from mixable.losses import log_loss
from mixable.regret import best_in_hindsight


class ClassRates:
    """(n_c + 1/2) / (n + K/2), whatever the input."""

    def __init__(self, d, K):
        self.n_features, self.n_classes, self.counts = d, K, np.full(K, 0.5)
        self.coef = np.zeros((K, d))

    def predict(self, x):
        return np.broadcast_to(self.counts / self.counts.sum(), (*np.shape(x)[:-1], self.n_classes))

    def learn(self, x, y, weight=1.0):
        self.counts[y] += weight

    def run(self, X, y, weight=None):
        out = []
        for t, label in enumerate(y):
            out.append(self.predict(X[t]))
            self.learn(X[t], label, 1.0 if weight is None else weight[t])
        return np.array(out)


def separate(f, K):
    """AutoGAF's experts as forecasters of their own, for a scale of 1."""
    d, width = f.n_features, len(f.alphas)
    kinds = [in_mixture(each, K) for each in f.structures for _ in range(width)]
    out = [
        GAF(
            d,
            K,
            lam=e.lam,
            beta=e.beta,
            alpha=e.alpha,
            drift=e.drift,
            structure=kind,
            integrator="pairwise",
            surrogate="averaged" if e.kind == "averaged GAF" else "tangent",
        )
        for e, kind in zip(f.experts, kinds, strict=False)
    ]
    if f.fallback is not None:
        out.append(ClassRates(d, K))
    if f.fallback_kind == "folklore":
        out.append(Folklore(d, K, lam=f.experts[-1].lam, beta=f.experts[-1].beta))
    if f.fallback_kind == "gradient":
        out.append(OGD(d, K, step=10 / (math.sqrt(2) * d), radius=10 / math.sqrt(d)))
    return out


@pytest.mark.parametrize(
    ("K", "options"),
    [
        (2, {}),
        (3, {}),
        (8, {}),
        (12, {}),
        (3, {"structure": "full"}),
        (2, {"surrogate": "averaged"}),
        (4, {"surrogate": "averaged"}),
        (4, {"structure": "shared"}),
        (5, {"structure": "diagonal"}),
        (4, {"structure": ["full", "blocks", "shared", "diagonal"] * 2 + ["blocks"]}),
        (4, {"fallback": 10.0}),
        (4, {"fallback": None}),
    ],
)
def test_without_sleep_and_share_it_is_the_bayes_mixture_of_its_experts(K, options):
    X, y = logistic_stream(300, 4, K)
    f = AutoGAF(4, K, share=0.0, sleep=False, scale=1.0, **options)
    mixture = Mixture(separate(f, K))
    np.testing.assert_allclose(f.run(X, y), mixture.run(X, y), rtol=0, atol=1e-9)
    np.testing.assert_allclose(f.weights, mixture.weights, rtol=0, atol=1e-9)
    np.testing.assert_allclose(f.coef, mixture.coef, rtol=0, atol=1e-8)


@pytest.mark.parametrize("factor", [1e-120, 1e-6, 3.7, 1e6, 1e120])
def test_multiplying_the_inputs_by_a_constant_changes_nothing(factor):
    X, y = logistic_stream(700, 4, 3)
    np.testing.assert_allclose(
        AutoGAF(4, 3).run(factor * X, y), AutoGAF(4, 3).run(X, y), rtol=0, atol=1e-9
    )


def test_leading_zeros_say_nothing_but_how_often_classes_come():
    X, y = logistic_stream(100, 4, 3)
    padded = np.vstack([np.zeros((3, 4)), X])
    f = AutoGAF(4, 3)
    p = f.run(padded, np.concatenate([[0, 1, 2], y]))
    np.testing.assert_allclose(p[:4], 1 / 3, rtol=0, atol=0.01)
    np.testing.assert_allclose(p[[0, 3]], 1 / 3, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        p[3:], AutoGAF(4, 3).run(X, y), rtol=0, atol=0.02
    )  # three shares of the weight have passed
    assert f.input_scale == pytest.approx((X[0] ** 2).mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("load", "n", "target"),
    [(load_vehicle, None, 0.538), (load_segment, None, 0.248), (load_shuttle, 4000, 0.137)],
)
def test_untuned_log_loss_on_the_papers_data(load, n, target):
    X, y, names = load()
    losses = [
        mean_loss(AutoGAF(X.shape[1] + 1, len(names.classes)), *shuffled(X, y, seed, n))
        for seed in range(5)
    ]
    assert np.mean(losses) <= target


def test_untuned_log_loss_on_digits():
    X, y = load_digits(return_X_y=True)
    assert mean_loss(AutoGAF(65, 10, threads=2), *shuffled(X, y, 0, 900)) <= 0.310


@pytest.mark.parametrize("constants", ["paper", "tight"])
def test_from_theory_adapts_to_a_norm_that_nobody_told_it(constants):
    """One run; comparators of norm 0.5, 2, 8 and 30; each regret under min over radii of Theorem 1
    + ln N.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    y = (X @ rng.normal(size=(3, 2)).T * 3 + rng.gumbel(size=(3000, 3))).argmax(axis=1)
    f = AutoGAF.from_theory(2, 3, bound=1.0, max_radius=32.0, constants=constants)
    loss = log_loss(f.run(X, y), y).sum()
    for radius in (0.5, 2.0, 8.0, 30.0):
        bound = bounds.adaptive(3000, 2, 3, radius, 1.0, max_radius=32.0, constants=constants)
        assert loss - best_in_hindsight(X, y, radius).loss <= bound
        uniform = 3000 * math.log(3)
        assert radius > 8 or bound < uniform  # or the bound would say nothing


@pytest.mark.parametrize("fallback", ["auto", 10.0])
@pytest.mark.parametrize("name", ["late", "jump"])
def test_the_regret_to_the_guard_is_bounded_whoever_sleeps(name, fallback):
    X, y = drifting_stream(name, n=6000)
    f = AutoGAF(11, 4, scale=1.0, sleep=True, fallback=fallback)
    loss = log_loss(f.run(X, y), y).cumsum()
    fallback = separate(f, 4)[-1]
    allowed = log_loss(fallback.run(X, y), y).cumsum() + np.log(2 * len(f.experts))
    assert (loss <= allowed + 1e-6).all()


@pytest.fixture(scope="module")
def few_experts():
    """A mixture with the default share and the losses of its five experts, on a stream that stays
    as it is and then changes twice.
    """
    X, y = logistic_stream(8000, 2, 2)
    y[6000:7000] = 1 - y[6000:7000]
    f = AutoGAF(
        2,
        2,
        grid=[(0.1, 1.0, 0.0), (0.1, 1.0, 0.01)],
        alphas=[1.0, math.inf],
        scale=1.0,
        sleep=False,
    )
    each = np.array([log_loss(expert.run(X, y), y) for expert in separate(f, 2)])
    return log_loss(f.run(X, y), y), each, f.share


def test_the_loss_is_at_most_ln_2n_above_that_of_any_expert_at_every_step(few_experts):
    loss, each, _ = few_experts
    excess = loss.cumsum() - each.cumsum(axis=1).min(axis=0)
    assert (excess <= np.log(2 * len(each)) + 1e-6).all()


def test_the_loss_is_at_most_that_of_the_best_switching_sequence_its_cost_and_ln_2(few_experts):
    """With the share spread over all N experts, to stay costs -ln(1 - s + s / N) and to switch ln(N
    / s).
    """
    loss, each, share = few_experts
    N, most = len(each), 3
    stay, switch = -np.log1p(-share + share / N), np.log(N / share)
    costs = np.full(
        (most + 1, N), np.inf
    )  # of the best sequence with this many switches that ends with this expert
    costs[0] = each[:, 0]
    for losses in each.T[1:]:
        arrive = np.vstack(
            [np.full(N, np.inf), np.broadcast_to(costs[:-1].min(axis=1, keepdims=True), (most, N))]
        )
        costs = np.minimum(costs + stay, arrive + switch) + losses
    assert costs.min(axis=1).argmin() >= 1  # or nothing would be tested of switching
    assert loss.sum() <= costs.min() + np.log(2 * N) + 1e-6


def test_the_bound_of_the_guard_holds():
    X, y = logistic_stream(2000, 3, 3)
    R = float(np.linalg.norm(X, axis=1).max())
    f = AutoGAF(3, 3)
    regret = log_loss(f.run(X, y), y).sum() - best_in_hindsight(X, y, 10 / R).loss
    assert (
        regret
        <= bounds.auto_gaf(2000, 3, 3, 10 / R, R, f.input_scale, experts=len(f.experts))
        < 2000 * np.log(3)
    )
    with pytest.raises(ValueError, match="at most fallback"):
        bounds.auto_gaf(2000, 3, 3, 11 / R, R, f.input_scale)


def test_the_bound_of_the_gradient_guard_holds():
    """On a stream that its experts other than the fallback know nothing of, so that it matters."""
    X, y = logistic_stream(4000, 12, 6)
    R = float(np.linalg.norm(X, axis=1).max())
    f = AutoGAF(12, 6, grid=[(1e10, 1.0, 0.0)], scale=1.0)
    assert f.fallback_kind == "gradient"
    loss = log_loss(f.run(X, y), y).sum()
    regret = loss - best_in_hindsight(X, y, 10 / math.sqrt(12)).loss
    experts = len(f.experts)
    assert regret <= bounds.auto_gaf_wide(4000, 12, R, f.input_scale, experts=experts)
    assert loss < 0.8 * 4000 * np.log(6)


def test_a_mixture_that_needs_more_than_10_ms_says_so():
    with pytest.warns(UserWarning, match=r"a step of AutoGAF with 1 x 5000 .* about \d+ ms"):
        AutoGAF(5000, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AutoGAF(784, 10)
        AutoGAF(500, 64)


def test_two_threads_give_the_same_bits(long_stream):
    X, y = long_stream
    one, two = AutoGAF(5, 3), AutoGAF(5, 3, threads=2)
    assert np.array_equal(one.run(X, y), two.run(X, y))
    assert np.array_equal(one.predict(X[:500]), two.predict(X[:500]))
    np.testing.assert_allclose(
        one.predict(X[:100]), [one.predict(x) for x in X[:100]], rtol=0, atol=1e-12
    )


def test_a_state_goes_into_a_new_model_of_the_same_kind_only():
    X, y = logistic_stream(100, 3, 3)
    f = AutoGAF(3, 3)
    f.run(X, y)
    state = f._core.state()
    with pytest.raises(ValueError, match="into a new model"):
        f._core.restore(state)
    N = len(f.weights)
    for broken in (
        {**state, "steps": -1},
        {**state, "weight": np.zeros((1, 3))},
        {**state, "weight": np.full((1, N), np.nan)},
        {**state, "active": np.zeros((1, N))},
        {**state, "leader": -1},
        {**state, "next_trial": 10**7},
        {**state, "scale": math.inf},
        {**state, "muster": -1},
        {**state, "0.awake": 7},
    ):
        g = AutoGAF(3, 3)
        with pytest.raises(ValueError, match="fit"):
            g._core.restore(broken)
        assert np.array_equal(g.run(X, y), AutoGAF(3, 3).run(X, y))


@pytest.mark.parametrize(
    "scales", [np.logspace(-2, 2, 10), np.full(10, 1e4), np.r_[np.ones(9), 1e3]]
)
def test_badly_scaled_features_do_not_break_it(scales):
    X, y = logistic_stream(4000, 10, 3)
    assert mean_loss(AutoGAF(11, 3), with_intercept(X * scales), y) < 1.12 * mean_loss(
        AutoGAF(11, 3), with_intercept(X), y
    )


def test_classes_revealed_one_by_one():
    """The classes' first appearances are spread over the first half; the second half is forecast
    almost as if all had been known.
    """
    X, y = shuffled(*load_segment()[:2], seed=1)
    n, half = len(y), len(y) // 2
    keep = np.array([t >= half * label / 7 for t, label in enumerate(y)])
    X, y = X[keep], y[keep]
    start = len(y) - n // 2
    known = AutoGAF(20, 7)
    expected = log_loss(known.run(X, y)[start:], y[start:]).mean()
    f, seen, losses = AutoGAF(20, 2), 2, []
    for x, label in zip(X, y.tolist(), strict=True):
        while label >= seen:
            f.add_class()
            seen += 1
        losses.append(-np.log(f.predict(x)[label]))
        f.learn(x, label)
    assert f.n_classes == 7
    assert np.mean(losses[start:]) <= 1.03 * expected


def test_report_says_what_it_has_settled_on():
    X, y = drifting_stream("slow", n=3000)
    f = AutoGAF(11, 4)
    f.run(X, y)
    report = f.report()
    assert "AutoGAF after 3000 examples" in report
    assert "as if it changed" in report
    assert "drift 0.0" in report
    X, y = logistic_stream(3000, 4, 3)
    f = AutoGAF(4, 3)
    f.run(X, y)
    assert "stationary" in f.report()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"grid": []}, ValueError, "grid is empty"),
        ({"grid": [(1.0, 1.0)]}, ValueError, r"grid\[0\] must be \(lam, beta, drift\)"),
        ({"grid": [(1.0, 1.0, 0.0), (0.0, 1.0, 0.0)]}, ValueError, r"grid\[1\]: lam"),
        ({"grid": [(1.0, 1.0, -1.0)]}, ValueError, "drift"),
        ({"alphas": []}, ValueError, "alphas"),
        ({"alphas": [0.0]}, ValueError, "alphas"),
        ({"alphas": [1e-320, 1.0]}, ValueError, "alphas must be at least 1e-300"),
        ({"share": 1.0}, ValueError, "share"),
        ({"threads": 0}, ValueError, "threads"),
        ({"threads": 1.5}, TypeError, "threads"),
        ({"sleep": "no"}, TypeError, "sleep must be True or False"),
        ({"grid": [5]}, TypeError, "grid must be a list"),
        ({"alphas": 4.0}, TypeError, "alphas must be a list"),
        ({"views": [0]}, ValueError, "views must have one entry for each of the 9"),
        ({"structure": "sparse"}, ValueError, "structure must be one of 'full'"),
        ({"structure": ["full"]}, ValueError, "structure must have one entry for each of the 9"),
        ({"structure": 3}, TypeError, "structure must be a list"),
        ({"scale": 0.0}, ValueError, "scale"),
        ({"fallback": -1.0}, ValueError, "fallback"),
        ({"mu": 0.7}, ValueError, "mu"),
    ],
)
def test_bad_parameters(arguments, error, message):
    with pytest.raises(error, match=message):
        AutoGAF(3, 3, **arguments)


def test_sizes_that_do_not_fit_in_memory_are_refused():
    with pytest.raises(MemoryError, match="AutoGAF with 100000 features"):
        AutoGAF(100_000, 100, structure="shared")


@pytest.mark.parametrize("rate", [0.5, 0.05])
def test_noise_costs_next_to_nothing_beside_the_class_rates(rate):
    """At most ln(2 N) nats at every step; without that expert it would be 17 and 25 in the end."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 20)), (rng.random(1000) < rate).astype(int)
    f = AutoGAF(20, 2)
    behind = (log_loss(f.run(X, y), y) - log_loss(ClassRates(20, 2).run(X, y), y)).cumsum()
    assert behind.max() <= np.log(2 * len(f.experts))
    assert f.expert_weights[-2] > 0.5
    assert "in the class frequencies" in f.report()


def test_class_rates_are_counted_by_weight_and_in_tables_alike():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(150, 2)), rng.integers(0, 3, 150), rng.random(150) * 2
    f = AutoGAF(2, 3)
    f.run(X, y, weight)
    counts = f._core.state()[f"{len(f.grid)}.counts"]
    np.testing.assert_allclose(counts[0], [weight[y == c].sum() for c in range(3)])
    f.add_class()
    assert f._core.state()[f"{len(f.grid)}.counts"].tolist() == [[*counts[0], 0.0]]


def test_large_posteriors_fold_in_their_updates_at_different_steps(tmp_path):
    """So that no step waits for all of them. Tables and saved mixtures go on the same."""
    X, y = logistic_stream(100, 300, 3)
    grid = [(0.1, 1.0, 0.0), (1.0, 1.0, 0.0), (0.1, 1.0, 1e-3)]
    one, table = (AutoGAF(300, 3, grid=grid, structure="shared", scale=1.0) for _ in range(2))
    p, most = np.empty((100, 3)), 0
    before = np.zeros(3)
    for t in range(100):
        p[t] = one.predict(X[t])
        one.learn(X[t], int(y[t]))
        state = one._core.state()
        pending = np.array([state[f"{i}.pending"] for i in range(3)])
        most = max(most, int((pending <= before).sum()))
        before = pending
        if t == 40:
            save(one, tmp_path / "model")
    assert most == 1
    np.testing.assert_allclose(table.run(X, y), p, rtol=0, atol=1e-9)
    loaded = load(tmp_path / "model")
    for t in range(41, 100):
        np.testing.assert_array_equal(loaded.predict(X[t]), p[t])
        loaded.learn(X[t], int(y[t]))
