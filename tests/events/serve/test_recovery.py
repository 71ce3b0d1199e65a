"""The log: what was committed is learned once, whatever happened to the process."""

import asyncio
import json
import sqlite3

import pytest
from serve_command import apply, end, read, same_models, saved, served_model

import mixable as mx
from mixable.events import ModelOptions
from mixable.events.applying import Applier
from mixable.events.serve.service import Service
from mixable.events.store import FILE, Keep, Store, StoreError, adopt_old, load

from make_fixtures import FOLDER  # isort: skip


def event(t, **more):
    values = {"features": {"x": t % 7 + 0.5}, "label": "ab"[t % 2], **more}
    return read(json.dumps(values).encode())


def submitted(folder, events, *, crash=False, **options):
    """Submit events to a service and end it, or leave it as a crash would."""

    async def main():
        service = Service(folder, ModelOptions(linear=True), say=lambda _: None, **options)
        service.start()
        answers = await service.submit("default", events)
        await end(service, crash=crash)
        return answers

    return asyncio.run(main())


def known(folder, name="default"):
    """A model as a start would read it."""
    model, rest = saved(folder, name)
    Applier(model).all(rest)
    return model


def test_after_a_crash_the_log_has_what_the_checkpoint_lacks(tmp_path):
    events = [event(t) for t in range(40)]
    submitted(tmp_path / "m", events[:20])
    submitted(tmp_path / "m", events[20:], crash=True)
    model, rest = saved(tmp_path / "m")
    assert (model.counts["learned"], len(rest)) == (20, 20)
    by_hand = served_model()
    for each in events:
        apply(by_hand, each)
    assert same_models(known(tmp_path / "m"), by_hand)
    submitted(tmp_path / "m", [event(40)])
    assert saved(tmp_path / "m")[0].counts["learned"] == 41


def test_late_outcomes_repeats_and_refusals_come_back_from_the_log(tmp_path):
    events = [
        event(0, id="1"),
        event(1, id="2", label=None),
        event(2, id="1"),  # another outcome for 1
        event(3, label=None),  # nobody remembers it
        event(4, id="2", features=None),
        event(4, id="2", features=None),
        event(5, id="3", features={"x": 1, "word": "new"}),
        event(6, id="4", features={"x": 2, "word": "old"}, label=None),
        event(8, id="4", features=None),
    ]
    answers = submitted(tmp_path / "m", events, crash=True)
    statuses = [getattr(answer, "status", 200) for answer in answers]
    assert statuses == [200, 200, 409, 200, 200, 200, 200, 200, 200]
    assert answers[5] == {"id": "2", "learned": False, "step": 2}
    by_hand = served_model()
    by_hand_answers = [each.answer for each in Applier(by_hand).apply(numbered(events))]
    assert [getattr(each, "status", each) for each in by_hand_answers] == [
        getattr(each, "status", each) for each in answers
    ]
    assert same_models(known(tmp_path / "m"), by_hand)
    db = sqlite3.connect(tmp_path / "m" / FILE)
    rows = db.execute("SELECT id, outcome FROM log ORDER BY number").fetchall()
    assert rows == [("1", "a"), ("2", "a"), ("3", "b"), ("4", "a")]
    assert db.execute("SELECT count(*) FROM events").fetchone() == (4,)
    db.close()


def numbered(events):
    """As a service numbers them."""
    number = 0
    for each in events:
        number += each.changes
        each.number = number
    return events


def test_a_log_and_a_checkpoint_are_one_transaction(tmp_path):
    """Each checkpoint and what the log has since make the same model."""
    events = [event(t, id=str(t)) for t in range(30)]
    for begin in range(0, 30, 10):
        submitted(tmp_path / "m", events[begin : begin + 10])
    store = Store(tmp_path / "m", read_only=True)
    key = store.models()["default"]
    expected = known(tmp_path / "m")
    versions = store.versions(key)
    assert [each["learned"] for each in versions] == [30, 20, 10, 0]
    for each in versions:
        model = mx.loads(store.version(key, each["version"]))
        Applier(model).all(store.since(key, each["number"]))
        assert same_models(model, expected)
    store.close()


def test_what_is_not_kept_goes_and_the_models_stay(tmp_path):
    submitted(tmp_path / "m", [event(t) for t in range(50)])
    submitted(tmp_path / "m", [event(50)], keep=Keep(rows=10), crash=True)
    store = Store(tmp_path / "m")
    store.make("idle", served_model(), 0)  # which knows nothing of the log
    assert store.prune(Keep(rows=10)) == 41
    assert store.prune(Keep(rows=10)) == 0
    assert store.prune(Keep(seconds=3600)) == 0
    assert store.prune(Keep()) == 0
    assert store.prune(Keep(seconds=0)) == 9  # the last one is in no checkpoint yet
    store.close()
    assert known(tmp_path / "m").counts["learned"] == 51


@pytest.mark.parametrize("text", ["", "30", "7d", "12h", "all", "many", "-1", "3w"])
def test_what_is_kept_is_read(text):
    if text in ("", "many", "-1", "3w"):
        with pytest.raises(ValueError, match="--keep must be"):
            Keep.read(text)
    else:
        assert Keep.read(text).is_bounded == (text != "all")


def test_a_backup_is_whole_while_events_are_written(tmp_path):
    submitted(tmp_path / "m", [event(t) for t in range(30)], crash=True)
    store = Store(tmp_path / "m")
    (tmp_path / "copy").mkdir()
    store.backup(tmp_path / "copy" / FILE)
    store.close()
    assert same_models(known(tmp_path / "copy"), known(tmp_path / "m"))


def test_other_files_are_refused(tmp_path):
    (tmp_path / FILE).write_bytes(b"nothing that SQLite wrote" * 100)
    with pytest.raises(StoreError, match="cannot be used"):
        Store(tmp_path)
    (tmp_path / FILE).unlink()
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("CREATE TABLE other (a)")
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="this version of mixable"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="is no folder of mixable serve"):
        Store(tmp_path / "none", read_only=True)


def old_folder(folder, entries=b""):
    """What version 0.2 leaves when it is stopped."""
    folder.mkdir()
    (folder / "shop.model").write_bytes((FOLDER / "ServedModel.safetensors").read_bytes())
    text = b'{"id": "0123456789abcdef", "limits": {}}'
    head = b"mxJ1" + len(text).to_bytes(4, "little") + bytes(8) + bytes(16)
    (folder / "journal-0000000000000015").write_bytes(head + text + entries)


def test_a_folder_of_version_0_2_is_taken_over(tmp_path):
    old_folder(tmp_path / "m")

    async def main():
        said = []
        service = Service(tmp_path / "m", say=said.append)
        service.start()
        assert set(service.names) == {"shop"}
        before = (await service.held("shop")).model.counts["learned"]
        (answer,) = await service.submit("shop", [event(0, id="late", features=None, label="no")])
        assert answer == {"id": "late", "learned": True, "step": before + 1}
        await service.stop()
        return said

    first, *rest = asyncio.run(main())
    assert "took over the models of version 0.2: shop" in first
    assert rest == ["stopped; everything is saved"]


def test_events_that_version_0_2_has_not_learned_are_not_lost(tmp_path):
    old_folder(tmp_path / "m", b"mxJ1 more")
    with pytest.raises(StoreError, match=r'Let that version.*mixable\[serve\]==0.2.0"'):
        Service(tmp_path / "m", say=print)
    assert not (tmp_path / "m" / FILE).exists()
    store = Store(tmp_path)
    assert adopt_old(tmp_path, store) == []
    key = store.make("a", served_model(), 0)
    assert load(store, key)[1] == 0
    store.close()
