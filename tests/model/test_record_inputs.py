"""Records between users and a blend: what is encoded, learned, refused."""

import numpy as np
import pandas as pd
import pytest

from mixable.model import Learner, design_of_classes, design_of_records
from mixable.model.record_inputs import RecordInputs
from mixable.records import Columns, Encoder

PLAN = design_of_records(design_of_classes(None, {"lam": None}, features=(4, None, "nystroem")))


def events(n=60, seed=0):
    rng = np.random.default_rng(seed)
    colours = ["red", "blue", "green"]
    return [
        {
            "colour": colours[rng.integers(3)],
            "price": None if rng.random() < 0.2 else float(rng.normal()),
            "query": " ".join(rng.choice(["shoes", "hat", "for", "men"], 2)),
        }
        for _ in range(n)
    ]


def label(event):
    return "buy" if event["colour"] == "red" else "leave"


def learner(first):
    encoder = Encoder(None)
    encoder.guess(first)
    return Learner(PLAN, encoder.n_dense, ["buy", "leave"], encoder=encoder)


def test_however_records_come_the_forecasts_are_the_same():
    records = events()
    labels = [label(event) for event in records]
    one, table, frame = (learner(records) for _ in range(3))
    P = table.run(records, labels, None)
    Q = frame.run(pd.DataFrame(records), labels, None)
    each = []
    for event, y in zip(records, labels, strict=True):
        each.append(one.predict([event])[0])
        one.learn([event], [y])
    np.testing.assert_allclose(each, P, rtol=0, atol=1e-9)
    np.testing.assert_allclose(Q, P, rtol=0, atol=1e-9)
    assert P[-10:, 0][[event["colour"] == "red" for event in records[-10:]]].min() > 0.5
    assert one.inputs.encoder.n == table.inputs.encoder.n == 60


def test_a_stream_learns_what_has_a_label_and_stops_at_what_is_refused():
    records = events(30)
    codes = np.array([0 if label(event) == "buy" else 1 for event in records])
    codes[::4] = -1
    whole, cut = learner(records), learner(records)
    P, done, reason, _ = whole.follow(records, codes)
    assert (done, reason) == (30, None)
    parts = [cut.follow(records[a:b], codes[a:b])[0] for a, b in ((0, 3), (3, 4), (4, 30))]
    np.testing.assert_array_equal(np.concatenate(parts), P)
    assert whole.inputs.encoder.n == whole.forecaster.steps == np.count_nonzero(codes >= 0)
    bad = [records[0], {**records[1], "price": float("inf")}, records[2]]
    P, done, reason, _ = whole.follow(bad, np.array([0, 1, 1]))
    assert (len(P), done) == (1, 1)
    assert "price" in reason


def test_new_numbers_widen_the_rows_and_forecasts_ignore_unknown_ones():
    records = events(20)
    model = learner(records)
    model.run(records, [label(event) for event in records], None)
    width = model.n_features
    wider = {**records[0], "weight": 3.5}
    before = model.predict([records[0]])
    np.testing.assert_allclose(model.predict([wider]), before, atol=0.2)
    assert model.n_features == width
    model.learn([wider], ["buy"])
    assert model.n_features >= width
    assert model.predict([wider]).shape == (1, 2)


def test_records_of_weight_0_teach_the_encoder_nothing():
    records = events(12)
    labels = [label(event) for event in records]
    weight = np.array([1.0, 0.0] * 6)
    some, half = learner(records), learner(records)
    some.run(records, labels, weight)
    half.run(records[::2], labels[::2], None)
    assert some.inputs.encoder.n == half.inputs.encoder.n == 6
    some.learn([records[1]], ["buy"], np.array([0.0]))
    assert some.inputs.encoder.n == 6


def test_a_record_that_was_changed_after_the_forecast_is_encoded_again():
    records = events(10)
    model, twin = learner(records), learner(records)
    event = dict(records[0])
    model.predict([event])
    event["price"] = 99.0
    model.learn([event], ["buy"])
    twin.learn([dict(event)], ["buy"])
    np.testing.assert_array_equal(model.predict(records), twin.predict(records))


def test_a_saved_encoder_must_go_with_the_forecaster():
    inputs = RecordInputs(Encoder(Columns(number=["a", "b"])), 2)
    encoder = Encoder(None)
    encoder.guess([{"a": 1.0, "b": 2.0, "c": 3.0}])
    for bad in (7, encoder):
        with pytest.raises(ValueError, match="does not go with"):
            inputs.restore({"encoder": bad})
