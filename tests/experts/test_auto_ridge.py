"""AutoRidge against closed forms; its intervals; its scale."""

import pickle

import numpy as np
import pytest
from scipy import stats
from streams import share, with_intercept

from mixable import AutoRidge

NORMAL = {"tails": [np.inf], "robust": []}


def stream(n=800, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = with_intercept(rng.normal(size=(n, 3)))
    return X, X @ [1.0, -2.0, 0.5, 20.0] + noise * rng.normal(size=n)


def closed_form(X, y, lam):
    """Means, x^T A^-1 x and sizes of past misses of a Bayesian linear regression, row by row."""
    size, out = 0.0, []
    for t, x in enumerate(X):
        A = lam * np.eye(X.shape[1]) + X[:t].T @ X[:t]
        mean, G = x @ np.linalg.solve(A, X[:t].T @ y[:t]), x @ np.linalg.solve(A, x)
        out.append((mean, G, np.exp(size) if t else 0.0))
        size += (np.log((y[t] - mean) ** 2 / (1 + G)) + 1.27 - size) / (t + 1)
    return np.array(out)


def test_one_expert_is_bayesian_linear_regression():
    X, y = stream(100)
    f = AutoRidge(4, grid=[(0.3, 0.0)], noises=[0.5], **NORMAL, scale=1.0)
    mean, std = f.run_with_std(X, y)
    expected, G, size = closed_form(X, y, 0.3).T
    np.testing.assert_allclose(mean, expected, rtol=1e-9)
    assert std[0] == np.inf  # before the first target anything can happen
    np.testing.assert_allclose(std[1:], np.sqrt(0.5 * size * (1 + G))[1:], rtol=1e-9)
    np.testing.assert_allclose(
        f.coef, np.linalg.solve(0.3 * np.eye(4) + X.T @ X, X.T @ y), rtol=1e-9
    )


def test_it_is_bayes_rule_over_its_experts():
    """Predictive densities of each expert, by the closed form; the mixture's log density is their
    log-sum.
    """
    X, y = stream(60)
    f = AutoRidge(
        4,
        grid=[(0.3, 0.0), (5.0, 0.0)],
        noises=[0.5, 2.0],
        **NORMAL,
        share=0.0,
        sleep=False,
        scale=1.0,
    )
    forms = [closed_form(X, y, lam) for lam in (0.3, 5.0)]
    logs = np.zeros(4)
    for t in range(60):
        if t:  # before the first miss there is no size
            density = [
                stats.norm(form[t, 0], np.sqrt(noise * form[t, 2] * (1 + form[t, 1]))).logpdf(y[t])
                for form in forms
                for noise in (0.5, 2.0)
            ]
            w = np.exp(logs - np.logaddexp.reduce(logs))
            assert f.log_density(X[t], y[t]) == pytest.approx(np.log(w @ np.exp(density)), abs=1e-7)
            if t >= 4:  # before that, the size is not steady enough to judge by
                logs += density
        f.learn(X[t], y[t])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tiny first target", lambda y: np.r_[1e-5, y[1:]]),
        ("huge first target", lambda y: np.r_[1e8, y[1:]]),
        ("offset", lambda y: y + 1e6),
        ("zeros first", lambda y: np.r_[np.zeros(5), y[5:]]),
        ("outliers", lambda y: np.where(np.arange(len(y)) % 100 == 50, 1e3, y)),
    ],
)
def test_intervals_do_not_hang_on_single_targets(name, change):
    X, y = stream(1500)
    y = change(y)
    f = AutoRidge(4)
    f.run(X[:1000], y[:1000])
    low, high = f.interval(X[1000:], level=0.9)
    coverage = share((low <= y[1000:]) & (y[1000:] <= high))
    assert 0.84 < coverage < 0.98, name
    assert np.median(high - low) < 4 * 1.645 * 0.5


def test_a_trend_in_the_inputs():
    n = 5000
    X = np.column_stack([np.arange(1.0, n + 1), np.ones(n)])
    y = 0.5 * X[:, 0] + 3 + np.random.default_rng(0).normal(size=n)
    f = AutoRidge(2)
    f.run(X, y)
    np.testing.assert_allclose(f.predict([n / 2, 1.0]), n / 4 + 3, atol=3)


def test_targets_beyond_double_precision_are_refused_and_leave_no_trace():
    f = AutoRidge(1)
    f.learn([1.0], 1e-130)
    before = f.predict([1.0]), pickle.dumps(f)
    with pytest.raises(ValueError, match="cannot be learned"):
        f.learn([1.0], 1e300)
    assert (f.predict([1.0]), pickle.dumps(f)) == before
    f.learn([1.0], 1e90)
    assert np.isfinite([f.predict([1.0]), f.std([1.0])]).all()


def test_nothing_but_zeros():
    f = AutoRidge(2)
    assert f.run(np.ones((50, 2)), np.zeros(50)).tolist() == [0.0] * 50
    assert f.std([1.0, 1.0]) == 0
    assert f.interval([1.0, 1.0]) == (0.0, 0.0)


def test_intervals_cover_and_are_as_narrow_as_the_noise():
    X, y = stream(2000)
    f = AutoRidge(4)
    f.run(X[:1000], y[:1000])
    hits, widths = [], []
    for x, target in zip(X[1000:], y[1000:], strict=True):
        low, high = f.interval(x, level=0.8)
        hits.append(low <= target <= high)
        widths.append(high - low)
        f.learn(x, target)
    assert abs(share(hits) - 0.8) < 0.03
    assert np.mean(widths) == pytest.approx(2 * 1.2816 * 0.5, rel=0.1)
    assert f.std(X[0]) == pytest.approx(0.5, rel=0.1)


def test_interval_is_the_mixtures_quantile():
    X, y = stream(30)
    f = AutoRidge(4)
    f.run(X, y)
    low, high = f.interval(X[:5], level=0.9)
    for x, a, b in zip(X, low, high, strict=False):
        w, m, square, _, thin = f._core.components(x).T
        s, t = np.sqrt(square), thin > 0
        for end, below in ((a, 0.05), (b, 0.95)):
            cdf = np.where(t, stats.t(3.0, m, s).cdf(end), stats.norm(m, s).cdf(end))
            assert (w * cdf).sum() == pytest.approx(below, abs=1e-9)
        s = np.where(t, np.sqrt(3), 1.0) * s
        w = np.maximum(
            w - 2 * f.share / len(w), 0
        )  # what the share alone gives is left out of the moments
        w /= w.sum()
        assert f.predict(x) == pytest.approx((w * m).sum(), rel=1e-9)
        assert f.std(x) == pytest.approx(
            np.sqrt((w * (s**2 + m**2)).sum() - (w * m).sum() ** 2), rel=1e-6
        )


@pytest.mark.parametrize(("inputs", "targets"), [(1e-5, 1e7), (1e6, 1e-9)])
def test_units_do_not_matter(inputs, targets):
    X, y = stream(400)
    mean, std = AutoRidge(4).run_with_std(X, y)
    other_mean, other_std = AutoRidge(4).run_with_std(X * inputs, y * targets)
    np.testing.assert_allclose(other_mean / targets, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        other_std[1:] / targets, std[1:], rtol=1e-9
    )  # before the first target there is no unit


def test_drift_and_a_change_of_noise_are_followed():
    rng = np.random.default_rng(0)
    n = 6000
    X = with_intercept(rng.normal(size=(n, 3)))
    W = np.cumsum(0.02 * rng.normal(size=(n, 4)), axis=0)
    noise = np.where(np.arange(n) < 3000, 0.1, 1.0)
    y = (X * W).sum(axis=1) + noise * rng.normal(size=n)
    f, still = AutoRidge(4), AutoRidge(4, grid=[(0.1, 0.0), (0.01, 0.0)], robust=[])
    mean, std = f.run_with_std(X, y)
    error, error_still = ((mean - y) ** 2)[1000:].mean(), ((still.run(X, y) - y) ** 2)[1000:].mean()
    assert error < 0.5 * error_still
    assert np.median(std[4000:]) > 4 * np.median(std[2000:3000])


def test_bad_arguments():
    f = AutoRidge(4)
    with pytest.raises(ValueError, match="level"):
        f.interval(np.zeros(4), level=1.0)
    with pytest.raises(ValueError, match="noises"):
        AutoRidge(4, noises=[])
    with pytest.raises(ValueError, match=r"grid\[0\] must be \(lam, drift\)"):
        AutoRidge(4, grid=[(1.0, 1.0, 0.0)])
    with pytest.raises(ValueError, match="x must have shape"):
        f.interval(np.zeros(3))
    assert "AutoRidge after 0 examples" in f.report()


def test_an_expert_with_a_tail_is_a_t_distribution():
    X, y = stream(60)
    options = {"grid": [(0.3, 0.0)], "noises": [0.5], "robust": [], "scale": 1.0}
    f = AutoRidge(4, **options, tails=[3.0])
    mean, std = f.run_with_std(X[:-1], y[:-1])
    expected, G, size = closed_form(X, y, 0.3).T
    scale = np.sqrt(0.5 * size * (1 + G))
    np.testing.assert_allclose(mean, expected[:-1], rtol=1e-9)  # it learns as a normal one does
    np.testing.assert_allclose(std[1:], np.sqrt(3) * scale[1:-1], rtol=1e-9)
    t = stats.t(3.0, expected[-1], scale[-1])
    assert f.log_density(X[-1], y[-1]) == pytest.approx(t.logpdf(y[-1]), abs=1e-7)
    assert f.interval(X[-1], 0.8) == pytest.approx(t.ppf([0.1, 0.9]), rel=1e-6)


def test_scores_of_a_run_are_log_densities():
    X, y = stream(80)
    f, g = AutoRidge(4), AutoRidge(4)
    scores = f._core.run(X, y, None)[:, 2]
    for t in range(80):
        if t >= 20:
            expected = g.log_density(X[t], y[t]) + 0.5 * np.log(2 * np.pi)
            assert scores[t] == pytest.approx(expected, abs=1e-7)
        g.learn(X[t], y[t])
        assert g._core.score == pytest.approx(scores[t], abs=1e-9)


def test_robust_posteriors_are_not_moved_by_outliers():
    X, y = stream(600)
    far = np.where(np.arange(600) % 20 == 10, y + 300, y)
    truth = [1.0, -2.0, 0.5, 20.0]
    plain, robust = AutoRidge(4, robust=[]), AutoRidge(4)
    for f in (plain, robust):
        f.run(X, far)
    off = [np.abs(f.coef - truth).max() for f in (plain, robust)]
    assert off[1] < 0.5 < off[0]


def test_targets_that_are_often_met_exactly_do_not_stop_the_robust_ones():
    X, _ = stream(600)
    y = np.where(np.arange(600) % 10 == 0, X @ [5.0, 0.0, 0.0, 1.0], 0.0)
    f = AutoRidge(4, grid=[(1.0, 0.0)])
    f.run(X, y)
    assert np.isfinite(f.coef).all()
    assert np.isfinite(f.std(X[0]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tails": []}, "tails is empty"),
        ({"tails": [2.0]}, "tails must be above 2"),
        ({"tails": 3.0}, "tails must be a list"),
        ({"tails": ["heavy"]}, "tails"),
        ({"robust": [(1.0,)]}, r"robust\[0\] must be"),
        ({"robust": [(-1.0, 0.0)]}, r"robust\[0\]: lam"),
        ({"robust": 1.0}, "robust must be a list"),
        ({"views": [0] * 9}, "13 settings"),
    ],
)
def test_bad_tails_and_robust_settings_are_refused(wrong, message):
    with pytest.raises((TypeError, ValueError), match=message):
        AutoRidge(4, **wrong)


def test_the_loss_is_at_most_ln_2n_above_the_best_expert_and_ln_n_would_be_broken():
    """Two vectors of weights cost ln N each, and their judge ln 2."""
    X, y = stream(200)
    noises = (0.001, 0.01, 1.0, 100.0, 1000.0)

    def loss(noises):
        f = AutoRidge(
            4, grid=[(0.3, 0.0)], noises=noises, **NORMAL, share=0.05, sleep=False, scale=1.0
        )
        out = []
        for x, target in zip(X, y, strict=True):
            out.append(-f.log_density(x, target))
            f.learn(x, target)
        return np.sum(out[4:])  # experts are judged from the fifth example on

    above = loss(noises) - min(loss([noise]) for noise in noises)
    assert np.log(5) < above <= np.log(10) + 200e-10
