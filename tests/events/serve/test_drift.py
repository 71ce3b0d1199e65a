"""Drift of inputs: what is as it was has a small index, what has changed a large one."""

import time

import numpy as np
from serve_command import in_thread

from mixable.events.serve.drift import LEAST, WINDOW, Window
from mixable.events.store import Store

GAUGE = b'mixable_column_drift{column="x",model="default",reference="%s"}'


def records(rng, n, *, shift=0.0, words="abc", missing=0.0):
    for _ in range(n):
        x = None if rng.random() < missing else float(rng.normal(shift))
        yield {"x": x, "steady": float(rng.normal()), "word": str(rng.choice(list(words)))}


def moved(**change):
    rng = np.random.default_rng(0)
    window = Window()
    for each in (*records(rng, 500), *records(rng, WINDOW, **change)):
        window.note(each)
    return window.moved()


def test_what_is_as_it_was_has_a_small_index():
    found = moved()
    assert max(each.drift for each in found.values()) < 0.2
    assert found["word"].unknown == 0


def test_numbers_that_move_or_are_missing_are_found():
    for change in ({"shift": 1.0}, {"missing": 0.5}):
        found = moved(**change)
        assert found["x"].drift > 0.25 > found["steady"].drift
        assert found["word"].drift < 0.25


def test_words_that_were_not_known_are_found():
    found = moved(words="bcd")
    assert found["word"].drift > 0.25
    assert 0.2 < found["word"].unknown < 0.5


def test_few_records_say_nothing():
    window = Window()
    for each in records(np.random.default_rng(0), WINDOW - 1):
        window.note(each)
    assert window.moved() == {}
    window.note({"x": 1.0})
    assert set(window.moved()) == {"x", "steady", "word"}
    again = Window(window.reference, list(window.last)[: LEAST - 1])
    assert again.moved() == {}


def test_drift_and_recent_events_are_told(start_in, tmp_path):
    rng = np.random.default_rng(0)
    events = [{"features": each, "label": "y"} for each in records(rng, 700)]
    _, call = start_in(tmp_path / "m")
    call.events(events)
    before = call("GET", "/model")[1]["drift"]
    assert before["x"]["drift"] < 0.25
    assert GAUGE % b"first" in call.raw("GET", "/metrics")[1]
    assert [each["outcome"] for each in call("GET", "/recent")[1]["events"]] == ["y"] * 10


def test_after_a_restart_the_windows_come_back_from_the_log(tmp_path):
    events = [{"features": {"x": t % 9}, "label": "y"} for t in range(400)]
    with in_thread(tmp_path / "m") as (_, call):
        call.events(events)
        before = call("GET", "/model")[1]["drift"]
    with in_thread(tmp_path / "m") as (_, call):
        assert call("GET", "/model")[1]["drift"] == before != {}


def test_drift_is_measured_against_a_time_that_was_named(start_in, tmp_path):
    rng = np.random.default_rng(0)
    _, call = start_in(tmp_path / "m")
    call.events([{"features": each, "label": "y"} for each in records(rng, 400)])
    between = time.time()
    moved = records(rng, 700, shift=2.0)
    call.events([{"features": each, "label": "y"} for each in moved])
    assert call("GET", "/model")[1]["drift"]["x"]["drift"] > 1
    body = {"name": "june", "since": between}
    assert call("POST", "/reference", body)[1]["events"] == 700
    shown = call("GET", "/model")[1]
    assert (shown["reference"], shown["drift"]["x"]["drift"] < 0.2) == ("june", True)
    assert GAUGE % b"june" in call.raw("GET", "/metrics")[1]
    status, answer = call("POST", "/reference", {"name": "none", "until": 5})
    assert (status, "100 events" in answer["error"]) == (422, True)
    for bad in ({"name": "../x"}, {"since": "now"}, {"since": True}, {"other": 1}):
        assert call("POST", "/reference", bad)[0] == 422
    store = Store(tmp_path / "m", read_only=True)
    name, window = store.window(1, WINDOW)
    assert (name, 0.9 * WINDOW < len(window) <= WINDOW) == ("june", True)
    assert np.mean([each["x"] for each in window]) > 1.5
    store.close()
    assert call("POST", "/reference", {})[0] == 200
    assert call("GET", "/model")[1]["drift"]["x"]["drift"] > 1
