"""Experts of several kinds on raw records: one compiled call against the parts by themselves."""

import copy
import pickle

import naive_bayes_reference
import numpy as np
import pytest
from streams import logistic_stream

import mixable as mx
from mixable import _core
from mixable.experts import NaiveBayes
from mixable.experts.pool import DRIFT, SMOOTHING
from mixable.model import RecordPool, ShapeDesign, design_of_classes, design_of_records, grids
from mixable.model.inputs import ScaledInputs
from mixable.model.kernel_inputs import KernelInputs
from mixable.model.pool import LAM, QUICK, TIE
from mixable.model.pooled import PooledDesign
from mixable.model.trees import RawInputs
from mixable.records import Rows
from mixable.records.column import ALL, NOTHING, WITHOUT_BINS

FREE = {"lam": None}


def design():
    return design_of_classes(None, FREE, features=(8, None, "nystroem"))


def some_records(n, d=3, K=3):
    """Numbers, of which some are missing, and sparse features."""
    X, y = logistic_stream(n, d, K)
    rng = np.random.default_rng(0)
    X[rng.random(X.shape) < 0.1] = np.nan
    counts = rng.integers(0, 4, n)
    start = np.concatenate([[0], np.cumsum(counts)])
    keys = rng.integers(0, 9, start[-1]).astype(np.uint64)
    return Rows.of(X, start, keys, rng.normal(size=start[-1])), y


def run_alone(inputs, forecaster, X, y):
    """A dense expert by itself, row by row, in Python."""
    if isinstance(forecaster, NaiveBayes):
        return naive_bayes_reference.run(X, y, forecaster.n_classes)
    if isinstance(inputs, RawInputs):
        return forecaster.run(X, y)
    scaler = inputs.scaler if isinstance(inputs, ScaledInputs) else inputs.scaled.scaler
    out = []
    for x, label in zip(X, y, strict=True):
        z = inputs.transform(x)
        out.append(forecaster.predict(z))
        forecaster.learn(z, label)
        if isinstance(inputs, KernelInputs):
            last = scaler.transform(x)[None, -len(x) :].copy()
            inputs.maps = [each.learn(last)[1] for each in inputs.maps]
        scaler.learn(x)
    return np.array(out)


def said_by_parts(X, y, K):
    """What each expert of the blend says, by itself."""
    out = []
    for part in design().parts:
        if isinstance(part, ShapeDesign):
            out.append(shaped(part, X, y, K))
            continue
        inputs, forecaster = part.inputs(X.shape[1]), part.forecaster(X.shape[1], K)
        out.append(run_alone(inputs, forecaster, X, y))
    return out


def shaped(part, X, y, K):
    """What an expert on shapes of numbers says, row by row, in Python."""
    inputs, forecaster, out = part.inputs(X.shape[1]), part.forecaster(X.shape[1], K), []
    for x, label in zip(X, y, strict=True):
        z = inputs.scaler.transform(x)[X.shape[1] :]
        row = list(zip(*inputs.shapes.features(x, z), strict=True))
        out.append(forecaster.predict(row))
        forecaster.learn(row, label)
        inputs.scaler.learn(x)
    return np.array(out)


def pool_alone(plan, n_features):
    """A blend of three classes without its fallback, as those from files of version 0.2."""
    blend = RecordPool(plan, n_features, 3)
    blend._fallback = None
    return blend


def test_it_is_its_experts_under_the_judge():
    X, y = logistic_stream(300, 3, 3)
    X[::7, 1] = np.nan
    blend = pool_alone(design(), 3)
    said = said_by_parts(X, y, 3)
    options = {"tie": TIE, "quick": QUICK, "first": blend.design.first_weights}
    judge = _core.Judge(len(said), 3, LAM, DRIFT, SMOOTHING, 1e-3, **options)
    judge.set_active(blend.selection.place, False)  # until columns are selected
    blend.selection.hold()
    expected = judge.run(np.ascontiguousarray(np.stack(said, 1).reshape(300, -1)), y, None)
    np.testing.assert_allclose(blend.run(X, y), expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(blend.weights, judge.mean()[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("has_features", [False, True])
def test_what_experts_weigh_at_first(has_features):
    plan = design_of_records(design()) if has_features else design()
    weights = dict(zip(plan.names, plan.first_weights, strict=True))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["trees"] == pytest.approx(3 * weights["linear"])
    assert weights["naive Bayes"] == pytest.approx(weights["linear"] / 4)
    is_less = weights["kernel 1"] < weights["linear"]
    assert is_less == has_features  # of records there is a kernel that sees more
    if has_features:
        assert weights["kernel of indicators"] == weights["trees"]
    np.testing.assert_allclose(
        RecordPool(plan, 3, 3)._core.mean().sum(axis=1), 1, atol=0.1
    )  # but for the one that waits until columns are selected


def test_experts_that_were_inactive_keep_their_own_scale():
    """In tables rows are scaled once for all experts, but for those that have seen other rows."""
    X, y = logistic_stream(330, 3, 3)
    X[100:] *= 5
    blend = RecordPool(design(), 3, 3)
    blend.selection.hold()
    blend.run(X[:100], y[:100])
    left = np.array([[0.0, *[1.0] * (len(blend.experts) - 1)]])
    blend._core.restore({**blend._core.state(), "activity.left": left})
    blend.run(X[100:256], y[100:256])
    assert len(blend.active) == len(blend.experts)
    single = copy.deepcopy(blend)
    p = blend.run(X[256:], y[256:])
    for x, label, expected in zip(X[256:], y[256:], p, strict=True):
        np.testing.assert_allclose(single.predict(x), expected, rtol=0, atol=1e-9)
        single.learn(x, label)


@pytest.mark.parametrize("has_features", [False, True])
def test_tables_single_records_and_streams_agree(has_features):
    rows, y = some_records(150)
    X = rows if has_features else rows.dense
    plan = design_of_records(design()) if has_features else design()
    table, single, stream = (RecordPool(plan, 3, 3) for _ in range(3))
    p = table.run(X, y)
    q = []
    for t in range(150):
        record = X[t : t + 1]
        q.append(single.predict(record)[0])
        single.learn(record, int(y[t]))
    np.testing.assert_allclose(q, p, rtol=0, atol=1e-9)
    codes = np.where(np.arange(150) % 5 == 0, -1, y)
    whole, _, reason = stream.follow(X, np.arange(len(codes)), codes)
    assert reason is None
    pieces = RecordPool(plan, 3, 3)
    cuts = ((0, 1), (1, 70), (70, 150))
    cut = [pieces.follow(X[a:b], np.arange(b - a), codes[a:b])[0] for a, b in cuts]
    np.testing.assert_array_equal(np.concatenate(cut), whole)
    assert stream.steps == pieces.steps == 120
    assert (table.steps, single.steps) == (150, 150)


@pytest.mark.parametrize("has_features", [False, True])
def test_threads_that_share_a_table_change_no_bit(has_features):
    """While several experts are active they share these; else the posteriors of the first do.

    The second table is a random walk among random labels: the first expert alone is active there.
    """
    records, y = some_records(700)
    weight = np.random.default_rng(1).integers(0, 3, 700).astype(float)
    X = records if has_features else records.dense
    noise = np.random.default_rng(2)
    later = noise.normal(size=(3000, 3)), noise.integers(0, 3, 3000)
    made = []
    for threads in (1, 2, 3):
        one = design_of_classes(None, FREE, features=(8, None, "nystroem"), threads=threads)
        blend = RecordPool(design_of_records(one) if has_features else one, 3, 3)
        forecasts = [blend.run(X, y, weight), blend.run(X[:70], y[:70])]
        if not has_features:
            forecasts += [blend.predict(X), blend.run(*later)]
            assert len(blend.active) <= 3
        forecasts.append(blend.predict(X))
        made.append((forecasts, pickle.dumps(blend._core.state()), blend))
    for forecasts, state, _ in made[1:]:
        for mine, first in zip(forecasts, made[0][0], strict=True):
            np.testing.assert_array_equal(mine, first)
        assert state == made[0][1]
    assert made[0][2].design.is_like(made[1][2].design)


@pytest.mark.parametrize("has_features", [False, True])
def test_a_table_is_forecast_like_its_rows_and_nothing_is_learned(has_features):
    records, y = some_records(500)
    X = records if has_features else records.dense
    blend = RecordPool(design_of_records(design()) if has_features else design(), 3, 3)
    noise = np.random.default_rng(2)
    for learned in (0, 300):
        if learned:
            blend.run(X[:learned], y[:learned])
        before = pickle.dumps(blend._core.state())
        P = blend.predict(X)
        rows = [blend.predict(X[t : t + 1])[0] for t in range(0, 500, 7)]
        np.testing.assert_allclose(P[::7], rows, rtol=0, atol=1e-9)
        assert pickle.dumps(blend._core.state()) == before
    twin = copy.deepcopy(blend)
    twin.predict(X)
    for each in (blend, twin):
        each.learn(X[300:301], int(y[300]))
    p, q = (each.predict(X[301:302]) for each in (blend, twin))
    np.testing.assert_allclose(q, p, rtol=0, atol=1e-12)
    if not has_features:
        blend.run(noise.normal(size=(3000, 3)), noise.integers(0, 3, 3000))
        assert len(blend.active) <= 2
        rows = [blend.predict(X[t : t + 1])[0] for t in range(0, 500, 7)]
        np.testing.assert_allclose(blend.predict(X)[::7], rows, rtol=0, atol=1e-9)


def test_predict_is_pure_and_weight_0_leaves_no_trace():
    rows, y = some_records(60)
    blend = RecordPool(design_of_records(design()), 3, 3)
    blend.run(rows, y)
    before = pickle.dumps(blend.__getstate__()["inputs"])
    p = blend.predict(rows)
    np.testing.assert_array_equal(blend.predict(rows), p)
    blend.learn(rows[:1], 0, 0.0)
    np.testing.assert_array_equal(blend.predict(rows), p)
    assert pickle.dumps(blend.__getstate__()["inputs"]) == before
    assert blend.steps == 61


def test_experts_on_keys_see_of_a_number_what_is_shown():
    rows, y = some_records(60)
    plan = PooledDesign([grids.SPARSE])
    hidden, absent, unbinned = (copy.deepcopy(rows) for _ in range(3))
    hidden.shown, unbinned.shown = bytes([NOTHING]), bytes([ALL, WITHOUT_BINS])
    absent.dense[:, 0] = np.nan
    p, q, _, _ = said = [
        pool_alone(plan, 3).run(each, y) for each in (hidden, absent, unbinned, rows)
    ]
    np.testing.assert_array_equal(p, q)
    assert len({each.tobytes() for each in said}) == 3
    trees = PooledDesign([grids.LEAVES])  # which take no keys: all is shown
    np.testing.assert_array_equal(
        RecordPool(trees, 3, 3).run(hidden, y), RecordPool(trees, 3, 3).run(rows, y)
    )
    blend = RecordPool(plan, 3, 3)
    blend.run(unbinned, y)
    binned = RecordPool(plan, 3, 3)
    binned.run(rows, y)
    assert len(blend.experts[0].keys) < len(binned.experts[0].keys)


def test_sparse_features_are_seen_and_crosses_where_they_are_asked_for():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    start, none = np.arange(401), np.empty((400, 0))
    rows = Rows.of(none, start, (10 + y).astype(np.uint64), np.ones(400))
    noise = Rows.of(none, start, np.full(400, 10, np.uint64), np.ones(400))
    crossed = Rows.of(none, start, np.full(400, 10, np.uint64), np.ones(400))
    crossed.cross_indptr, crossed.cross_values = start, np.ones(400)
    crossed.cross_keys = (10 + y).astype(np.uint64)
    plain = design_of_records(design(), numbers=False)
    with_crosses = design_of_records(design(), numbers=False, crosses=True)
    losses = [
        mx.losses.log_loss(RecordPool(plan, 0, 2).run(table, y), y).mean()
        for plan, table in (
            (plain, rows),
            (plain, noise),
            (plain, crossed),
            (with_crosses, crossed),
        )
    ]
    assert losses[0] < 0.1
    assert losses[3] < 0.2
    assert min(losses[1:3]) > 0.6


def test_it_grows_copies_and_goes_on_with_the_same_bits():
    rows, y = some_records(120)
    blend = RecordPool(design_of_records(design()), 3, 3)
    blend.run(rows[:80], y[:80])
    before = blend.predict(rows)
    blend.add_class()
    blend.add_features(1)
    wide = rows[:]
    wide.dense = np.column_stack([rows.dense, np.full(120, np.nan)])
    p = blend.predict(wide)
    assert p.shape == (120, 4)
    np.testing.assert_allclose(p[:, :3] / p[:, :3].sum(axis=1, keepdims=True), before, atol=0.05)
    twin = copy.deepcopy(blend)
    for each in (blend, twin):
        each.run(wide, np.where(y == 0, 3, y))
    np.testing.assert_array_equal(blend.predict(wide), twin.predict(wide))
    assert (blend.n_classes, blend.n_features, blend.steps) == (4, 4, 200)


def test_what_is_too_large_is_refused_before_anything_is_learned():
    plan = design_of_classes(None, FREE, features=(8, None, "nystroem"), standardize=False)
    blend = RecordPool(plan, 2, 2)
    X = np.array([[1.0, 2.0], [1e200, 1.0]])
    with pytest.raises(ValueError, match="too large"):
        blend.check(X)
    with pytest.raises(ValueError, match="too large"):
        blend.predict(X)
    assert blend.steps == 0
    P, done, reason = blend.follow(X, np.arange(2), np.array([0, 1]))
    assert (len(P), done, blend.steps) == (2, 1, 1)
    assert "too large" in reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: {**s, "experts": s["experts"][:-1]}, "not those of its design"),
        (lambda s: {**s, "experts": s["experts"][::-1]}, "not those of its design"),
        (lambda s: {**s, "design": 7}, "needs a design"),
        (lambda s: {**s, "n_features": 4}, "not those that the experts see"),
        (lambda s: {**s, "state": {**s["state"], "steps": 7}}, "different examples"),
    ],
)
def test_a_state_that_does_not_go_together_is_refused(change, message):
    rows, y = some_records(20)
    blend = RecordPool(design_of_records(design()), 3, 3)
    blend.run(rows, y)
    with pytest.raises((ValueError, TypeError), match=message):
        RecordPool.__new__(RecordPool).__setstate__(change(blend.__getstate__()))
