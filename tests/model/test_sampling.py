"""natural and sample: the posterior by its parameters, and draws that have its moments."""

import numpy as np
import pandas as pd
import pytest
from record_data import DECLARED, events
from shards import NUMBERS, TWO, X, Y

import mixable as mx
from mixable import river

STRUCTURES = ("full", "blocks", "shared", "diagonal")
DRAWS = 20_000
X2 = X[:5]


def centred(z):
    return z - z.mean(axis=-1, keepdims=True)


def moments_agree(draws, mean, covariance):
    """Within five standard errors, of the mean and of each entry of the covariance."""
    n = len(draws)
    sd = np.sqrt(np.diag(covariance))
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * sd / np.sqrt(n) + 1e-12).all()
    error = np.abs(np.cov(draws.T) - covariance)
    assert (error < 5 * np.sqrt(2 / n) * np.outer(sd, sd) + 1e-12).all()


def covariance_of_logits(model, x):
    """Of the centred logits, from the precision of the weights."""
    K, d = model.n_classes, model.n_features
    A, centre = model.precision(), np.eye(K) - 1 / K
    if model.structure == "full":
        S = np.linalg.inv(A).reshape(K, d, K, d)
        G = np.einsum("i,aibj,j->ab", x, S, x)
    elif model.structure == "diagonal":
        G = np.diag((x**2 / A).sum(axis=1))
    else:
        S = np.linalg.inv(A)
        G = np.eye(K) * np.einsum("i,...ij,j->...", x, S, x)
    return centre @ G @ centre / (2 * model.alpha)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("drift", [0.0, 1e-3])
def test_draws_of_a_gaf_have_the_moments_of_its_posterior(structure, drift):
    model = mx.GAF(4, 3, structure=structure, drift=drift, alpha=0.5)
    model.run(X[:200], Y[:200])
    x = X[300]
    draws = model.sample(x, DRAWS, random_state=0)
    assert draws.shape == (DRAWS, 3)
    np.testing.assert_allclose(draws.sum(axis=1), 0, atol=1e-9)
    moments_agree(draws, model.coef @ x, covariance_of_logits(model, x))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_natural_parameters_are_precision_shift_and_steps(structure):
    model = mx.GAF(4, 3, structure=structure)
    model.run(X[:50], Y[:50])
    A, shift, steps = model.natural()
    np.testing.assert_array_equal(A, model.precision())
    assert steps == 50
    assert shift.shape == (3, 4)
    if structure == "full":
        mean = np.linalg.solve(A, shift.ravel()).reshape(3, 4)
    elif structure == "diagonal":
        mean = shift / A
    else:
        mean = np.linalg.solve(A, shift[..., None])[..., 0]
    np.testing.assert_allclose(centred(mean.T), model.coef.T, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "y"),
    [
        (lambda: mx.AIOLI(4), TWO),
        (lambda: mx.VAW(4), NUMBERS),
        (lambda: mx.VAW(4, drift=0.01), NUMBERS),
        (lambda: mx.ONS(4, 3), Y),
        (lambda: mx.Folklore(4, 3, structure="blocks"), Y),
    ],
)
def test_what_examples_add_to_natural_parameters_adds_up(make, y):
    """Those of a merged model are the sum, less what all began with."""
    models = [make() for _ in range(3)]
    for model, first in zip(models, (0, 100, 300), strict=True):
        model.run(X[first : first + 90], y[first : first + 90])
    merged, prior = mx.merge(models).natural(), make().natural()
    assert merged.steps == 270
    if "drift" in make()._parameters and make().drift:
        return  # what was known then is less by now
    for name in ("precision", "shift"):
        total = sum(getattr(m.natural(), name) for m in models) - 2 * getattr(prior, name)
        np.testing.assert_allclose(getattr(merged, name), total, rtol=1e-8, atol=1e-8)


def test_rows_of_a_draw_have_the_same_weights():
    model = mx.GAF(4, 3)
    model.run(X[:50], Y[:50])
    both = np.vstack([X[0], X[1], X[0] + X[1]])
    draws = model.sample(both, 20, random_state=1)
    assert draws.shape == (20, 3, 3)
    np.testing.assert_allclose(draws[:, 0] + draws[:, 1], draws[:, 2], atol=1e-9)


def test_without_a_hedge_there_is_nothing_to_draw():
    model = mx.GAF(4, 3, alpha=np.inf)
    model.run(X[:50], Y[:50])
    np.testing.assert_allclose(model.sample(X[0], 3), [model.coef @ X[0]] * 3, atol=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"fallback": None}, {"views": None, "structure": "blocks"}]
)
def test_draws_of_autogaf_have_the_mean_of_the_mixture(options):
    model = mx.AutoGAF(4, 3, **options)
    model.run(X[:300], Y[:300])
    draws = model.sample(X[400], DRAWS, random_state=0)
    error = 5 * draws.std(axis=0) / np.sqrt(DRAWS)
    assert (np.abs(draws.mean(axis=0) - model.coef @ X[400]) < error + 1e-3).all()


def test_draws_of_one_expert_of_autogaf_are_those_of_the_gaf():
    """Inputs are measured by their mean square, so that lam is in its units."""
    scale = float((X**2).mean())
    options = {"grid": [(0.1, 1.0, 0.0)], "alphas": [2.0], "fallback": None, "structure": "full"}
    auto = mx.AutoGAF(4, 3, scale=scale, surrogate="tangent", **options)
    own = mx.GAF(4, 3, lam=0.1 * scale, alpha=2.0)
    for model in (auto, own):
        model.run(X[:200], Y[:200])
    draws = auto.sample(X[300], DRAWS, random_state=0)
    moments_agree(draws, own.coef @ X[300], covariance_of_logits(own, X[300]))


def test_draws_of_autoridge_have_the_moments_of_the_posterior():
    """With one posterior and one noise a forecast has the variance s (1 + G), its mean s G."""
    model = mx.AutoRidge(4, grid=[(0.1, 0.0)], noises=[1.0], tails=[np.inf], robust=[])
    model.run(X[:60], NUMBERS[:60] - 30)
    x = 10 * X[300]
    draws = model.sample(x, DRAWS, random_state=0)
    assert draws.shape == (DRAWS,)
    near = model.std(np.zeros(4)) ** 2  # the noise
    variance = model.std(x) ** 2 - near
    assert draws.var() == pytest.approx(variance, rel=5 * np.sqrt(2 / DRAWS))
    assert abs(draws.mean() - model.predict(x)) < 5 * np.sqrt(variance / DRAWS)
    whole = mx.AutoRidge(4)
    whole.run(X[:300], NUMBERS[:300] - 30)
    draws = whole.sample(X[300:302], 4000, random_state=0)
    assert draws.shape == (4000, 2)
    assert (np.abs(draws.mean(axis=0) - whole.predict(X[300:302])) < 0.05).all()
    assert (draws.std(axis=0) < whole.std(X[300:302])).all()


def test_a_mixture_draws_an_expert_by_its_weight():
    """GAF without a hedge, and one without a posterior: two points, as often as they weigh."""
    model = mx.Mixture([mx.GAF(4, 3, alpha=np.inf), mx.OGD(4, 3)])
    model.run(X[:5], Y[:5])
    draws = model.sample(X[20], DRAWS, random_state=0)
    first = model.experts[0].coef @ X[20]
    second = centred(np.log(model.experts[1].predict(X[20])))
    is_first = np.abs(draws - first).max(axis=1) < 1e-9
    assert (np.abs(draws[~is_first] - second) < 1e-9).all()
    p = model.weights[0]
    assert 0.01 < p < 0.99
    assert is_first.mean() == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / DRAWS))
    numbers = mx.Mixture([mx.VAW(4), mx.AutoRidge(4)], target_bound=100)
    numbers.run(X[:50], NUMBERS[:50])
    assert numbers.sample(X[:2], 5).shape == (5, 2)


def models():
    names = np.array(["c", "a", "b"])[Y]
    yield mx.GAFClassifier(kernel=None).fit(X[:200], names[:200]), X2
    yield mx.GAFClassifier(kernel=mx.kernels.Auto(10)).fit(X[:200], names[:200]), X2
    yield mx.GAFRegressor(kernel=None).fit(X[:200], NUMBERS[:200]), X2
    yield mx.GAFRegressor(kernel=mx.kernels.Auto(10)).fit(X[:200], NUMBERS[:200]), X2
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=np.array(["u", "v", "w"])[Y])
    yield mx.GAFRegressor(kernel=mx.kernels.Auto(10)).fit(frame[:200], NUMBERS[:200]), frame[:5]
    yield mx.GAFClassifier(kernel=mx.kernels.Auto(10)).fit(frame[:200], names[:200]), frame[:5]
    pool = mx.Pool([mx.GAF(4, 3), mx.GAF(4, 3, structure="diagonal"), mx.OGD(4, 3)])
    pool.run(X[:200], Y[:200])
    yield pool, X2
    yield mx.AutoGAF(4, 3), X2
    yield mx.AutoRidge(4), X2


@pytest.mark.parametrize("place", range(9))
def test_sample_changes_nothing_and_seeds_say_what_is_drawn(place):
    model, rows = list(models())[place]
    before = mx.dumps(model)
    draws = [model.sample(rows, 30, random_state=seed) for seed in (3, 3, 4)]
    assert mx.dumps(model) == before
    assert draws[0].shape[:2] == (30, 5)
    np.testing.assert_array_equal(draws[0], draws[1])
    assert np.isfinite(draws[0]).all()
    assert (draws[0] != draws[2]).any()
    rng = np.random.default_rng(3)
    np.testing.assert_array_equal(model.sample(rows, 30, random_state=rng), draws[0])


def test_draws_of_estimators_are_near_their_forecasts():
    """By the median over draws: the most probable class, and the number within the noise."""
    made = list(models())
    for model, rows in (made[0], made[1], made[5]):
        draws = np.median(model.sample(rows, 400, random_state=0), axis=0)
        p = model.predict_proba(rows)
        sure = p.max(axis=1) > 0.6
        assert sure.any()
        assert (draws.argmax(axis=1) == p.argmax(axis=1))[sure].all()
    for model, rows in made[2:5]:
        draws = model.sample(rows, 400, random_state=0)
        mean, std = model.predict(rows, return_std=True)
        assert (np.abs(np.median(draws, axis=0) - mean) < std).all()


def test_river_draws_for_one_dictionary():
    model = river.GAFClassifier(columns=DECLARED)
    assert model.sample({"a": 1.0}, 3) == {}
    data = events(80)
    for x, y in zip(data, Y[:80].tolist(), strict=True):
        model.learn_one(x, y)
    draws = model.sample(data[3], 7, random_state=0)
    assert set(draws) == {0, 1, 2}
    assert all(each.shape == (7,) for each in draws.values())
    numbers = river.GAFRegressor()
    assert numbers.sample({"a": 1.0}, 3).tolist() == [0.0] * 3
    for row, y in zip(X[:80].tolist(), NUMBERS[:80].tolist(), strict=True):
        numbers.learn_one(dict(zip("abcd", row, strict=True)), y)
    assert numbers.sample(dict(zip("abcd", X[0].tolist(), strict=True)), 7).shape == (7,)


def test_what_cannot_be_drawn_is_refused():
    model = mx.GAF(4, 3)
    with pytest.raises(ValueError, match="n must be at least 1"):
        model.sample(X[0], 0)
    with pytest.raises(ValueError, match=r"shape \(4,\)"):
        model.sample(X[0][:2], 3)
