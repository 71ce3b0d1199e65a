"""A day in the life of a service, from a folder of version 0.2 to a backup."""

import json
import shutil

import numpy as np
import pytest
from command_line import in_process
from make_fixtures import FOLDER
from serve_command import in_thread, saved

SAID = {1: 0.002039244120541082, 5: 0.7412585127456834, 8: 0.9967008930672239}  # by version 0.2


def visits(rng, n, first, *, flipped=False):
    """Records whose label follows from them; after a while it is the other way round."""
    for t in range(first, first + n):
        pages, device = int(rng.integers(1, 9)), str(rng.choice(["phone", "desk"]))
        device = "tablet" if flipped else device
        is_buyer = (pages + 2 * (device == "desk") + rng.normal() > 6) != flipped
        yield f"v{t}", {"pages": pages, "device": device, "code": 1000 + t % 3}, is_buyer


def test_a_day(tmp_path):
    rng, folder = np.random.default_rng(0), tmp_path / "models"
    shutil.copytree(FOLDER / "served-0.2.0", folder)  # as `mixable serve` of that version left it
    with in_thread(folder, seconds=1000) as (_, call):
        assert call("GET", "/models")[1] == {"models": ["default", "old"]}
        for pages, p in SAID.items():
            body = {"features": {"pages": pages, "depth": 0.25}}
            said = call("POST", "/models/old/predict", body)[1]["probabilities"]
            assert said["yes"] == pytest.approx(p, rel=1e-12)
        assert call("POST", "/models/old/learn", {"id": "late", "label": "no"})[1]["step"] == 62
        known = {"id": "known", "features": {"pages": 7, "depth": 0.5}, "label": "yes"}
        assert call("POST", "/models/old/learn", known)[1] == {
            "id": "known",
            "learned": False,
            "step": 61,
        }
        declared = {"classes": ["no", "yes"], "kinds": {"code": "category"}}
        assert call("PUT", "/models/shop", declared)[0] == 201
        waiting = []
        for key, features, is_buyer in visits(rng, 400, 0):
            answer = call("POST", "/models/shop/predict", {"id": key, "features": features})
            assert answer[0] == 200
            waiting.append({"id": key, "label": "yes" if is_buyer else "no"})
            if len(waiting) > 20:  # labels come late
                assert call("POST", "/models/shop/learn", waiting.pop(0))[0] == 200
        figures = call("GET", "/models/shop")[1]
        assert figures["scores"]["log_loss"] < figures["scores"]["baseline"]
        assert figures["counts"]["waiting"] == 20
        assert "code: category, 3 values so far" in figures["kinds"]
        assert max(each["drift"] for each in figures["drift"].values()) < 0.25
        assert call("POST", "/models/shop/versions", {"name": "morning"})[0] == 201
        good = call("POST", "/models/shop/predict", {"features": {"pages": 8, "device": "desk"}})
        events = [
            {"id": key, "features": features, "label": "yes" if is_buyer else "no"}
            for key, features, is_buyer in visits(rng, 300, 400, flipped=True)
        ]
        assert all(each["learned"] for each in call.events(events, "/models/shop/events"))
        moved = call("GET", "/models/shop")[1]["drift"]["device"]  # the alarm
        assert (moved["drift"] > 1, moved["unknown"]) == (True, 1.0)
        labels = 'column="device",model="shop",reference="first"'
        alarm = f"mixable_column_drift{{{labels}}} {moved['drift']}\n"
        assert alarm.encode() in call.raw("GET", "/metrics")[1]
        day = call("GET", "/models/shop/series")[1]["whole"]
        assert (day["requests"], day["outcomes"]) == (400 + 380 + 300 + 1, 680)
        assert call("POST", "/models/shop/rollback", {"version": "morning"})[0] == 200
        again = call("POST", "/models/shop/predict", {"features": {"pages": 8, "device": "desk"}})
        assert again == good
        assert call("POST", "/models/shop/learn", waiting.pop(0))[1]["step"] == 381
        out = tmp_path / "shop.jsonl"
        done = in_process("export", folder, "shop", "--out", out)  # while it serves
        assert "700 events of shop" in done.stderr, done.stderr
        assert in_process("backup", folder, tmp_path / "copy").exit_code == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(line["outcome"] is not None for line in lines) == 380 + 300 + 1
    done = in_process("replay", folder, "shop", "--effort", "low")
    assert done.exit_code == 0, done.stderr
    assert "log loss" in done.stdout
    with in_thread(tmp_path / "copy") as (_, call):
        assert call("GET", "/models")[1] == {"models": ["default", "old", "shop"]}
        assert call("GET", "/models/shop")[1]["learned"] == 381
    assert saved(folder, "shop")[0].counts["learned"] == 381
