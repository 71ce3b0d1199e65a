"""Events that wait for their label, and labels that come late."""

import datetime as dt
import json

import numpy as np
import pytest
from stream_command import GAF, balanced, counts, rejects, run, small

import mixable as mx
from mixable.events.model import EventModel
from mixable.model import Design


def test_events_without_label_are_only_predicted_and_late_labels_are_learned(tmp_path):
    lines, labels, kept = ["id,a,b,y\n"], [], []
    expected = EventModel(design=Design.for_classes(mx.GAF, {"lam": 0.1, "beta": 1.0}))
    for t, line in enumerate(small(40)[1:]):
        a, b, label = line.strip().split(",")
        lines.append(f"{t},{a},{b},\n")
        expected.add_features(["a", "b"])
        labels.append(label)
        kept.append(expected.learner.kept(np.array([float(a), float(b)])))
        if t >= 5:
            lines.append(f"{t - 5},,,{labels[t - 5]}\n")
            expected.learner.learn_kept(kept[t - 5], labels[t - 5])
    (tmp_path / "in").write_text("".join(lines))
    run(tmp_path, "--target", "y", "--id", "id", "--out", tmp_path / "out.csv", *GAF, source="in")
    model = mx.load(tmp_path / "model")
    assert model.counts == {
        "events": 40,
        "predicted": 40,
        "rejected": 0,
        "learned": 35,
        "late": 35,
        "forgotten": 0,
    }
    assert list(model.waiting) == ["35", "36", "37", "38", "39"]
    assert model.scores.n == 35
    assert model.predict_proba_one({"a": 0.3}) == expected.predict_proba_one({"a": 0.3})
    run(
        tmp_path, "--target", "y", "--id", "id", "--remember", "3", *GAF, source="in", model="short"
    )
    short = counts(tmp_path, "short")
    # nothing tells a label whose event is forgotten from an event whose values are all missing
    assert (short["late"], short["forgotten"], short["events"], short["rejected"]) == (0, 37, 75, 0)


def as_csv(events, path):
    path.write_text(
        "id,a,b,y\n"
        + "".join(
            f"{i},{'' if a is None else a},{'' if b is None else b},{y}\n" for i, a, b, y in events
        )
    )


def as_json(events, path):
    path.write_text(
        "".join(json.dumps({"id": i, "a": a, "b": b, "y": y}) + "\n" for i, a, b, y in events)
    )


@pytest.mark.parametrize("write", [as_csv, as_json])
def test_an_event_whose_values_are_all_missing_is_an_event(tmp_path, write):
    """It was taken for a late label, and refused: 7,453 of 50,000 events."""
    rng = np.random.default_rng(0)
    events, expected = [], EventModel(design=Design.for_classes(mx.GAF, {"lam": 0.1, "beta": 1.0}))
    for t in range(300):
        a, b = rng.normal(size=2).round(3).tolist() if rng.random() < 0.8 else (None, None)
        label = "up" if (a or 0) + (b or 0) + rng.normal() > 0 else "down"
        events.append((t, a, b, label))
        expected.learn_one({"a": a, "b": b}, label)
    write(events, tmp_path / "in")
    arguments = (
        "--target",
        "y",
        "--id",
        "id",
        "--out",
        tmp_path / "out.csv",
        "--rejects",
        tmp_path / "rejects",
    )
    run(tmp_path, *arguments, *GAF, source="in")
    assert balanced(tmp_path, 300) == dict(
        events=300, predicted=300, rejected=0, learned=300, late=0, forgotten=0
    )
    assert mx.load(tmp_path / "model").predict_proba_one({"a": 0.3}) == expected.predict_proba_one(
        {"a": 0.3}
    )


@pytest.mark.parametrize("write", [as_csv, as_json])
def test_an_identifier_that_waits_makes_a_line_without_values_a_late_label(tmp_path, write):
    """As it is when the line comes: 1 has its label, 2 is forgotten, 3 waits; lines with values are
    events whoever waits.
    """
    events = [
        (1, 1.5, 2.5, ""),
        (2, 1.0, -1.0, ""),
        (1, None, None, "up"),
        (3, 0.5, 1.0, ""),
        (4, 2.0, 1.0, ""),
        (1, None, None, "up"),
    ]
    events += [
        (2, None, None, "down"),
        (3, None, None, "down"),
        (4, 1.0, 1.0, "new"),
        (4, None, None, "up"),
        (5, None, None, ""),
    ]
    events += [(5, None, None, "up")]
    write(events, tmp_path / "in")
    arguments = (
        "--target",
        "y",
        "--id",
        "id",
        "--out",
        tmp_path / "out.csv",
        "--remember",
        2,
        *GAF,
    )
    run(tmp_path, *arguments, source="in")
    assert counts(tmp_path) == {
        "events": 9,
        "predicted": 9,
        "rejected": 0,
        "learned": 7,
        "late": 3,
        "forgotten": 2,
    }
    answered = [
        line.split(",")[0]
        for line in (tmp_path / "out.csv").read_text().splitlines()
        if line[0].isdigit()
    ]
    assert answered == ["1", "2", "3", "4", "1", "2", "4", "4", "5"]
    run(tmp_path, *arguments, "--every", 1, source="in", model="slow")  # each line is a batch
    assert (tmp_path / "slow").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        b'{"id": 1, "a": 1}\n{"id": 9, "y": "up"}\n{"id": 1, "y": "up"}\n{"a": 2, "y": "up"}\n',
        b'{"id": 1, "a": 1}\n{"id": 9, "day": 3, "y": "up"}\n{"id": 1, "day": 3, "y": "up"}\n{"a": '
        b'2, "y": "up"}\n',
    ],
    ids=["keys that are not there", "keys that are no features"],
)
def test_a_label_without_features_whose_event_is_not_remembered_is_refused(tmp_path, data):
    arguments = (
        "--target",
        "y",
        "--id",
        "id",
        "--rejects",
        tmp_path / "rejects",
        "--features",
        "a",
        *GAF,
    )
    (tmp_path / "in").write_bytes(data)
    run(tmp_path, *arguments, source="in")
    assert counts(tmp_path) == {
        "events": 3,
        "predicted": 2,
        "rejected": 1,
        "learned": 2,
        "late": 1,
        "forgotten": 0,
    }
    assert [(entry["line"], entry["reason"]) for entry in rejects(tmp_path)] == [
        (2, "a label for '9', which is not remembered")
    ]


def test_a_file_of_labels_alone_brings_late_labels(tmp_path):
    (tmp_path / "events").write_text("id,a,y\n1,0.5,\n2,1.5,\n3,1,up\n")
    (tmp_path / "labels").write_text("y,id\nup,1\nup,9\ndown,2\n")
    run(tmp_path, "--target", "y", "--id", "id", source="events")
    said = run(tmp_path, "--target", "y", "--id", "id", source="labels").stderr.decode()
    assert counts(tmp_path) == {
        "events": 4,
        "predicted": 3,
        "rejected": 1,
        "learned": 3,
        "late": 2,
        "forgotten": 0,
    }
    assert "1 rejected (the first at line 3: a label for '9', which is not remembered)" in said


def test_many_long_identifiers_can_wait(tmp_path):
    lines = (
        ["id,a,y\n"] + [f"{'x' * 900}{i},{i % 7},\n" for i in range(300)] + [f"{'x' * 1001},1,\n"]
    )
    run(
        tmp_path,
        "--target",
        "y",
        "--id",
        "id",
        "--remember",
        250,
        "--rejects",
        tmp_path / "rejects",
        data="".join(lines).encode(),
    )
    assert "too long" in (tmp_path / "rejects").read_text()
    model = mx.load(tmp_path / "model")
    assert len(model.waiting) == 250
    assert next(iter(model.waiting)) == "x" * 900 + "50"
    run(tmp_path, "--target", "y", "--id", "id", "--remember", 10, data=b"id,a,y\nnew,1,\n")
    assert len(mx.load(tmp_path / "model").waiting) == 10


def test_delays_that_depend_on_the_label_do_not_tell_it(tmp_path):
    """No signal: "yes" comes 300 events late, "no" 10. Version 0.2.0 forecasts .003 of it."""
    rng = np.random.default_rng(0)
    lines, due = ["id,at,noise,y\n"], {}
    start = dt.datetime(2024, 1, 1)
    for t in range(3000):
        at = (start + dt.timedelta(minutes=t)).isoformat()
        lines.append(f"{t},{at},{rng.normal():.3f},\n")
        label = "yes" if rng.random() < 0.1 else "no"
        due.setdefault(t + (300 if label == "yes" else 10), []).append(f"{t},,,{label}\n")
        lines += due.pop(t, [])
    (tmp_path / "in.csv").write_text("".join(lines))
    arguments = (
        "--target",
        "y",
        "--id",
        "id",
        "--classes",
        "no,yes",
        "--out",
        tmp_path / "out.csv",
    )
    run(tmp_path, *arguments, "--out", tmp_path / "out.csv", source="in.csv")
    rows = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert len(rows) == 3000
    assert 0.06 < np.mean([float(row[2]) for row in rows[1000:]]) < 0.13
