"""The compiled loop of predicting and learning, row by row."""

import itertools

import numpy as np
import pytest

import mixable as mx
from mixable import _core
from mixable.model import Design


def pool(f, scaler):
    """A pool of one expert."""
    return _core.LabelPool([(scaler, [], 1.0, True, False, f._core, None)], None, None, 1)


def follow(f, scaler, X, y):
    return pool(f, scaler).follow(X, None, np.arange(len(y)), y, None)


@pytest.mark.parametrize(("d", "K"), [(18, 4), (700, 3)])
def test_bits_do_not_depend_on_how_rows_are_spread_over_calls(d, K):
    """Also where BLAS does the products, whose bits in `run` do depend on it; and they are those of
    predict and learn.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, d)), rng.integers(-1, K, 90)
    design = Design.for_classes(mx.GAF, {})
    outcomes = []
    for cuts in ([0, 90], [0, 1, 8, 50, 51, 90], list(range(91))):
        f, scaler = design.forecaster(d, K), design.inputs(d).scaler
        parts = [follow(f, scaler, X[i:j], y[i:j]) for i, j in itertools.pairwise(cuts)]
        assert [part[1:] for part in parts] == [(j - i, None) for i, j in itertools.pairwise(cuts)]
        outcomes.append((np.concatenate([part[0] for part in parts]).tobytes(), f.coef.tobytes()))
    f, scaler, P = design.forecaster(d, K), design.inputs(d).scaler, []
    for x, label in zip(X, y, strict=True):
        z = scaler.transform(x)
        P.append(f.predict(z))
        if label >= 0:
            f.learn(z, label)
            scaler.learn(x)
    outcomes.append((np.array(P).tobytes(), f.coef.tobytes()))
    assert len(set(outcomes)) == 1


def test_what_is_too_large_is_refused_and_nothing_of_it_learned():
    f = mx.GAF(2, 2, lam=1e-14)
    scaler = mx._core.Scaler(2, False, False, 1)
    X = np.array([[1.0, 1.0], [1e9, 0.0], [1.0, 1.0]])
    _, done, reason = follow(f, scaler, X, np.array([0, 1, 0]))
    assert (done, f.steps) == (1, 1)
    assert "too large" in reason


def test_a_late_label_is_learned_with_its_row_as_it_was_scaled():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)) * np.arange(1, 41)[:, None], rng.integers(0, 2, 40)
    design = Design.for_classes(mx.GAF, {})
    # Each row is predicted; the label of row t comes after row t + 5, or with it.
    order, codes = [], []
    for t in range(40):
        is_late = t % 3 > 0
        order.append(t)
        codes.append(-1 if is_late else y[t])
        if t >= 5 and (t - 5) % 3 > 0:
            order.append(-1 - (t - 5))
            codes.append(y[t - 5])
    order, codes = np.array(order), np.array(codes)
    f, scaler = design.forecaster(3, 2), design.inputs(3).scaler
    one = pool(f, scaler)
    P, done, reason = one.follow(X, None, order, codes, np.zeros((40, one.kept_length)))
    assert (done, reason) == (len(order), None)
    g, other, rows = design.forecaster(3, 2), design.inputs(3).scaler, {}
    for step, (row, code) in enumerate(zip(order, codes, strict=True)):
        if row >= 0:
            rows[row] = other.transform(X[row])
            assert g.predict(rows[row]).tobytes() == P[step].tobytes()
        if code >= 0:
            row = row if row >= 0 else -1 - row
            g.learn(rows[row], code)
            other.learn(X[row])
    assert g.coef.tobytes() == f.coef.tobytes()


def test_late_labels_without_what_was_kept_are_refused():
    f, scaler = mx.GAF(2, 2), mx._core.Scaler(2, False, True, 1)
    X, late, one = np.ones((1, 2)), np.array([-1]), np.array([1])
    for order, y, Z, reason in (
        (late, one, None, "as it was"),
        (late, np.array([-1]), np.zeros((1, 2)), "needs a label"),
        (np.array([1]), one, None, "no such row"),
        (np.array([-2]), one, np.zeros((1, 2)), "no such row"),
        (late, one, np.zeros((1, 3)), "do not go together"),
    ):
        with pytest.raises(ValueError, match=reason):
            pool(f, scaler).follow(X, None, order, y, Z)
