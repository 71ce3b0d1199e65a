"""What every forecaster promises, of those whose inputs are sparse rows."""

import copy
import pickle

import numpy as np
import pytest
from promises import SPARSE, K, fingerprint
from scipy.sparse import coo_matrix, csr_matrix

import mixable as mx
from mixable import persistence

RNG = np.random.default_rng(3)
N, D = 60, 12
DENSE = np.where(RNG.random((N, D)) < 0.3, RNG.normal(size=(N, D)), 0.0)
DENSE[17] = 0.0
TABLE = csr_matrix(DENSE)
ROWS = [{int(j): float(x[j]) for j in np.flatnonzero(x)} for x in DENSE]
Y = (DENSE @ RNG.normal(size=(D, K)) + RNG.gumbel(size=(N, K))).argmax(axis=1)


@pytest.fixture(params=SPARSE)
def make(request):
    return SPARSE[request.param]


def labels(f):
    return np.minimum(Y, f.n_classes - 1)


def learned(make, n=N):
    f = make()
    f.run(TABLE[:n], labels(f)[:n])
    return f


def test_predict_is_pure_and_deterministic(make):
    f, quiet = learned(make), learned(make)
    before, unknown = fingerprint(f), {10**9: 1.0, 3: 2.0}
    first = f.predict(unknown)
    f.predict(TABLE)
    assert np.array_equal(f.predict(unknown), first)
    assert fingerprint(f) == before
    f.learn(ROWS[0], 1)
    quiet.learn(ROWS[0], 1)
    assert np.array_equal(quiet.predict(TABLE), f.predict(TABLE))


def test_run_equals_the_loop(make):
    one, whole = make(), make()
    weight, y = np.linspace(0.0, 2.0, N), labels(one)
    expected = []
    for t in range(N):
        expected.append(one.predict(ROWS[t]))
        one.learn(ROWS[t], int(y[t]), weight[t])
    assert np.array_equal(whole.run(TABLE, y, weight), expected)
    assert np.array_equal(whole.predict(TABLE), one.predict(ROWS))
    assert one.steps == whole.steps == N
    assert fingerprint(one) == fingerprint(whole)


def test_probabilities_are_positive_and_sum_to_one(make):
    p = make().run(TABLE * 30, labels(make()))
    assert (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_it_learns():
    f = SPARSE["SparseGAF"]()
    losses = [-np.log(f.run(TABLE, Y)[np.arange(N), Y]).mean() for _ in range(5)]
    assert losses[-1] < losses[0] < np.log(K)


def test_coefficients_sum_to_zero(make):
    f = learned(make)
    np.testing.assert_allclose(f.coef_of(range(D)).sum(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(f.intercept.sum(), 0, atol=1e-5)


@pytest.mark.parametrize(
    "duplicate",
    [
        lambda f: pickle.loads(pickle.dumps(f)),
        copy.deepcopy,
        copy.copy,
        lambda f: persistence.from_bytes(persistence.to_bytes(f)),
    ],
    ids=["pickle", "deepcopy", "copy", "save"],
)
@pytest.mark.parametrize("at", [0, 1, 7, 50])
def test_copies_go_on_with_the_same_bits_and_apart(make, duplicate, at):
    original = learned(make, at) if at else make()
    twin, y = duplicate(original), labels(original)
    assert np.array_equal(twin.run(TABLE[at:], y[at:]), original.run(TABLE[at:], y[at:]))
    assert fingerprint(twin) == fingerprint(original)
    twin.learn(ROWS[0], 0)
    assert twin.steps == original.steps + 1


def test_relabelling_the_classes_permutes_the_probabilities(make):
    f, g = make(), make()
    permutation = np.array([1, 2, 0])[: f.n_classes] % f.n_classes
    p, q = f.run(TABLE, labels(f)), g.run(TABLE, permutation[labels(g)])
    np.testing.assert_allclose(q[:, permutation], p, rtol=1e-4)


BAD_ROWS = [
    ({3: np.nan}, ValueError, r"x\[3\] is nan"),
    ([(1, 1.0), (4, -np.inf)], ValueError, r"x\[4\] is -inf"),
    (csr_matrix(np.array([[0.0, np.nan]])), ValueError, r"x\[0, 1\] is nan"),
    ({-1: 1.0}, ValueError, "keys of x must be from 0"),
    ({2**64: 1.0}, ValueError, "keys of x must be from 0"),
    ({"a": 1.0}, TypeError, "keys of x must be integers, got str"),
    ({1.5: 1.0}, TypeError, "keys of x must be integers, got float"),
    ({1: "2"}, TypeError, "x"),
    ({1: [2.0, 3.0]}, ValueError, "x must have one number for each key"),
    ({1: 1j}, TypeError, "x must be real"),
    ({1: 10**400}, ValueError, "too large"),
    ([1.0, 2.0], TypeError, "not all pairs"),
    (np.ones(D), TypeError, "x must be a scipy.sparse row"),
    (None, TypeError, "x must be"),
    (csr_matrix(np.array([[1j]])), TypeError, "x must have real numbers"),
]


@pytest.mark.parametrize(("x", "error", "message"), BAD_ROWS)
def test_bad_rows_are_named_and_nothing_is_learned(x, error, message):
    f = learned(SPARSE["SparseGAF"], 10)
    before = fingerprint(f)
    with pytest.raises(error, match=message):
        f.predict(x)
    with pytest.raises(error, match=message):
        f.learn(x, 0)
    assert fingerprint(f) == before


@pytest.mark.parametrize(
    ("y", "weight", "error", "message"),
    [
        (-1, 1.0, ValueError, "y is -1; labels are 0 to"),
        (K, 1.0, ValueError, "y is 3"),
        (1.0, 1.0, TypeError, "y must be an integer label, got float"),
        (0, -0.5, ValueError, "weight"),
        (0, np.nan, ValueError, "weight"),
        (0, "2", TypeError, "weight"),
        (0, 1e13, ValueError, "weight"),
    ],
)
def test_bad_labels_and_weights(y, weight, error, message):
    f = learned(SPARSE["SparseGAF"], 10)
    before = fingerprint(f)
    with pytest.raises(error, match=message):
        f.learn(ROWS[0], y, weight)
    assert fingerprint(f) == before


BAD_RUNS = [
    ((csr_matrix(np.where(DENSE[5, DENSE[5] != 0][0] == DENSE, np.nan, DENSE)), Y), r"X\[5, \d+\]"),
    ((TABLE[:0], Y[:0]), "X is empty"),
    (([], []), "X is empty"),
    ((TABLE, Y[:-1]), "y must have"),
    ((TABLE, np.where(np.arange(N) == 5, K, Y)), r"y\[5\] is 3"),
    ((TABLE, Y, np.full(N, -1.0)), r"weight\[0\] is -1"),
    ((TABLE, Y, np.ones(N - 1)), r"weight must have shape \(60,\)"),
    (([*ROWS[:-1], {0: np.inf}], Y), r"X\[59\]\[0\] is inf"),
    ((DENSE, Y), "X must be a scipy.sparse matrix"),
    ((DENSE[0], Y[:1]), "X must be a scipy.sparse matrix"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_RUNS)
def test_run_checks_everything_first(arguments, message):
    f = learned(SPARSE["SparseGAF"], 10)
    before = fingerprint(f)
    with pytest.raises((ValueError, TypeError), match=message):
        f.run(*arguments)
    assert fingerprint(f) == before


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
def test_every_format_gives_the_same_bits(make, form):
    f, g = make(), learned(make)
    f.run(TABLE.asformat(form), labels(f))
    assert fingerprint(f) == fingerprint(g)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint16, np.int64, bool, np.longdouble])
def test_other_number_types_are_taken_at_their_value(dtype):
    f, g = SPARSE["SparseGAF"](), SPARSE["SparseGAF"]()
    signs = csr_matrix(DENSE > 0)
    assert np.array_equal(f.run(signs.astype(dtype), Y), g.run(signs.astype(float), Y))


def test_saving_to_a_file(make, tmp_path):
    f = learned(make)
    mx.save(f, tmp_path / "model.safetensors")
    assert fingerprint(mx.load(tmp_path / "model.safetensors")) == fingerprint(f)


def test_values_of_one_key_add_up(make):
    f, g = learned(make), learned(make)
    twice = coo_matrix(([0.25, 0.75, 2.0], ([0, 0, 0], [5, 5, 1])), shape=(1, D))
    f.learn([(5, 0.25), (1, 2.0), (5, 0.75), (9, 0.0)], 1)
    g.learn({5: 1.0, 1: 2.0}, 1)
    assert fingerprint(f) == fingerprint(g)
    np.testing.assert_allclose(f.predict(twice)[0], g.predict({5: 1.0, 1: 2.0}), rtol=1e-12)
