"""Outcomes that come late are learned with the inputs of their forecast."""

import datetime as dt

import numpy as np
import pytest

import mixable as mx
from mixable.model import Learner, design_of_classes, design_of_records
from mixable.model import late as late_
from mixable.model.late import Forecasts, Kept, content, restored, saved
from mixable.records import Encoder

FIXED = dict.fromkeys(("lam", "beta", "alpha", "drift"))
START = dt.datetime(2024, 1, 1)


def record(t, rng):
    return {
        "at": (START + dt.timedelta(minutes=17 * t)).isoformat(),
        "user": f"u{rng.integers(5)}",
        "price": float(rng.normal() * (1 + t)),
        "query": " ".join(rng.choice(["red", "hat", "blue", "shoe"], 3)),
    }


def new_learner(kind, first):
    if kind == "records":
        encoder = Encoder()
        encoder.guess([first])
        design = design_of_records(design_of_classes(None, FIXED))
        return Learner(design, encoder.n_dense, ("no", "yes"), encoder=encoder)
    design = design_of_classes(None, FIXED, kernel="auto" if kind == "numbers" else None)
    return Learner(design, 3, ("no", "yes"))


def stream(kind, n=150, seed=0):
    """Rows, and steps: each row is forecast, and its label comes some rows later or at once."""
    rng = np.random.default_rng(seed)
    if kind == "records":
        X = [record(t, rng) for t in range(n)]
    else:
        X = rng.normal(size=(n, 3)) * np.arange(1, n + 1)[:, None]
        X[rng.random((n, 3)) < 0.1] = np.nan
    y = rng.integers(0, 2, n)
    delay = rng.choice([0, 1, 3, 20], n)
    due = {}
    rows, order, codes = [], [], []
    for t in range(n):
        rows.append(t)
        order.append(t)
        codes.append(int(y[t]) if delay[t] == 0 else -1)
        due.setdefault(t + delay[t], []).append(t)
        for old in due.pop(t, []):
            if delay[old]:
                rows.append(None)
                order.append(-1 - old)
                codes.append(int(y[old]))
    return X, rows, order, codes


def table_of(kind, X, rows):
    """The rows of steps; a step with a late label has one that is of no use."""
    if kind == "records":
        return [{} if row is None else X[row] for row in rows]
    return np.array([np.full(3, np.nan) if row is None else X[row] for row in rows])


def one_by_one(kind, X, rows, order, codes):
    learner = new_learner(kind, X[0])
    P, kept = [], {}
    for row, place, code in zip(rows, order, codes, strict=True):
        if row is None:
            learner.learn_kept(kept.pop(-1 - place), ("no", "yes")[code])
            continue
        x = [X[row]] if kind == "records" else X[row]
        P.append(np.ravel(learner.predict(x)))
        if code < 0:
            kept[row] = learner.kept(x)
        else:
            learner.learn([X[row]] if kind == "records" else X[row][None], [("no", "yes")[code]])
    return np.array(P), learner


def in_calls(kind, X, rows, order, codes, cuts):
    """The same by `follow`, cut anywhere; what waits is kept between calls."""
    learner = new_learner(kind, X[0])
    P, kept = [], {}
    for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        own = {row: step for step, row in enumerate(rows[begin:end]) if row is not None}
        before, places = [], []
        for row, place in zip(rows[begin:end], order[begin:end], strict=True):
            if row is not None:
                places.append(own[row])
            elif -1 - place in own:
                places.append(-1 - own[-1 - place])
            else:
                places.append(-1 - (end - begin) - len(before))
                before.append(kept.pop(-1 - place))
        some = np.array(codes[begin:end])
        X_part = table_of(kind, X, rows[begin:end])
        followed = learner.follow(X_part, some, np.array(places), before)
        assert (followed.done, followed.reason) == (end - begin, None)
        P += [followed.P[step] for step in own.values()]
        for row, step in own.items():
            if some[step] < 0:
                kept[row] = followed.kept(step)
    return np.array(P), learner


@pytest.mark.parametrize("kind", ["records", "numbers", "linear"])
def test_bits_do_not_depend_on_how_late_labels_are_spread_over_calls(kind):
    steps = stream(kind)
    expected, learner = one_by_one(kind, *steps)
    rng = np.random.default_rng(1)
    bits = set()
    for count in (0, 3, 40):
        cuts = rng.choice(np.arange(1, len(steps[1])), count, replace=False)
        P, other = in_calls(kind, *steps, sorted(cuts.tolist()))
        bits.add(P.tobytes())
        # Single rows may go another way than streams, with other last bits.
        np.testing.assert_allclose(P, expected, rtol=1e-9, atol=1e-12)
        assert other.forecaster.steps == learner.forecaster.steps
    assert len(bits) == 1


def test_what_is_learned_does_not_depend_on_when_the_outcome_came():
    """Nobody else teaches in the meantime: the same bits, whatever was forecast."""
    rng = np.random.default_rng(2)
    records = [record(t, rng) for t in range(60)]
    prompt, late = (new_learner("records", records[0]) for _ in range(2))
    for t, x in enumerate(records[:40]):
        for each in (prompt, late):
            each.learn([x], [("no", "yes")[t % 2]])
    prompt.learn([records[40]], ["yes"])
    kept = late.kept([records[40]])
    for x in records[41:]:
        late.predict([x])
    late.learn_kept(kept, "yes")
    assert late.predict(records[50:]).tobytes() == prompt.predict(records[50:]).tobytes()


@pytest.mark.parametrize("kind", ["records", "numbers", "linear"])
def test_a_late_label_may_be_a_new_class_and_columns_may_have_come_since(kind):
    rng = np.random.default_rng(5)
    X = [record(t, rng) for t in range(9)] if kind == "records" else rng.normal(size=(9, 3))
    learner = new_learner(kind, X[0])
    for t in range(8):
        learner.learn([X[t]] if kind == "records" else X[t][None], [("no", "yes")[t % 2]])
    kept = [learner.kept([X[8]] if kind == "records" else X[8]) for _ in range(2)]
    learner.learn_kept(kept[0], "maybe")
    learner.add_features(2)
    learner.learn_kept(kept[1], "never")
    assert learner.labels == ["no", "yes", "maybe", "never"]
    assert learner.forecaster.steps == 10


def delayed(kind, n=2500, rate=0.1):
    """Events without any signal: a label "yes" comes 300 events late, "no" 10."""
    rng = np.random.default_rng(3)
    due, labels = {}, []
    for t in range(n):
        if kind == "time":
            x = {"at": (START + dt.timedelta(minutes=t)).isoformat(), "noise": rng.normal()}
        elif kind == "number":
            x = {"trend": float(t), "noise": rng.normal() * (1 + t // 1000)}
        elif kind == "category":
            x = {"user": f"u{rng.integers(20)}", "noise": rng.normal()}
        elif kind == "text":
            x = {"query": " ".join(rng.choice(["a", "b", "c", "d"], 4)), "noise": rng.normal()}
        else:
            x = {"tags": rng.choice(["a", "b", "c"], 2).tolist(), "noise": rng.normal()}
        labels.append("yes" if rng.random() < rate else "no")
        due.setdefault(t + (300 if labels[-1] == "yes" else 10), []).append((x, t))
        yield x, t, [(old, when, labels[when]) for old, when in due.pop(t, [])]


@pytest.mark.parametrize("kind", ["time", "number", "category", "text", "tags"])
def test_delays_that_depend_on_the_label_do_not_tell_it(kind):
    model, p = mx.river.GAFClassifier(effort="low"), []
    model.learn_one({"noise": 0.0, **next(iter(delayed(kind)))[0]}, "no")
    for x, _, outcomes in delayed(kind):
        p.append(model.predict_proba_one(x).get("yes", 0.0))
        for old, _, label in outcomes:
            model.learn_one(old, label)
    # The rate of the labels that have come is about .09 on average; version 0.2.0 has .003.
    assert 0.06 < np.mean(p[1000:]) < 0.13


@pytest.mark.parametrize("is_record", [False, True])
def test_numbers_to_predict_may_come_late_too(is_record):
    """The age of a record at the moment of learning has no part in what is learned."""
    rng = np.random.default_rng(6)

    def row(t):
        x = {"a": float(rng.normal()), "b": float(t)}
        return {**x, "at": (START + dt.timedelta(minutes=t)).isoformat()} if is_record else x

    rows = [row(t) for t in range(40)]
    late, other = mx.river.GAFRegressor(), mx.river.GAFRegressor()
    for x in rows[:30]:
        for each in (late, other):
            each.learn_one(x, x["a"])
    late.predict_one(rows[30])
    kept = other._kept(rows[30])
    for x in rows[31:]:
        for each in (late, other):
            each.learn_one(x, x["a"])
    late.learn_one(rows[30], 0.5)
    other._learner.learn_kept(kept, 0.5)
    assert late.predict_one(rows[5]) == other.predict_one(rows[5])
    if is_record:
        plain = mx.river.GAFRegressor()
        for x in [*rows[:30], *rows[31:]]:
            plain.learn_one(x, x["a"])
        plain.learn_one(rows[30], 0.5)  # it was not forecast: it is encoded now
        assert plain.predict_one(rows[5]) != late.predict_one(rows[5])


def test_forecasts_are_found_by_content_and_the_oldest_are_forgotten():
    forecasts = Forecasts(most=3)
    made = []

    def keep(x):
        made.append(x)
        return Kept(record=x, x=np.empty(0), z=np.empty(0))

    for t in range(3):
        forecasts.note({"a": t, "tags": ["x", t]})
    assert forecasts.before_learning({"tags": ["x", 2], "a": 2}, keep) is None  # just forecast
    assert [x["a"] for x in made] == [0, 1]
    assert forecasts.before_learning({"a": 1, "tags": ["x", 1]}, keep).record["a"] == 1
    assert forecasts.before_learning({"a": 1, "tags": ["x", 1]}, keep) is None  # only once
    for t in range(5, 9):
        forecasts.note({"a": t})
    assert (len(forecasts), forecasts.forgotten) == (3, 2)
    assert content({"a": 1, "b": 2}) == content({"b": 2, "a": 1}) != content({"a": 1, "b": 3})


def some_kept():
    rng = np.random.default_rng(4)
    learner = new_learner("records", record(0, rng))
    return learner, [learner.kept([record(t, rng)]) for t in range(3)]


def test_what_is_kept_is_saved_and_restored():
    learner, kept = some_kept()
    again = restored(saved(kept), learner.n_features, has_records=True)
    for one, other in zip(kept, again, strict=True):
        assert one.record == other.record
        for name in late_._ARRAYS:
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
            assert getattr(one, name).dtype == getattr(other, name).dtype


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("x", lambda v: np.full_like(v, np.inf)),
        ("z", lambda v: np.full_like(v, np.nan)),
        ("values", lambda v: np.full_like(v, np.nan)),
        ("keys", lambda v: v[:-1]),
        ("records", lambda v: v + 1),
    ],
)
def test_forged_inputs_are_refused(name, change):
    learner, kept = some_kept()
    state = saved(kept)
    values = change(state[name]["values"])
    state[name] = {**state[name], "values": values}
    with pytest.raises((ValueError, TypeError)):
        restored(state, learner.n_features, has_records=True)
    with pytest.raises(ValueError, match="does not go with"):
        restored(saved(kept), 0, has_records=True)
