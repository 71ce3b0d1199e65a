"""Late labels and weights that change: the bounds hold for what they are about, and are needed."""

import math

import numpy as np
import pytest
from streams import LABELS

from mixable import GAF, bounds, regret
from mixable.losses import log_loss

B, R = 0.3, 1.0


def forecaster(n, d):
    lam = bounds.sharp(n, d, 2, B, R).lam
    return GAF(d, 2, lam=lam, beta=bounds.largest_beta(2, B * R), mu=0.0)


def static(d):
    return lambda m: bounds.sharp(m, d, 2, B, R)


def stream(n, d, rng, weights=None):
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if weights is None:
        weights = np.full((n, d), B * math.sqrt(2 / d))  # of the margin
    return X, ((X * weights).sum(axis=1) + rng.logistic(size=n) < 0).astype(int)


@pytest.mark.parametrize("delay", [0, 3])
def test_copies_that_take_turns_are_below_the_bound_and_above_half_of_it(delay):
    """Each example comes delay + 1 times in a row: whoever has no label yet pays again."""
    d, n = 5, 1200
    X, y = stream(n, d, np.random.default_rng(0))
    X, y = np.repeat(X, delay + 1, axis=0), np.repeat(y, delay + 1)
    turns = [slice(c, None, delay + 1) for c in range(delay + 1)]
    paid = sum(log_loss(forecaster(n, d).run(X[i], y[i]), y[i]).sum() for i in turns)
    paid -= regret.best_in_hindsight(X, y, B, n_classes=2).loss
    bound = bounds.delayed(static(d), len(y), delay)
    assert 0.8 * bound < paid <= bound


@pytest.mark.parametrize("label", ["adversary", "drawn from the forecast"])
def test_one_forecaster_that_learns_late_labels_stays_below_it_here(label):
    """Nothing is proved of it: these streams are held to it."""
    d, n, delay = 2, 500, 10
    rng = np.random.default_rng(1)
    X, _ = stream(n, d, rng)
    f, y, paid = forecaster(n, d), np.empty(n, dtype=int), 0.0
    for t in range(n):
        if t > delay:
            f.learn(X[t - delay - 1], int(y[t - delay - 1]))
        p = f.predict(X[t])
        y[t] = LABELS[label](p, rng)
        paid -= math.log(p[y[t]])
    paid -= regret.best_in_hindsight(X, y, B, n_classes=2).loss
    assert paid <= bounds.delayed(static(d), n, delay)


def test_delay_shares_out_the_examples():
    sizes = []
    assert bounds.delayed(lambda m: sizes.append(m) or 1.0, 10, 3) == 4.0
    assert sizes == [3, 2]
    assert bounds.delayed(lambda m: float(m), 2, 5) == 2.0


def mixture(losses, births):
    """Loss at each step of the mixture of copies: losses[b, t] is that of the copy born at b."""
    n, paid = len(losses), []
    copies = {}  # (birth, level): weight
    for t in range(1, n + 1):
        if births == "every":
            copies = {key: weight * (1 - 1 / t) for key, weight in copies.items()}
            copies[t, math.inf] = 1 / t
        else:
            j = (t & -t).bit_length() - 1  # t is a multiple of 2^j and no more
            for level in range(j + 1):
                copies[t, level] = 1 / (t * (t + 1) * (1 + j))
        live = {key: w for key, w in copies.items() if t < key[0] + 2 ** key[1]}
        p = {key: math.exp(-losses[key[0] - 1, t - 1]) for key in live}
        forecast = sum(w * p[key] for key, w in live.items()) / sum(live.values())
        paid.append(-math.log(forecast))
        copies = {key: w * p[key] / forecast for key, w in live.items()}
    return np.array(paid)


def test_the_mixture_pays_ln_n_for_a_segment_and_no_half_of_it():
    """The copy born at b is the only one that is right."""
    n, b = 300, 100
    losses = np.full((n, n), math.log(2))
    losses[b - 1] = 0.0
    more = mixture(losses, "every")[b - 1 :].sum()
    bound = bounds.switching(lambda m: 0.0, n, 1)
    assert 0.8 * bound < more <= bound


def test_sleeping_copies_pay_their_prior():
    n, b, j = 256, 96, 5
    losses = np.full((n, n), math.log(2))
    losses[b - 1] = 0.0
    more = mixture(losses, "dyadic")[b - 1 : b - 1 + 2**j].sum()
    assert 1.0 < more <= math.log(b * (b + 1) * (1 + j))
    pieces = 2 * (1 + math.log2(n))
    assert more <= bounds.switching(lambda m: 0.0, n, 1, "dyadic") / pieces
    assert bounds.switching(lambda m: 7.0, n, 1, "dyadic") == pytest.approx(
        bounds.switching(lambda m: 0.0, n, 1, "dyadic") + 7.0 * pieces
    )


@pytest.mark.parametrize("births", ["every", "dyadic"])
def test_regret_to_weights_that_change_is_below_the_bounds(births):
    """Two rotations of the best weights in three segments, labels drawn from them."""
    rng = np.random.default_rng(2)
    n, d, segments = 240, 2, 3
    angle = np.repeat([0.0, 2.0, 4.0], n // segments)
    weights = math.sqrt(2) * B * np.column_stack([np.cos(angle), np.sin(angle)])
    X, y = stream(n, d, rng, weights)
    losses = np.zeros((n, n))
    for b in range(n):
        losses[b, b:] = log_loss(forecaster(n // segments, d).run(X[b:], y[b:]), y[b:])
    pieces = np.split(np.arange(n), segments)
    best = sum(regret.best_in_hindsight(X[i], y[i], B, n_classes=2).loss for i in pieces)
    paid = mixture(losses, births).sum() - best
    assert paid <= bounds.switching(static(d), n, segments, births)
    moving = np.logaddexp(0, (2 * y - 1) * (X * weights).sum(axis=1)).sum()
    path = 2 * 2 * B * math.sin(1.0)
    whole = bounds.dynamic(static(d), n, path, R, births=births)
    assert mixture(losses, births).sum() - moving <= whole


def test_drawn_labels_have_the_exponents_of_smooth_losses():
    """Up to logarithms, n^(1/3) path^(2/3) and n^(1/2) path^(1/2)."""
    for drawn, powers in ((True, (1 / 3, 2 / 3)), (False, (1 / 2, 1 / 2))):
        values = [
            bounds.dynamic(lambda m: 1.0 + math.log(m), n, path, 1.0, drawn=drawn)
            for n, path in ((10**6, 1.0), (10**9, 1.0), (10**6, 30.0))
        ]
        slope = math.log(values[1] / values[0]) / math.log(1000)
        assert powers[0] - 0.02 < slope < powers[0] + 0.07
        assert math.log(values[2] / values[0]) / math.log(30) == pytest.approx(powers[1], abs=0.08)


def test_fixed_weights_lose_what_dynamic_says():
    """A step away from the weights that draw: KL is at most R^2 |u - v|^2 / 4, and nearly that."""
    x = np.linspace(-0.2, 0.2, 41)
    u, v = x[:, None], x[None, :]  # logits (u, -u), of norm sqrt(2) |u|
    p = 1 / (1 + np.exp(-2 * u))
    divergence = p * np.logaddexp(0, -2 * v) + (1 - p) * np.logaddexp(0, 2 * v)
    divergence -= p * np.logaddexp(0, -2 * u) + (1 - p) * np.logaddexp(0, 2 * u)
    most = 2 * (u - v) ** 2 / 4
    assert (divergence <= most + 1e-15).all()
    assert (divergence >= 0.9 * most - 1e-15).all()
    once = bounds.dynamic(lambda m: 0.0, 1, 0.4, 1.0, drawn=True)
    assert once == pytest.approx(0.4**2 / 4)
    assert bounds.dynamic(lambda m: 0.0, 1, 0.4, 1.0) == pytest.approx(math.sqrt(2) * 0.4)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda f: bounds.delayed(f, 10, -1), "delay"),
        (lambda f: bounds.switching(f, 10, 11), "segments"),
        (lambda f: bounds.switching(f, 10, 1, "never"), "births"),
        (lambda f: bounds.dynamic(f, 10, -1.0, 1.0), "path"),
    ],
)
def test_bad_arguments_are_refused(call, name):
    with pytest.raises(ValueError, match=name):
        call(lambda m: 1.0)
