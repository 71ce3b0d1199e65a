"""The model of a stream: what it answers, and what it goes on as."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from stream_command import GAF, run, small

import mixable as mx
from mixable.events.model import EventModel, as_text
from mixable.events.saving import Waiting
from mixable.model import Design
from mixable.model.late import stacked, stacked_texts, unstacked


def test_the_model_file_predicts_from_dictionaries_and_agrees_with_river(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small()))
    run(tmp_path, "--target", "y", source="in.csv")
    model = mx.load(tmp_path / "model")
    assert (model.counts["learned"], model.scores.n, list(model.columns)) == (60, 60, ["a", "b"])
    twin = mx.river.GAFClassifier()
    for line in small()[1:]:
        a, b, label = line.strip().split(",")
        twin.learn_one({"a": float(a), "b": float(b)}, label)
    assert model.predict_proba_one({"b": 0.5}) == twin.predict_proba_one({"b": 0.5})
    model.learn_one({"a": 1.0, "c": 2.0}, "sideways")
    assert set(model.predict_proba_one({})) == {"up", "down", "sideways"}


@pytest.mark.parametrize(
    ("call", "kind", "reason"),
    [
        (lambda: EventModel(["a", "b"]), TypeError, "^options must be ModelOptions, got list"),
        (lambda: EventModel(clases=["a"]), TypeError, "'clases'; did you mean 'classes'"),
        (lambda: EventModel(classes="ab"), ValueError, "^classes must be two or more"),
        (lambda: EventModel(design=3), TypeError, "^design must be Design, got int"),
        (lambda: EventModel(columns=3), TypeError, "^columns must be Columns, got int"),
    ],
)
def test_an_argument_that_is_wrong_is_named(call, kind, reason):
    with pytest.raises(kind, match=reason):
        call()


@pytest.mark.parametrize("x", [[1, 2], "x", None])
@pytest.mark.parametrize("learned", [0, 2])
def test_what_is_no_dictionary_is_refused_by_its_name(x, learned):
    model = EventModel()
    for t in range(learned):
        model.learn_one({"a": float(t)}, t)
    verbs = model.predict_proba_one, model.forecast, model.explain, lambda x: model.learn_one(x, 1)
    for verb in verbs:
        with pytest.raises(TypeError, match="x must be a dictionary"):
            verb(x)


def halves(tmp_path, *options):
    """Models of two streams, which meet features and labels in another order."""
    head, *rows = small()
    files = {"one": [head, *rows[:30]], "two": ["b,a,y\n", *map(turned, reversed(rows[30:]))]}
    for name, lines in files.items():
        (tmp_path / f"{name}.csv").write_text("".join(lines))
        run(tmp_path, "--target", "y", *options, source=f"{name}.csv", model=name)
    return [mx.load(tmp_path / name) for name in files]


def turned(line):
    a, b, label = line.strip().split(",")
    return f"{b},{a},{label}\n"


def test_models_of_two_streams_are_merged(tmp_path):
    models = halves(tmp_path, "--forecaster", "auto")
    assert list(models[0].columns) != list(models[1].columns)
    kept = models[1].learner.kept(np.full(models[1].learner.n_features, 0.5))
    models[1].waiting["7"] = Waiting(kept, np.array([0.25, 0.75]), (1.0, 2.0))
    merged = mx.merge(models)
    assert merged.counts == {
        "events": 60,
        "predicted": 60,
        "rejected": 0,
        "learned": 60,
        "late": 0,
        "forgotten": 1,
    }
    assert (merged.scores.n, len(merged.waiting), merged.place) == (60, 0, {})
    losses = [model.scores.log_loss for model in models]
    assert merged.scores.log_loss == pytest.approx(np.mean(losses))
    p, q = (merged.predict_proba_one({"a": a, "b": 0.0})["up"] for a in (2.0, -2.0))
    assert abs(p - q) > 0.2
    assert models[1].counts["forgotten"] == 0
    mx.save(merged, tmp_path / "merged")
    run(tmp_path, "--target", "y", source="one.csv", model="merged")
    assert mx.load(tmp_path / "merged").counts["learned"] == 90


def test_models_that_began_as_one_are_merged_onto_it(tmp_path):
    base = halves(tmp_path, "--forecaster", "auto")[0]
    shards = [mx.loads(mx.dumps(base)) for _ in range(2)]
    for shard, label in zip(shards, ("up", "sideways"), strict=True):
        shard.learn_one({"a": 1.0, label: 2.0}, label)
        shard.counts["learned"] += 1
    merged = mx.merge(shards, base=base)
    assert (merged.counts["learned"], merged.scores.n) == (32, 30)
    assert set(merged.learner.labels) == {"up", "down", "sideways"}
    again = mx.merge([base, *(shard.delta(base) for shard in shards)])
    assert again.counts == merged.counts
    for label, p in merged.predict_proba_one({"a": 1.0}).items():
        assert again.predict_proba_one({"a": 1.0})[label] == pytest.approx(p, abs=0.05)


def test_models_of_streams_that_differ_are_refused_in_a_sentence(tmp_path):
    models = halves(tmp_path, "--forecaster", "auto")
    models[1].options = replace(models[1].options, features=("a", "b"))
    with pytest.raises(ValueError, match="features is") as refused:
        mx.merge(models)
    assert len(str(refused.value)) < 200


def test_no_learn_serves_and_leaves_the_model_alone(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small()))
    run(tmp_path, "--target", "y", source="in.csv")
    before = (tmp_path / "model").read_bytes()
    served = (
        run(tmp_path, "--no-learn", data=b'{"a": 1, "b": 0.5}\n{"b": -2, "strange": "column"}\n')
        .stdout.decode()
        .splitlines()
    )
    model = mx.load(tmp_path / "model")
    assert [json.loads(line)["p"] for line in served] == [
        model.predict_proba_one({"a": 1.0, "b": 0.5}),
        model.predict_proba_one({"b": -2.0}),
    ]
    scored = run(
        tmp_path,
        "--no-learn",
        "--target",
        "y",
        "--id",
        "n",
        data=b"n,a,b,y\n1,0,0,\n1,,,up\n2,1,1,never seen\n",
    )
    assert b"2 events: 2 predicted, 0 rejected, 0 learned, 1 late" in scored.stderr
    assert (tmp_path / "model").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["in.csv", "model"]
    run(tmp_path, "--no-learn", data=b"", model="missing", status=2)


def test_a_model_goes_on_only_as_what_it_is(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(5)))
    run(tmp_path, "--target", "y", "--classes", "up,down", "--features", "b", *GAF, source="in.csv")
    assert list(mx.load(tmp_path / "model").columns) == ["b"]
    run(tmp_path, "--target", "y", source="in.csv")
    for arguments, message in (
        (("--lam", "0.5"), b"another forecaster or other parameters"),
        (("--classes", "up,down,left"), b"other --classes: up,down"),
        (("--features", "a"), b"other --features: b"),
    ):
        assert (
            message in run(tmp_path, "--target", "y", *arguments, source="in.csv", status=2).stderr
        )
    mx.save(mx.GAF(2, 2), tmp_path / "other")
    assert (
        b"holds a GAF"
        in run(tmp_path, "--target", "y", source="in.csv", status=2, model="other").stderr
    )
    (tmp_path / "torn").write_bytes((tmp_path / "model").read_bytes()[:-5])
    assert (
        b"cut short"
        in run(tmp_path, "--target", "y", source="in.csv", status=2, model="torn").stderr
    )


def test_another_target_is_refused(tmp_path):
    (tmp_path / "in.csv").write_text("".join(small(5)))
    run(tmp_path, "--target", "y", source="in.csv")
    assert (
        b"was made with --target y"
        in run(tmp_path, "--target", "a", source="in.csv", status=2).stderr
    )
    assert (
        b"was made without --id"
        in run(tmp_path, "--target", "y", "--id", "a", source="in.csv", status=2).stderr
    )


def test_labels_of_python_are_text_too(tmp_path):
    run(tmp_path, "--target", "y", data=b"a,y\n1,0\n2,1\n")
    model = mx.load(tmp_path / "model")
    model.learn_one({"a": 1.0}, 1)
    assert model.learner.labels == ["0", "1"]
    mx.save(model, tmp_path / "model")
    run(tmp_path, "--target", "y", data=b"a,y\n1,0\n2,1\n")


def new(**options):
    return EventModel(design=Design.for_classes(None, {"lam": 0.1, "beta": 1.0}), **options)


def test_labels_are_text():
    model = new()
    for label in (1, "1", 2.5, True):
        model.learn_one({"a": 1.0}, label)
    assert model.learner.labels == ["1", "2.5", "true"]
    assert as_text("x") == "x"


def test_closed_classes_and_features_stay_as_they_are():
    model = new(classes=["a", "b"], features=["x"])
    model.learn_one({"x": 1.0, "y": 2.0}, "a")
    with pytest.raises(ValueError, match="no class is called 'c'"):
        model.learn_one({"x": 1.0}, "c")
    assert (list(model.columns), model.learner.labels) == (["x"], ["a", "b"])


def test_stacks_give_the_rows_back():
    rows = [np.array([1.0, np.nan]), np.empty(0), np.array([2.0])]
    for got, row in zip(unstacked(stacked(rows), "f"), rows, strict=True):
        np.testing.assert_array_equal(got, row)
    assert [bytes(each) for each in unstacked(stacked_texts([b"ab", b""]), "u")] == [b"ab", b""]
    assert unstacked(stacked([]), "f") == []


def test_stacks_that_do_not_fit_are_refused():
    stack = stacked([np.ones(3), np.ones(2)])
    with pytest.raises(ValueError, match="lengths"):
        unstacked({**stack, "lengths": np.array([3, 3])}, "f")
    with pytest.raises(ValueError, match="lengths"):
        unstacked({**stack, "lengths": np.array([-1, 6])}, "f")
    with pytest.raises(TypeError, match="float64"):
        unstacked(stack, "u")


def test_parts_that_do_not_go_together_are_refused():
    state = new(classes=["a", "b"]).__getstate__()
    for change, reason in (
        ({"scores": None}, "do not go together"),
        ({"design": None}, "a design and a learner"),
        ({"options": {"classes": ["a", "c"]}}, "do not go together"),
        ({"options": {"regression": True}}, "do not go together"),
        ({"options": {"clases": ["a", "c"]}}, "did you mean"),
        ({"counts": {"other": 1}}, "counts must be events"),
        ({"counts": {**state["counts"], "learned": -1}}, "learned"),
    ):
        with pytest.raises((ValueError, TypeError), match=reason):
            new().__setstate__({**state, **change})
