"""Trees: the promises of all forecasters, and what only trees can do."""

import copy
import pickle

import numpy as np
import pytest
from promises import (
    BAD_LABELS,
    BAD_ROWS,
    BAD_RUNS,
    BAD_WEIGHTS,
    FEW,
    D,
    K,
    X,
    Y,
    fingerprint,
    layouts,
)

import mixable as mx
from mixable import _core
from mixable.experts import Trees

RNG = np.random.default_rng(5)
ROWS = 400
WIDE = RNG.normal(size=(ROWS, D))
WIDE[:, 1] = RNG.integers(0, 6, ROWS)
WIDE[RNG.uniform(size=WIDE.shape) < 0.05] = np.nan
SCORE = np.nan_to_num(WIDE) @ [2.0, 0.0, -1.0, 0.5, 0.0] + np.isin(WIDE[:, 1], [1, 4]) * 3.0
OUTCOMES = {
    None: SCORE,
    2: (np.median(SCORE) < SCORE).astype(int),
    3: np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.7])),
    8: np.digitize(SCORE, np.quantile(SCORE, np.arange(1, 8) / 8)),
}
each_kind = pytest.mark.parametrize("classes", OUTCOMES)


def trees(classes, categories=(1,)):
    return Trees(D, classes, categories=categories)


def outcome(classes, t):
    y = OUTCOMES[classes][t]
    return float(y) if classes is None else int(y)


def log_loss(p, y, n=None):
    return float(-np.log(p[np.arange(len(y)), y])[n:].mean())


@each_kind
def test_run_equals_the_loop_to_the_bit_and_predict_is_pure(classes):
    f, whole = trees(classes), trees(classes)
    weight = np.linspace(0.0, 2.0, ROWS)
    expected = []
    for t in range(ROWS):
        first = f.predict(WIDE[t])
        f.predict(WIDE[0])
        assert np.array_equal(f.predict(WIDE[t]), first)
        expected.append(first)
        f.learn(WIDE[t], outcome(classes, t), weight[t])
    assert np.array_equal(whole.run(WIDE, OUTCOMES[classes], weight), np.array(expected))
    assert np.array_equal(whole.predict(WIDE), f.predict(WIDE))
    before = fingerprint(f)
    f.predict(WIDE)
    assert fingerprint(f) == before == fingerprint(whole)
    assert f.steps == ROWS


@each_kind
def test_a_copy_at_any_moment_goes_on_with_the_same_bits(classes):
    """Also in the middle of a tree: that is where most of these moments are."""
    f, saved, stages = trees(classes), trees(classes), set()
    moments = np.random.default_rng(0).uniform(size=ROWS) < 0.3
    for t in range(ROWS):
        f.learn(WIDE[t], outcome(classes, t))
        if moments[t]:
            state = saved._core.state()
            stages.add((state["stage"], state.get("tree_stage")))
            saved = mx.loads(mx.dumps(saved)) if t % 5 == 0 else pickle.loads(pickle.dumps(saved))
        saved.learn(WIDE[t], outcome(classes, t))
    assert fingerprint(saved) == fingerprint(f)
    assert np.array_equal(saved.predict(WIDE), f.predict(WIDE))
    assert len(stages) >= 6  # of those in which a build can be


@each_kind
def test_it_learns(classes):
    f = trees(classes)
    said = f.run(np.tile(WIDE, (3, 1)), np.tile(OUTCOMES[classes], 3))
    y = np.tile(OUTCOMES[classes], 3)
    if classes is None:
        assert np.abs(said[-ROWS:] - y[-ROWS:]).mean() < 0.5 * np.abs(y - y.mean()).mean()
        return
    assert (said > 0).all()
    np.testing.assert_allclose(said.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert log_loss(said, y, -ROWS) < 0.7 * log_loss(said[:ROWS], y[:ROWS])


@pytest.mark.parametrize("classes", [2, 3, 8])
def test_relabelling_the_classes_permutes_the_probabilities(classes):
    f, g = trees(classes), trees(classes)
    permutation = np.random.default_rng(1).permutation(classes)
    p = f.run(WIDE, OUTCOMES[classes])
    q = g.run(WIDE, permutation[OUTCOMES[classes]])
    # Sums over classes are in another order: where two splits are as good, another may be taken.
    assert np.quantile(np.abs(np.log(q[:, permutation]) - np.log(p)), 0.8) < 1e-3


def test_bad_arguments_are_named_and_nothing_is_learned():
    f = Trees(D, K)
    f.run(X[:10], Y[:10])
    before = fingerprint(f)
    for x, error, message in BAD_ROWS:
        if "nan" in message:
            continue
        for call in (f.predict, lambda x: f.learn(x, 0)):
            with pytest.raises(error, match=message):
                call(x)
    for y, error, message in BAD_LABELS:
        with pytest.raises(error, match=message):
            f.learn(X[0], y)
    for weight, error in BAD_WEIGHTS:
        with pytest.raises(error, match="weight"):
            f.learn(X[0], 1, weight)
    for arguments, error, message in BAD_RUNS:
        if r"X\[7, 2\]" in message:
            continue
        with pytest.raises(error, match=message):
            f.run(*arguments)
    for y, error in [(np.nan, ValueError), ("1", TypeError), (None, TypeError)]:
        with pytest.raises(error, match="y "):
            Trees(D).learn(X[0], y)
    assert fingerprint(f) == before
    for categories in ([5], [-1], [1, 1], ["a"]):
        with pytest.raises((ValueError, TypeError), match="categories"):
            Trees(D, K, categories=categories)


def test_every_layout_of_the_same_numbers_gives_the_same_bits():
    plain = Trees(D, K)
    p, first = plain.run(X[:FEW], Y[:FEW]), plain.predict(X[0])
    for (name, table), (_, row) in zip(layouts(X[:FEW]), layouts(X[0]), strict=True):
        f = Trees(D, K)
        assert np.array_equal(f.run(table, Y[:FEW]), p), name
        assert np.array_equal(f.predict(row), first), name


def test_weights():
    """0 leaves nothing changed but the number of steps; 2 counts about twice."""
    f, silent = trees(3), trees(3)
    for t in range(200):
        f.learn(WIDE[t], outcome(3, t))
        silent.learn(WIDE[t], outcome(3, t))
        silent.learn(WIDE[(7 * t) % ROWS], 0, 0.0)
    assert np.array_equal(f.predict(WIDE), silent.predict(WIDE))
    x, twice, heavy = np.zeros((60, 1)), Trees(1, 2), Trees(1, 2)
    y = np.arange(60) % 3 == 0
    for t in range(60):
        heavy.learn(x[t], int(y[t]), 2.0 if y[t] else 1.0)
        for _ in range(2 if y[t] else 1):
            twice.learn(x[t], int(y[t]))
    assert abs(heavy.predict([0.0])[1] - twice.predict([0.0])[1]) < 0.03
    assert 0.4 < heavy.predict([0.0])[1] < 0.6


def test_missing_values_are_a_value():
    """Whether a number is missing says everything here."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1500, 2))
    x[rng.uniform(size=1500) < 0.4, 0] = np.nan
    y = np.isnan(x[:, 0]).astype(int)
    assert log_loss(Trees(2, 2).run(x, y), y, 500) < 0.05


def test_categories_beat_their_codes():
    """60 values in an order that means nothing: trees of few leaves need all of them at once."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 60, 800)
    of_value = rng.permutation(np.arange(60) % 2)
    y = of_value[codes]
    noise = rng.normal(size=800)
    table = np.column_stack([codes.astype(float), noise])
    as_numbers = log_loss(Trees(2, 2).run(table, y), y, 100)
    as_categories = log_loss(Trees(2, 2, categories=[0]).run(table, y), y, 100)
    assert as_categories < 0.75 * as_numbers


def test_codes_are_only_names():
    f, g = trees(3), trees(3)
    other = WIDE.copy()
    other[:, 1] = np.array([40.0, -3.5, 0.0, 1e9, 7.0, 2.0])[np.nan_to_num(WIDE[:, 1]).astype(int)]
    other[np.isnan(WIDE[:, 1]), 1] = np.nan
    p, q = f.run(WIDE, OUTCOMES[3]), g.run(other, OUTCOMES[3])
    np.testing.assert_allclose(np.median(np.abs(p - q)), 0.0, atol=1e-4)


def test_a_new_class():
    f = trees(3)
    f.run(WIDE, OUTCOMES[3])
    old = f.predict(WIDE)
    f.add_class()
    new = f.predict(WIDE)
    assert f.n_classes == 4
    assert (new[:, 3] > 0).all()
    assert new[:, 3].max() < 0.05
    odds = np.log(new[:, :2]) - np.log(new[:, 1:3]), np.log(old[:, :2]) - np.log(old[:, 1:])
    np.testing.assert_allclose(*odds, atol=0.05)
    for t in range(200):
        f.learn(WIDE[t] + 100.0, 3)
    assert f.predict(WIDE[:50] + 100.0)[:, 3].mean() > 0.9


def test_from_two_classes_to_three():
    f = trees(2)
    f.run(WIDE, OUTCOMES[2])
    old = f.predict(WIDE)
    f.add_class()
    new = f.predict(WIDE)
    assert ((new[:, 1] > new[:, 0]) == (old[:, 1] > old[:, 0])).mean() > 0.98


@each_kind
def test_new_features(classes):
    f = trees(classes)
    f.run(WIDE, OUTCOMES[classes])
    old = f.predict(WIDE)
    f.add_features(2)
    wider = np.column_stack([WIDE, np.full((ROWS, 2), np.nan)])
    assert f.n_features == D + 2
    assert np.array_equal(f.predict(wider), old)
    wider[:, D:] = RNG.normal(size=(ROWS, 2))
    f.run(wider, OUTCOMES[classes])
    g = pickle.loads(pickle.dumps(f))
    assert np.array_equal(g.run(wider, OUTCOMES[classes]), f.run(wider, OUTCOMES[classes]))


def test_importances_are_of_columns_that_say_something():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(800, 6))
    x[:, 4] = rng.integers(0, 5, 800)
    y = x[:, 2] + 3.0 * np.isin(x[:, 4], [0, 3])
    f = Trees(6, categories=[4])
    f.run(x, y)
    share = f.feature_importances
    assert share.shape == (6,)
    assert share.sum() == pytest.approx(1.0)
    assert set(np.argsort(share)[-2:]) == {2, 4}
    assert share[[0, 1, 3, 5]].sum() < 0.1


@each_kind
def test_merging(classes):
    """The merged one has all rows, and soon says as much as one that has learned them."""
    shards = [trees(classes) for _ in range(2)]
    half = ROWS // 2
    for shard, rows in zip(shards, (slice(0, half), slice(half, ROWS)), strict=True):
        shard.run(WIDE[rows], OUTCOMES[classes][rows])
    both = mx.merge(shards)
    assert both.steps == ROWS
    assert len(both._core.rows()["y"]) == ROWS
    assert fingerprint(mx.merge(shards[::-1])) == fingerprint(both)
    more = [copy.deepcopy(both) for _ in range(2)]
    for t, shard in enumerate(more):
        shard.learn(WIDE[t], outcome(classes, t))
    assert mx.merge(more, base=both).steps == ROWS + 2
    assert len(mx.merge(more, base=both)._core.rows()["y"]) == ROWS + 2
    one = trees(classes)
    one.run(WIDE, OUTCOMES[classes])
    for f in (both, one):
        f.run(WIDE, OUTCOMES[classes])
    if classes is None:
        miss = [np.abs(f.predict(WIDE) - SCORE).mean() for f in (both, one)]
        assert miss[0] < 1.3 * miss[1]
    else:
        loss = [log_loss(f.predict(WIDE), OUTCOMES[classes]) for f in (both, one)]
        assert loss[0] < 1.3 * loss[1] + 0.02


def test_numbers_have_a_deviation_that_fits():
    rng = np.random.default_rng(6)
    x = rng.uniform(size=(3000, 2))
    y = 100 * (x[:, 0] > 0.5) + rng.normal(size=3000)
    f = Trees(2)
    mean, deviation = f.run_with_std(x, y)
    z = (y - mean)[1500:] / deviation[1500:]
    assert 0.8 < z.std() < 1.25
    assert f.std(x[0]) == deviation[-1] or f.std(x[0]) > 0
    assert f.std(x).shape == (3000,)
    with pytest.raises(TypeError, match="numbers"):
        Trees(2, 2).std(x[0])


@pytest.mark.parametrize("constant", [0.0, 7.0, -1e90])
def test_a_constant_target(constant):
    f = Trees(2)
    said = f.run(WIDE[:, :2], np.full(ROWS, constant))
    np.testing.assert_allclose(said[1:], constant, rtol=1e-9)


def test_huge_numbers_do_no_harm():
    f = Trees(2)
    x = RNG.normal(size=(300, 2))
    y = x[:, 0].copy()
    y[[50, 120]] = 1e100, -1e100
    x[60] = [1e308, -1e308]
    said, deviation = f.run_with_std(x, y)
    assert np.isfinite(said).all()
    assert (deviation > 0).all()
    assert np.isfinite(deviation).all()


@each_kind
def test_no_columns_at_all(classes):
    f = Trees(0, classes)
    said = f.run(np.empty((ROWS, 0)), OUTCOMES[classes])
    assert np.isfinite(said).all()
    assert pickle.loads(pickle.dumps(f)).steps == ROWS


def test_more_rows_than_the_ring_has_follow_a_change():
    """Wide rows make the ring small; what is forgotten makes room for what is true now."""
    rng = np.random.default_rng(7)
    wide = rng.normal(size=(3000, 1500))
    f = Trees(1500, 2)
    y = (wide[:, 0] > 0).astype(int)
    y[1500:] = 1 - y[1500:]
    p = f.run(wide, y)
    assert 2500 < len(f._core.rows()["y"]) < 3000  # 40 MB of rows
    assert log_loss(p, y, -300) < 0.45
    assert f.memory < 64e6


@pytest.mark.parametrize(("d", "most"), [(100, 40_609), (10, 65_536)])
def test_memory_is_bounded(d, most):
    f = Trees(d, 3)
    x = np.random.default_rng(8).normal(size=(1, d))
    rows = f._core.rows()
    n = 100_000
    rows = {
        "x": np.repeat(x, n, axis=0).ravel(),
        "keys": rows["keys"],
        "y": np.arange(n) % 3 * 1.0,
        "weight": np.ones(n),
    }
    f._core.set_rows(rows, n)
    kept = f._core.rows()
    assert len(kept["y"]) == most
    assert kept["y"][-1] == (n - 1) % 3
    assert f.memory < 64e6


def test_the_compiled_part_refuses_what_does_not_fit():
    core = _core.Trees(2, 1, 3)
    good = np.zeros((4, 2)), np.zeros((4, 1), np.uint64)
    for bad in [(good[0][:, :1], good[1]), (good[0], None), (good[0], good[1][:2])]:
        with pytest.raises((ValueError, TypeError)):
            core.predict(*bad)
    for y in (-1.0, 3.0, 0.5, np.nan):
        with pytest.raises(ValueError, match="y has"):
            core.run(*good, np.full(4, y), None)
    with pytest.raises(ValueError, match="weight"):
        core.run(*good, np.zeros(4), np.full(4, -1.0))
    assert core.steps == 0


def test_steps_are_never_long():
    """No test of time: counted work of one step is at most that of a few units."""
    f = trees(8)
    f.run(WIDE, OUTCOMES[8])
    assert abs(f._core.state()["credit"]) < 2e6


@pytest.mark.parametrize("label", [0, 1])
def test_missing_values_go_where_they_belong(label):
    """Most rows are on the left of the split; what is missing belongs there, or on the right."""
    rng = np.random.default_rng(0)
    x, is_missing = rng.uniform(size=(2000, 1)), rng.random(2000) < 0.1
    y = np.where(is_missing, label, x[:, 0] > 0.8).astype(int)
    x[is_missing] = np.nan
    p = mx.Trees(1, 2).run(x, y)
    assert (p.argmax(axis=1) == y)[1000:][is_missing[1000:]].mean() > 0.9
