"""What every forecaster promises (one suite, run on each): see docs/forecasters/index.md."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promises import (
    BAD_LABELS,
    BAD_ROWS,
    BAD_RUNS,
    BAD_WEIGHTS,
    FEW,
    LABELS,
    Case,
    D,
    K,
    N,
    X,
    fingerprint,
    layouts,
)

from mixable import AutoGAF, Foster, Mixture, Pool
from mixable.integrals import MonteCarlo


@pytest.fixture(params=LABELS)
def make(request):
    return Case(request.param)


def test_predict_is_pure_and_deterministic(make):
    f = make()
    f.run(X, make.Y)
    before = fingerprint(f)
    first = f.predict(X[0])
    f.predict(X[1])
    assert np.array_equal(f.predict(X[0]), first)
    assert fingerprint(f) == before
    quiet = make()
    quiet.run(X, make.Y)
    f.learn(X[2], 1)
    quiet.learn(X[2], 1)
    assert np.array_equal(quiet.predict(X[3]), f.predict(X[3]))


def test_run_equals_the_loop(make):
    one, whole = make(), make()
    weight = np.linspace(0.0, 2.0, N)
    expected = []
    for t in range(N):
        expected.append(one.predict(X[t]))
        one.learn(X[t], int(make.Y[t]), weight[t])
    np.testing.assert_allclose(whole.run(X, make.Y, weight), expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(whole.coef, one.coef, rtol=0, atol=1e-9)
    assert one.steps == whole.steps == N


def test_probabilities_are_positive_and_sum_to_one(make):
    f = make()
    p = f.run(X * 30, make.Y)
    assert (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_it_learns(make):
    p = make().run(np.tile(X, (3, 1)), np.tile(make.Y, 3))
    loss = -np.log(p[np.arange(3 * N), np.tile(make.Y, 3)])
    assert loss[-N:].mean() < loss[:N].mean() < np.log(make.K)


def test_coefficients_sum_to_zero_and_precision_is_symmetric(make):
    f = make()
    f.run(X, make.Y)
    np.testing.assert_allclose(f.coef.sum(axis=0), 0, atol=1e-10)
    if not hasattr(f, "precision"):
        return
    A = f.precision()
    if getattr(f, "structure", None) == "diagonal":
        assert A.shape == (make.K, D)
        assert A.min() > 0
        return
    np.testing.assert_allclose(A, np.swapaxes(A, -1, -2), rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(A).min() > 0


@pytest.mark.parametrize("at", [0, 1, 7, 50])
def test_copies_go_on_with_the_same_bits_and_apart(make, at):
    original = make()
    if at:
        original.run(X[:at], make.Y[:at])
    twins = [pickle.loads(pickle.dumps(original)), copy.deepcopy(original), copy.copy(original)]
    rest = slice(at, at + 10)
    expected = original.run(X[rest], make.Y[rest])
    for twin in twins:
        assert np.array_equal(twin.run(X[rest], make.Y[rest]), expected)
        assert np.array_equal(twin.coef, original.coef)
        twin.learn(X[0], 0)
        assert twin.steps == original.steps + 1


def test_relabelling_the_classes_permutes_the_probabilities(make):
    f, g = make(), make()
    permutation = np.array([1, 2, 0])[: make.K] % make.K
    p, q = f.run(X, make.Y), g.run(X, permutation[make.Y])
    if isinstance(f, Foster):  # its chains are not symmetric in the classes, only its target is
        assert np.abs(q[:, permutation] - p).mean() < 0.15
        return
    structured = getattr(f, "structure", "full") != "full" and not isinstance(f, (Mixture,))
    if structured or (isinstance(f, AutoGAF) and f.integrator is None):  # in closed form
        np.testing.assert_allclose(q[:, permutation], p, rtol=1e-9)
        np.testing.assert_allclose(g.coef[permutation], f.coef, rtol=0, atol=1e-9)
        return
    mixed = isinstance(
        f, (AutoGAF, Mixture, Pool)
    )  # the experts' weights depend on the integrator's points, which are not symmetric
    np.testing.assert_allclose(g.coef[permutation], f.coef, rtol=0, atol=0.05 if mixed else 1e-9)
    stochastic = isinstance(getattr(f, "integrator", None), MonteCarlo)
    assert np.median(np.abs(np.log(q[:, permutation]) - np.log(p))) < (0.3 if stochastic else 0.01)


def test_bad_inputs_are_named_and_nothing_is_learned(make):
    f = make()
    f.run(X[:10], make.Y[:10])
    before = fingerprint(f)
    for x, error, message in BAD_ROWS:
        with pytest.raises(error, match=message):
            f.predict(x)
        with pytest.raises(error, match=message):
            f.learn(x, 0)
        assert fingerprint(f) == before, message


def test_bad_labels(make):
    f = make()
    before = fingerprint(f)
    for y, error, message in BAD_LABELS:
        with pytest.raises(error, match=message):
            f.learn(X[0], y)
        assert fingerprint(f) == before, message


def test_bad_weights(make):
    f = make()
    before = fingerprint(f)
    for weight, error in BAD_WEIGHTS:
        with pytest.raises(error, match="weight"):
            f.learn(X[0], 1, weight)
        assert fingerprint(f) == before, weight


def test_run_checks_everything_first(make):
    f = make()
    f.run(X[:4], make.Y[:4])
    before = fingerprint(f)
    for (table, labels, *weight), error, message in BAD_RUNS:
        if make.K == 2 and isinstance(labels, np.ndarray):
            labels = np.where(labels == 2, labels - 1, labels)
        with pytest.raises(error, match=message):
            f.run(table, labels, *weight)
        assert fingerprint(f) == before, message


def test_every_layout_of_the_same_numbers_gives_the_same_bits(make):
    y, plain = make.Y[:FEW], make()
    p, first = plain.run(X[:FEW], y), plain.predict(X[0])
    plain.learn(X[0], 1)
    for (name, table), (_, row) in zip(layouts(X[:FEW]), layouts(X[0]), strict=True):
        f = make()
        assert np.array_equal(f.run(table, y), p), name
        assert np.array_equal(f.predict(row), first), name
        f.learn(row, 1)
        assert np.array_equal(f.coef, plain.coef), name


def test_other_number_types_are_taken_at_their_value(make):
    table, y, plain = np.where(X[:FEW] > 0, 1.0, 0.0), make.Y[:FEW], make()
    p, first = plain.run(table, y), plain.predict(table[0])
    for dtype in (np.float32, np.int8, np.uint16, np.int64, bool):
        f = make()
        assert np.array_equal(f.run(table.astype(dtype), y), p), dtype
        assert np.array_equal(f.predict(table[0].astype(dtype)), first), dtype


def test_label_types(make):
    y, plain = make.Y[:FEW], make()
    p = plain.run(X[:FEW], y)
    for _ in range(4):
        plain.learn(X[0], 1)
    reversed_twice = y[::-1].copy()[::-1]
    kinds = (y.astype(np.uint8), y.astype(np.int32), y.tolist(), y.astype(object), reversed_twice)
    for labels in kinds:
        f = make()
        assert np.array_equal(f.run(X[:FEW], labels), p), labels
        for label in (np.int8(1), np.uint64(1), True, np.True_):
            f.learn(X[0], label)
        assert np.array_equal(f.coef, plain.coef), labels


@settings(max_examples=30, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(LABELS)))
def test_any_finite_stream_keeps_the_promises(data, name):
    """Hypothesis looks for inputs, labels and weights that break positivity, finiteness or run =
    loop.
    """
    n = data.draw(st.integers(1, 5))
    value = st.floats(-1e5, 1e5, allow_nan=False, allow_subnormal=True)
    table = np.array(
        data.draw(st.lists(st.lists(value, min_size=D, max_size=D), min_size=n, max_size=n))
    )
    labels = np.array(data.draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    weight = np.array(data.draw(st.lists(st.floats(0, 1e3), min_size=n, max_size=n)))
    labels = np.minimum(labels, Case(name).K - 1)
    f, g = LABELS[name](), LABELS[name]()
    p = f.run(table, labels, weight)
    assert np.isfinite(p).all()
    assert (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)
    for t in range(n):
        np.testing.assert_allclose(g.predict(table[t]), p[t], rtol=1e-6, atol=1e-9)
        g.learn(table[t], int(labels[t]), weight[t])
    assert np.isfinite(f.coef).all()
