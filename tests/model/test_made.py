"""Columns made of categories: indicators that are given as values come, and class frequencies."""

import copy
import pickle

import numpy as np
import pytest
from categories_reference import CategoriesReference

from mixable import _core
from mixable.model import Design, RecordPool, design_of_classes, design_of_records
from mixable.model.pooled import design_of_numbers
from mixable.records.rows import Rows

FREE = {"lam": None}


def plan(**options):
    return design_of_records(
        design_of_classes(None, FREE, features=(8, None, "nystroem"), **options)
    )


def table(X, categories):
    """Rows of numbers and categories, and a sparse feature for each."""
    n, c = categories.shape
    rows = Rows.of(X, np.arange(n + 1) * c, categories.ravel().copy(), np.ones(n * c))
    rows.categories = categories
    return rows


def some_rows(n, sizes=(2, 3, 5, 40), d=2, K=3, seed=0):
    """Numbers, columns of categories with so many values, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    values = np.stack([(rng.pareto(1.0, n) * size / 4).astype(int) % size for size in sizes], 1)
    X = rng.normal(size=(n, d))
    keys = (1 + values + 1000 * np.arange(1, len(sizes) + 1)).astype(np.uint64)
    keys[rng.random(keys.shape) < 0.1] = 0  # missing
    score = values.sum(axis=1) % K + (X[:, 0] if d else 0)
    return table(X, keys), np.clip(np.round(score), 0, K - 1).astype(np.int64)


def seen(blend, name, row):
    """What the forecaster of an expert sees, without offset and intercept, in order of `picks`."""
    place = blend.design.names.index(name)
    picks = blend.made.picks[place]
    columns = blend.rows(place, row)[0, 2 : 2 + len(picks)]
    return dict(zip(picks, columns.tolist(), strict=True))


@pytest.mark.parametrize("weighted", [False, True])
def test_experts_see_what_the_specification_says(weighted):
    rows, y = some_rows(250, sizes=(2, 3, 30, 60, 7, 2, 3, 4, 5))
    weight = np.random.default_rng(1).choice([0.0, 1.0, 0.5, 2.0], len(y)) if weighted else None
    blend, reference = (
        RecordPool(plan(standardize=False, kernel=None), 2, 3),
        CategoriesReference(3),
    )
    for t in range(len(y)):
        row, keys = rows[t : t + 1], rows.categories[t].tolist()
        shown, sums = reference.make(keys)
        linear, frequencies = (seen(blend, name, row) for name in ("linear", "frequencies"))
        numbers = {0: rows.dense[t, 0], 1: rows.dense[t, 1]}
        first = -1 - _core.MOST_INDICATORS
        expected = numbers | {first - c: own for c, own in enumerate(sums)}
        assert frequencies == pytest.approx(expected, rel=1e-4, abs=1e-5)
        room = {-1 - i: 0.0 for i in range(blend.made.room)}
        assert linear == numbers | room | {-1 - i: own for i, own in enumerate(shown)}
        own = 1.0 if weight is None else float(weight[t])
        blend.learn(row, int(y[t]), own)
        reference.learn(keys, int(y[t]), own)
    assert len(reference.indicators) > 32
    assert blend.made.core.indicators().tolist() == list(reference.indicators)


@pytest.mark.parametrize("kernel", [None, "auto"])
def test_a_table_is_its_rows_one_by_one_and_a_file_goes_on(kernel):
    """To the bit; the last bits of kernels depend on how tables are cut."""
    rows, y = some_rows(200)
    whole, single, pieces, saved = (RecordPool(plan(kernel=kernel), 2, 3) for _ in range(4))
    one_by_one = []
    for t in range(len(y)):
        one_by_one.append(single.predict(rows[t : t + 1])[0])
        single.predict(rows[-5:])  # changes nothing
        single.learn(rows[t : t + 1], int(y[t]))
    P, near = np.array(one_by_one), 0 if kernel is None else 1e-9
    np.testing.assert_allclose(whole.run(rows, y), P, rtol=0, atol=near)
    for some in (slice(0, 3), slice(3, 90), slice(90, 200)):
        np.testing.assert_allclose(pieces.run(rows[some], y[some]), P[some], rtol=0, atol=near)
    for t in range(0, 200, 10):
        some = slice(t, t + 10)
        saved = pickle.loads(pickle.dumps(saved))
        Q, done, reason = saved.follow(rows[some], np.arange(10), y[some])
        assert (done, reason) == (10, None)
        np.testing.assert_array_equal(Q, P[some])
    assert whole.made.room > 16  # it has grown several times
    for each in (whole, pieces, saved):
        np.testing.assert_allclose(each.predict(rows), single.predict(rows), rtol=0, atol=near)
        assert each.made.picks == single.made.picks


def test_kernels_of_numbers_see_indicators_after_what_a_stage_says():
    rows, labels = some_rows(200)
    y = labels + rows.dense[:, 0]
    design = design_of_numbers({"lam": None}, kernel="auto", features=(8, None, "nystroem"))
    whole, single, saved = (RecordPool(design_of_records(design), 2, None) for _ in range(3))
    one_by_one = []
    for t in range(len(y)):
        one_by_one.append(single.predict(rows[t : t + 1])[0])
        single.learn(rows[t : t + 1], float(y[t]))
    P = np.array(one_by_one)
    np.testing.assert_allclose(whole.run(rows, y)[:, 0], P, rtol=0, atol=1e-9)
    for t in range(0, 200, 10):
        saved = pickle.loads(pickle.dumps(saved))
        Q, _, _ = saved.follow(rows[t : t + 10], np.arange(10), y[t : t + 10])
        np.testing.assert_array_equal(Q[:, 0], P[t : t + 10])
    assert whole.made.picks == saved.made.picks == single.made.picks
    assert single.made.picks[0] is None
    place = len(single.design.stage.grid) + 1
    seen = single.rows(1, rows[:1])[0, 2:]  # without offset and intercept
    columns = dict(zip(single.made.picks[1], seen[-len(single.made.picks[1]) :], strict=True))
    keys = single.made.core.indicators().tolist()
    own = rows.categories[0].tolist()
    assert [columns[-1 - i] for i in range(len(keys))] == [float(key in own) for key in keys]
    single.add_features(1)
    assert single.made.picks[1][-1] == place + 2


def test_numbers_and_classes_may_come_while_indicators_do():
    rows, y = some_rows(150)
    blend = RecordPool(plan(), 2, 3)
    blend.run(rows[:40], y[:40])
    before = blend.predict(rows[40:60])
    blend.add_features(2)
    rows.dense = np.column_stack([rows.dense, np.full((150, 2), np.nan)])
    np.testing.assert_allclose(blend.predict(rows[40:60]), before, atol=1e-12)
    blend.run(rows[40:80], y[40:80])
    blend.add_class()
    rows.dense[:, 2:] = np.random.default_rng(0).normal(size=(150, 2))
    y[100:] = np.where(rows.dense[100:, 3] > 0, 3, y[100:])
    blend.run(rows[80:], y[80:])
    places = dict(zip(blend.design.names, blend.made.picks, strict=True))
    assert sorted(place for place in places["linear"] if place >= 0) == [0, 1, 2, 3]
    assert len(places["frequencies"]) == 4 + 4
    again = pickle.loads(pickle.dumps(blend))
    np.testing.assert_array_equal(again.predict(rows), blend.predict(rows))


def test_relabelling_permutes_the_forecasts():
    rows, y = some_rows(150)
    P, Q = (RecordPool(plan(), 2, 3).run(rows, own) for own in (y, 2 - y))
    np.testing.assert_allclose(Q[:, ::-1], P, atol=1e-6)


def test_categories_lower_the_loss():
    """Where a label depends on pairs of values, a kernel on indicators can know it."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, (600, 2))
    rows = table(np.empty((600, 0)), (1 + values + 10 * np.arange(2)).astype(np.uint64))
    y = ((values[:, 0] + values[:, 1]) % 2).astype(np.int64)
    P = RecordPool(plan(), 0, 2).run(rows, y)
    assert P[np.arange(300, 600), y[300:]].min() > 0.8


def test_an_outcome_that_comes_late_is_learned_with_its_numbers_as_they_were():
    rows, y = some_rows(60)
    blend = RecordPool(plan(), 2, 3)
    blend.run(rows[:40], y[:40])
    prompt = copy.deepcopy(blend)
    late = rows[40:41]
    kept = blend.kept(late)
    late.kept = kept[None]
    blend.learn(late, int(y[40]))  # nothing was learned in between: the same
    prompt.learn(rows[40:41], int(y[40]))
    np.testing.assert_array_equal(blend.predict(rows), prompt.predict(rows))
    late = rows[41:42]
    late.kept = blend.kept(late)[None]
    blend.run(rows[42:60], y[42:60])
    blend.learn(late, int(y[41]))
    assert blend.steps == 60


def test_a_kernel_begins_anew_once_its_rows_are_twice_as_wide():
    rows, y = some_rows(300, sizes=(20, 20, 20, 20), d=4)
    blend = RecordPool(plan(), 4, 3)
    place = blend.design.names.index("kernel of indicators")
    gammas = set()
    for t in range(0, 300, 5):
        blend.run(rows[t : t + 5], y[t : t + 5])
        gammas.add(blend.inputs[place].maps[0].gamma)
        columns = blend.inputs[place].n_features
        assert 0.125 / columns <= blend.inputs[place].maps[0].gamma < 2 * 0.125 / columns
    assert len(gammas) == 2
    linear = blend.experts[blend.design.names.index("linear")]
    assert linear.steps == 300


def test_memory_is_bounded():
    """A column of a million values: the rarest are forgotten, those that come often are known."""
    core = _core.Categories(2)
    common = np.array([5], np.uint64)
    for t in range(1_000_000 // 10):
        core.learn(np.array([1000 + t, 7 if t % 2 else 0], np.uint64), t % 2, 1.0)
        if t % 10 == 0:
            core.learn(common, 1, 1.0)
    assert core.values <= core.most_known == 1 << 15
    made = core.make(np.array([5], np.uint64))
    assert made[_core.MOST_INDICATORS + 1] > 0.3 > -1 > made[_core.MOST_INDICATORS]
    assert core.given == 2  # 5 and 7, which came again while the values were few


def test_a_held_one_gives_no_more_indicators():
    core = _core.Categories(2)
    core.hold()
    for _ in range(3):
        core.learn(np.array([5], np.uint64), 1, 1.0)
    assert (core.given, core.values) == (0, 1)


def forged(name, change):
    def of(state):
        core = dict(state["core"])
        core[name] = change(core[name].copy())
        return {**state, "core": core}

    return of


def put(index, value):
    def of(array):
        array[index] = value
        return array

    return of


@pytest.mark.parametrize(
    "change",
    [
        lambda s: {**s, "room": 513},
        lambda s: {**s, "room": s["room"] + 16},
        lambda s: {**s, "room": 0},
        lambda s: {**s, "room": "many"},
        lambda s: {**s, "picks": s["picks"][:-1]},
        lambda s: {**s, "picks": [None] * len(s["picks"])},
        lambda s: {**s, "picks": [p and [0.0, *p[1:]] for p in s["picks"]]},
        lambda s: {**s, "picks": [p and [*p[1:], -400] for p in s["picks"]]},
        lambda s: {**s, "picks": 7},
        forged("keys", put(0, 0)),
        forged("keys", lambda keys: np.repeat(keys[:1], len(keys))),
        forged("keys", lambda keys: keys[:-1].copy()),
        forged("keys", lambda keys: keys.astype(np.float64)),
        forged("slots", put((0, 0), 0.0)),
        forged("slots", put((0, 1), 400.0)),
        forged("slots", put((0, 1), 1.5)),
        forged("slots", put((slice(None), 1), 1.0)),
        forged("slots", put((0, 2), -1.0)),
        forged("slots", put((0, 2), np.nan)),
        forged("slots", lambda slots: slots[:, :-1].copy()),
        forged("slots", lambda slots: slots.astype(np.float64)),
        forged("totals", put(0, -1.0)),
        forged("totals", put(0, np.inf)),
        forged("totals", lambda totals: totals[:-1].copy()),
        forged("values", put(0, np.nan)),
        forged("values", lambda values: values[None].copy()),
    ],
)
def test_forged_columns_are_refused(change):
    rows, y = some_rows(40)
    blend = RecordPool(plan(), 2, 3)
    blend.run(rows, y)
    state = blend.__getstate__()
    made = change(state["made"])
    with pytest.raises((ValueError, TypeError)):
        RecordPool.__new__(RecordPool).__setstate__({**state, "made": made})


def test_what_no_expert_can_see_is_refused():
    with pytest.raises(ValueError, match="does not see"):
        Design.for_classes(None, FREE).seeing("everything")
