"""Traffic, latency, errors and losses over clock time: counted once, kept for a while."""

import sqlite3
import time

import numpy as np
import pytest
from serve_command import in_thread, served_model

from mixable.events.serve.series import HOUR, KEPT, MINUTE, STEP, Series, picture
from mixable.events.serve.shown import Limits
from mixable.events.serve.worker import Worker
from mixable.events.store import Store


def whole(call, name="default", hours=1):
    status, got = call("GET", f"/models/{name}/series?hours={hours}")
    assert status == 200
    return got["whole"]


def test_what_was_asked_and_lost_is_there_after_a_restart(tmp_path):
    counts = {"requests": 24, "refused": 3, "failed": 0, "outcomes": 15}
    with in_thread(tmp_path, seconds=1000) as (_, call):
        for t in range(10):
            call.learn(features={"a": t % 3}, label="xy"[t % 2])
        call.predict(id="1", features={"a": 1})
        call.learn(id="1", label="x")
        call.predict(features={"a": 2})
        assert call.learn(label="x")[0] == 422
        assert call("POST", "/predict", b"{")[0] == 422
        assert len(call.events([{"features": {"a": t}, "label": "x"} for t in range(4)])) == 4
        assert call.events([*[{"features": {}}] * 4, {"features": 1}])[-1]["error"]
        scores = call("GET", "/model")[1]["scores"]
        before = whole(call)
        assert {name: before[name] for name in counts} == counts
        assert before["loss"] == pytest.approx(scores["log_loss"])
        assert before["baseline"] == pytest.approx(scores["baseline"])
        assert 0 < before["p50"] <= before["p99"] < 60
    with in_thread(tmp_path) as (_, call):
        assert whole(call) == before
        assert whole(call, hours=720) == before
        call.learn(features={"a": 1}, label="y")
        assert whole(call)["outcomes"] == 16


def test_models_that_leave_memory_or_are_rolled_back_are_counted_once(tmp_path):
    with in_thread(tmp_path, limits=Limits(in_memory=1), seconds=1000) as (service, call):
        call("PUT", "/models/other")
        call("POST", "/versions", {"name": "good"})
        for t in range(7):
            name = ("default", "other")[t % 2]
            call("POST", f"/models/{name}/learn", {"features": {"a": t}, "label": "x"})
        assert len(service.loaded) == 1
        assert call("POST", "/rollback", {"version": "good"})[0] == 200
        assert [whole(call, name)["outcomes"] for name in ("default", "other")] == [4, 3]
        assert call("DELETE", "/models/other")[0] == 200
    assert [path.name for path in tmp_path.iterdir()] == ["mixable.db"]  # all is in one file
    log = sqlite3.connect(tmp_path / "mixable.db")
    assert log.execute("SELECT DISTINCT model FROM series").fetchall() == [(1,)]
    log.close()


def test_minutes_are_kept_for_a_day_and_hours_for_a_month(tmp_path):
    store, now = Store(tmp_path), int(time.time())
    key = store.make("m", served_model(), 0)
    ages = [0, 2 * HOUR, 30 * HOUR, 40 * 24 * HOUR]
    for _ in range(2):  # what comes later is added
        store.add_counts({(key, (now - age) // 60 * 60): {"requests": 1.5} for age in ages}, KEPT)
    for width, kept in ((MINUTE, 2), (HOUR, 3)):
        found = store.counted(key, width, 0)
        assert [(what, value) for _, what, value in found] == [("requests", 3.0)] * kept
        assert all(when % width == 0 for when, _, _ in found)
    store.close()


def test_what_cannot_be_written_is_written_later():
    series = Series()
    for t in range(5):
        series.request(1, 200 if t else 503, 0.01)
    before = series.of(1)
    taken = series.take()
    assert series.of(1) == []
    series.request(1, 200, 0.01)
    series.give_back(taken)
    assert dict((what, n) for _, what, n in series.of(1))["requests"] == 6
    assert {what for _, what, _ in series.of(1)} == {what for _, what, _ in before}


def test_a_process_that_only_forecasts_counts_nothing_that_is_never_written(tmp_path):
    store = Store(tmp_path)
    key = store.make("default", served_model(), 0)
    worker = Worker(tmp_path, "", 0, limits=Limits(), say=print)
    assert worker.known() == {"default": key}
    worker.count("/predict", 200, 0.1)
    assert worker.series.of(key) == []
    for each in (worker.store, worker._watch, store):
        each.close()


def test_percentiles_are_right_up_to_a_step():
    series, rng = Series(), np.random.default_rng(0)
    seconds = rng.lognormal(-6, 1.5, size=2000)
    for each in seconds.tolist():
        series.request(7, 200, each)
    made = picture(series.of(7), 1, time.time())["whole"]
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        exact = np.quantile(seconds, share, method="inverted_cdf")
        assert exact * 0.99 <= made[name] <= exact * STEP * 1.01  # edges have three digits


@pytest.mark.parametrize("hours", [1, 6, 7, 24, 25, 168, 720])
def test_bins_have_equal_widths_and_add_up(hours):
    now = 1_700_000_123.0
    width = MINUTE if hours <= 24 else HOUR
    ends = range(int(now) // width * width, int(now) - 3600 * hours, -width)
    made = picture([(when, "requests", 1.0) for when in ends], hours, now)
    assert 20 <= len(made["time"]) <= 72
    assert set(np.diff(made["time"])) == {made["seconds"]}
    assert made["time"][-1] <= now < made["time"][-1] + made["seconds"]
    assert sum(made["requests"]) == made["whole"]["requests"]
    full = made["requests"][:-1]
    assert full == [made["seconds"] / width] * len(full)


@pytest.mark.parametrize("hours", ["0", "721", "x", "1.5", ""])
def test_ranges_are_checked(start, hours):
    _, call = start()
    assert call("GET", f"/series?hours={hours}")[0] == 422
    assert call("GET", "/models/nobody/series")[0] == 404
