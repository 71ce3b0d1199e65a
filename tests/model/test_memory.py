"""The labels before, as features of one expert: core/inputs/memory.hpp."""

import copy

import numpy as np
import pandas as pd
import pytest
from streams import logistic_stream

import mixable as mx
from mixable import _core
from mixable.model import Learner, combining, design_of_classes, design_of_records, grids
from mixable.records import Rows

FREE = dict.fromkeys(("lam", "beta", "alpha", "drift"))
SMALL = mx.kernels.Auto(5)


def sticky(n, K=3, stay=0.9, seed=0):
    """Labels that mostly stay as they are, and inputs that say nothing."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n, int)
    for t in range(1, n):
        y[t] = y[t - 1] if rng.random() < stay else rng.integers(K)
    return rng.normal(size=(n, 2)), y


def nats(p, y):
    return -np.log(np.maximum(p[np.arange(len(y)), y], 1e-9)).mean()


def learner(memory=True, *, records=False):
    design = design_of_classes(None, FREE, features=(5, None, "nystroem"), memory=memory)
    if records:
        return Learner(design_of_records(design, numbers=False), 0, [0, 1, 2])
    return Learner(design, 2, [0, 1, 2])


def memory_of(pool):
    """The expert with a memory: its forecaster and its inputs."""
    return pool.experts[-1], pool.inputs[-1]


def slot(forecaster, before, K=3):
    """What is known of a label before: a row of weights in each setting."""
    state = forecaster._core.state()
    at = state["keys"].tolist().index(_core.Memory.keys(K)[3 * before])
    return state["slots"][1 + at]


@pytest.mark.parametrize("frame", [False, True])
def test_labels_that_depend_on_those_before_are_forecast_better(frame):
    X, y = sticky(1200)
    if frame:
        X = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y")})
    with_it, without = (
        mx.GAFClassifier(kernel=SMALL, memory=memory).prequential(X, y, classes=range(3))
        for memory in (True, False)
    )
    best = -(0.9 + 0.1 / 3) * np.log(0.9 + 0.1 / 3) - 0.2 / 3 * np.log(0.1 / 3)
    assert nats(with_it[200:], y[200:]) < best + 0.08
    assert nats(without[200:], y[200:]) > best + 0.2


def test_where_labels_have_no_memory_the_expert_becomes_inactive():
    X, y = logistic_stream(2 * _core.PERIOD, 3, 2)
    model = mx.GAFClassifier(kernel=SMALL)
    model.prequential(X, y)
    assert model.forecaster_.design.names[-1] == "memory"
    assert len(model.forecaster_.experts) - 1 not in model.forecaster_.active


def test_models_of_streams_have_it_and_those_of_tables_do_not():
    X, y = sticky(50)

    def names(model):
        return model.learner_.design.names

    assert "memory" not in names(mx.GAFClassifier().fit(X, y))
    assert "memory" not in names(mx.GAFClassifier().partial_fit(X, y))
    assert "memory" not in names(mx.GAFClassifier().partial_fit(X[:1], y[:1]))
    stream = mx.GAFClassifier()
    stream.prequential(X, y)
    assert "memory" in names(stream)
    off = mx.GAFClassifier(memory=False)
    off.prequential(X, y)
    assert "memory" not in names(off)
    river = mx.river.GAFClassifier()
    river.learn_one({"a": 1.0}, "x")
    assert "memory" in river._learner.design.names
    without = mx.river.GAFClassifier(memory=False)
    without.learn_one({"a": 1.0, "b": "word"}, "x")
    assert "memory" not in without._learner.design.names
    with pytest.raises(TypeError, match="memory"):
        mx.GAFClassifier(memory="no").fit(X, y)


def test_a_table_is_the_loop_over_its_rows():
    X, y = sticky(300)
    table, loop, pieces = (mx.GAFClassifier(kernel=SMALL) for _ in range(3))
    p = table.prequential(X, y, classes=range(3))
    cut = [pieces.prequential(X[a:b], y[a:b], classes=range(3)) for a, b in [(0, 7), (7, 300)]]
    np.testing.assert_allclose(np.concatenate(cut), p, rtol=0, atol=1e-9)
    loop.prequential(X[:1], y[:1], classes=range(3))
    for t in range(1, 300):
        np.testing.assert_allclose(loop.predict_proba(X[t : t + 1])[0], p[t], rtol=0, atol=1e-9)
        loop.partial_fit(X[t : t + 1], y[t : t + 1])
    numbers = [memory_of(m.forecaster_)[1].memory.numbers for m in (table, loop, pieces)]
    for each in numbers[1:]:
        np.testing.assert_array_equal(each, numbers[0])


def test_what_is_remembered_is_the_last_label_and_decayed_frequencies():
    X, y = sticky(40)
    model = learner()
    model.run(X, y, None)
    last, eight, hundred = np.zeros(3), np.zeros(3), np.zeros(3)
    for label in y:
        last = np.eye(3)[label]
        eight, hundred = 0.8 * eight + 0.2 * last, 0.99 * hundred + 0.01 * last
    numbers = memory_of(model.pool)[1].memory.numbers.reshape(3, 3)
    np.testing.assert_allclose(numbers, np.column_stack([last, eight, hundred]), atol=1e-12)


def test_predict_is_pure_and_uses_the_last_label():
    X, y = sticky(600)
    model = mx.GAFClassifier(kernel=SMALL)
    model.prequential(X, y, classes=range(3))
    before = memory_of(model.forecaster_)[1].memory.numbers
    p = model.predict_proba(X[:50])
    assert (p.argmax(axis=1) == y[-1]).all()
    np.testing.assert_array_equal(memory_of(model.forecaster_)[1].memory.numbers, before)
    np.testing.assert_array_equal(model.predict_proba(X[:50]), p)


def test_examples_of_weight_0_are_not_remembered():
    X, y = sticky(50)
    model, twin = learner(), learner()
    model.run(X, y, None)
    twin.run(X, y, None)
    for other in range(3):
        twin.learn_one(X[0], other, 0.0)
    twin.run(X[:2], np.array([1, 2]), np.zeros(2))
    for name in ("memory", "count"):
        one, two = (memory_of(each.pool)[1].state()[name] for each in (model, twin))
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(twin.predict(X[0]), model.predict(X[0]))


@pytest.mark.parametrize("way", ["kept", "follow"])
def test_a_late_label_is_learned_with_the_labels_that_its_forecast_knew(way):
    X, _ = sticky(60)
    model = learner()
    model.run(X[:50], np.zeros(50, int), None)  # the last label is 0
    if way == "kept":
        kept = model.kept(X[50])
        model.run(X[51:56], np.ones(5, int), None)  # now it is 1
        before = [slot(memory_of(model.pool)[0], each) for each in (0, 1)]
        model.learn_kept(kept, 2)
    else:
        waits = model.follow(X[50:51], np.array([-1])).kept(0)
        model.run(X[51:56], np.ones(5, int), None)
        before = [slot(memory_of(model.pool)[0], each) for each in (0, 1)]
        steps = model.follow(np.empty((0, 2)), np.array([2]), np.array([-1]), [waits])
        assert steps.done == 1
    now = [slot(memory_of(model.pool)[0], each) for each in (0, 1)]
    assert (now[0] != before[0]).any()
    np.testing.assert_array_equal(now[1], before[1])


def test_a_record_that_was_asked_for_again_is_learned_with_its_first_history():
    """The pool keeps what it heard last: that must not stand in for what was kept."""
    X, _ = sticky(60)
    one, two = learner(), learner()
    for model in (one, two):
        model.run(X[:50], np.zeros(50, int), None)
        kept = model.kept(X[50])
        model.run(X[51:56], np.ones(5, int), None)
        if model is two:
            model.predict(X[50])
        model.learn_kept(kept, 2)
    np.testing.assert_array_equal(*(slot(memory_of(each.pool)[0], 0) for each in (one, two)))


def test_saved_models_go_on_with_the_same_bits(tmp_path):
    X, y = sticky(300)
    model = mx.river.GAFClassifier(kernel=SMALL)
    for x, label in zip(X[:200], y[:200], strict=True):
        model.learn_one(dict(enumerate(x.tolist())), int(label))
    mx.save(model, tmp_path / "model")
    again = mx.load(tmp_path / "model")
    for x, label in zip(X[200:], y[200:], strict=True):
        record = dict(enumerate(x.tolist()))
        assert again.predict_proba_one(record) == model.predict_proba_one(record)
        for each in (model, again):
            each.learn_one(record, int(label))


def test_new_labels_may_come_at_any_time():
    X, y = sticky(400, K=4)
    names = np.array(["d", "b", "a", "c"])[y]
    p = mx.GAFClassifier(kernel=SMALL).prequential(X, names)
    np.testing.assert_allclose(p[1:].sum(axis=1), 1)
    model = learner()
    model.run(X[:30], [0] * 30, None)
    kept = model.kept(X[30])
    model.learn_one(X[31], "new")
    assert memory_of(model.pool)[1].memory.numbers.reshape(-1, 3)[3, 0] == 1
    model.learn_kept(kept, "new")  # of a forecast of fewer classes
    assert model.predict(X[0]).sum() == pytest.approx(1)


def test_other_names_of_labels_change_nothing():
    X, y = sticky(300)
    there, back = np.array(["a", "b", "c"]), np.array(["z", "y", "x"])
    one, two = (
        mx.GAFClassifier(kernel=SMALL).prequential(X, names[y], classes=sorted(names))
        for names in (there, back)
    )
    np.testing.assert_allclose(two[:, ::-1], one, rtol=0, atol=1e-7)


def test_merged_models_remember_by_label_and_not_by_code():
    """Two shards that know the labels in another order, merged, are those of one order."""
    _, y = sticky(400, stay=0.8)
    rng, n = np.random.default_rng(1), len(y)
    rows = Rows.of(
        np.empty((n, 0)), np.arange(n + 1), rng.integers(0, 9, n).astype(np.uint64), np.ones(n)
    )
    names, halves = np.array(["a", "b", "c"]), (slice(0, 200), slice(200, 400))

    def shard(part, labels):
        made = Learner(learner(records=True).design, 0, labels)
        made.run(rows[part], names[y[part]].tolist(), None)
        return made

    same = combining.combine(None, [shard(part, ["a", "b", "c"]) for part in halves], None)
    pair = [shard(halves[0], ["a", "b", "c"]), shard(halves[1], ["c", "a", "b"])]
    mixed = combining.combine(None, pair, None)
    assert mixed.labels == ["a", "b", "c"]
    numbers = [memory_of(each.pool)[1].memory.numbers for each in (same, mixed)]
    np.testing.assert_allclose(numbers[1], numbers[0], atol=1e-12)
    assert numbers[1].reshape(3, 3)[:, 0].tolist() == np.eye(3)[y[-1]].tolist()
    for before in range(3):
        np.testing.assert_allclose(
            *(slot(memory_of(each.pool)[0], before) for each in (mixed, same)), atol=1e-4
        )
    np.testing.assert_allclose(mixed.predict(rows[:9]), same.predict(rows[:9]), atol=1e-4)


@pytest.mark.parametrize(
    "bad", [[1.0, 0.2], [1.0, 2.0, 0.1], [-0.5, 0.2, 0.0], [1.0, 0, 0] * 2, [np.nan, 0.0, 0.0]]
)
def test_forged_memories_are_refused(bad):
    X, y = sticky(20)
    model = learner()
    model.run(X, y, None)
    inputs = copy.deepcopy(memory_of(model.pool)[1].state())
    with pytest.raises(ValueError, match=r"saved|finite|NaN"):
        memory_of(model.pool)[1].restore({**inputs, "memory": np.array(bad)})


def test_records_without_numbers_have_it_too():
    made = learner(records=True)
    assert made.design.names == ["sparse", "recent labels", "memory"]
    assert made.design.parts[-1] == grids.SPARSE_MEMORY
