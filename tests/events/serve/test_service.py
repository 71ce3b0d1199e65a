"""The service: order, group commit, checkpoints, too much to do, a full disk."""

import asyncio
import json
import os
import sqlite3
import time

import pytest
from serve_command import apply, read, same_models, saved, served_model

from mixable.events import ModelOptions
from mixable.events.events import RefusedError
from mixable.events.files import StreamError
from mixable.events.serve.service import Service
from mixable.events.serve.shown import Limits


def event(t, **more):
    values = {"features": {"x": t % 7 + 0.5}, "label": "ab"[t % 2], **more}
    return read(json.dumps(values).encode())


def new(folder, **options):
    return Service(
        folder, ModelOptions(linear=True), say=options.pop("say", lambda _: None), **options
    )


def running(folder, work, **options):
    """Run some work with a service, and stop it."""

    async def main():
        service = new(folder, **options)
        service.start()
        try:
            return await work(service)
        finally:
            await service.stop()

    return asyncio.run(main())


def learned(n):
    model = served_model()
    for t in range(n):
        apply(model, event(t))
    return model


def test_events_at_one_time_are_written_together_and_learned_in_order(tmp_path):
    async def work(service):
        held = await service.held("default")
        answers = await asyncio.gather(*(service.submit("default", [event(t)]) for t in range(50)))
        assert [answer["step"] for (answer,) in answers] == list(range(1, 51))
        assert service.commits < 10
        return held.model

    model = running(tmp_path / "m", work)
    assert same_models(model, learned(50))
    kept, rest = saved(tmp_path / "m")
    assert same_models(kept, model)
    assert not rest
    assert sorted(os.listdir(tmp_path)) == ["m"]


def test_forecasts_that_nobody_remembers_never_touch_the_disk(tmp_path):
    async def work(service):
        held = await service.held("default")
        asked = read(b'{"features": {"x": 1}}')
        (answer,) = await service.submit("default", [asked])
        assert (answer, service.commits, held.number) == ({"probabilities": {}}, 0, 0)

    running(tmp_path / "m", work)


def test_within_a_request_each_event_sees_those_before(tmp_path):
    async def work(service):
        asked = read(b'{"features": {"x": 1}}')
        answers = await service.submit("default", [asked, event(0), asked, event(1), asked])
        assert [len(answer["probabilities"]) for answer in answers] == [0, 0, 1, 1, 2]
        assert service.store.one("SELECT count(*) FROM events") == 2

    running(tmp_path / "m", work)


def test_a_checkpoint_is_made_while_events_come(tmp_path):
    async def work(service):
        held = await service.held("default")
        for t in range(60):
            await service.submit("default", [event(t)])
        until = time.monotonic() + 10
        while held.saved < held.number:
            assert time.monotonic() < until
            await asyncio.sleep(0.02)
        assert len(await service.versions("default")) > 1

    running(tmp_path / "m", work, seconds=0.05)
    assert same_models(saved(tmp_path / "m")[0], learned(60))


def test_too_much_at_one_time_is_refused_with_503(tmp_path):
    async def work(service):
        held = await service.held("default")
        tasks = [asyncio.create_task(service.submit("default", [event(t)])) for t in range(8)]
        done = await asyncio.gather(*tasks, return_exceptions=True)
        refused = [each for each in done if isinstance(each, RefusedError)]
        assert [each.status for each in refused] == [503] * 3
        assert held.model.counts["learned"] == 5
        assert service.has_room(5, 100)

    running(tmp_path / "m", work, limits=Limits(queue=5))


def test_a_disk_that_cannot_be_written_refuses_labels_and_the_model_is_as_it_was(tmp_path):
    said = []

    async def work(service):
        await service.submit("default", [event(0)])
        write = service.store.write

        def fails(*_):
            raise sqlite3.OperationalError("database or disk is full")

        service.store.write = fails
        for reason in ("the disk cannot be written", "try again in a second"):
            with pytest.raises(RefusedError, match=reason):
                await service.submit("default", [event(1)])
        assert service.trouble == "the log cannot be written: database or disk is full"
        held = await service.held("default")
        assert held.model.counts["learned"] == 1
        service.store.write, service._tried = write, 0.0
        (answer,) = await service.submit("default", [event(1)])
        assert (answer["step"], service.trouble, service.failures) == (2, None, 1)

    running(tmp_path / "m", work, say=said.append, seconds=1000)
    refused, *rest = said
    assert refused == "the log cannot be written: database or disk is full"
    assert rest == ["stopped; everything is saved"]
    assert same_models(saved(tmp_path / "m")[0], learned(2))


def test_an_error_that_nobody_expected_is_not_learned(tmp_path):
    async def work(service):
        held = await service.held("default")
        await service.submit("default", [event(0)])

        def fails(*_):
            raise MemoryError("no room for this")

        held.applier.apply = fails
        with pytest.raises(RefusedError, match="no room for this") as refused:
            await service.submit("default", [event(1)])
        assert refused.value.status == 503
        (answer,) = await service.submit("default", [event(1)])
        assert answer["step"] == 2

    running(tmp_path / "m", work, seconds=1000)
    assert same_models(saved(tmp_path / "m")[0], learned(2))


def test_a_model_is_what_it_was_at_a_version(tmp_path):
    async def work(service):
        await service.submit("default", [event(t) for t in range(20)])
        await service.name_version("default", "good")
        await service.submit("default", [event(t, label="wrong") for t in range(20)])
        with pytest.raises(RefusedError, match="no version 'bad'"):
            await service.roll_back("default", "bad")
        with pytest.raises(RefusedError, match="cannot be the name"):
            await service.name_version("default", "7")
        await service.roll_back("default", "good")
        held = await service.held("default")
        assert same_models(held.model, learned(20))
        (answer,) = await service.submit("default", [event(20)])
        assert answer["step"] == 21
        assert service.store.one("SELECT count(*) FROM events") == 41  # they are kept

    running(tmp_path / "m", work, seconds=1000)
    assert same_models(saved(tmp_path / "m")[0], learned(21))


def test_of_the_versions_without_a_name_the_last_are_kept(tmp_path):
    async def work(service):
        await service.name_version("default", "first")
        for t in range(5):
            await service.submit("default", [event(t)])
            await service._checkpoint()
        return await service.versions("default")

    versions = running(tmp_path / "m", work, limits=Limits(versions=2), seconds=1000)
    assert [(each["name"], each["learned"]) for each in versions] == [
        (None, 5),
        (None, 4),
        ("first", 0),
    ]


def test_models_go_out_of_memory_and_come_back(tmp_path):
    async def work(service):
        names = [f"m{i}" for i in range(6)]
        for name in names:
            assert await service.make(name)
        assert not await service.make("m0")
        for t in range(3):
            for name in names:
                for _ in range(200):
                    try:
                        await service.submit(name, [event(t)])
                        break
                    except RefusedError:  # too many are in use
                        await asyncio.sleep(0.02)
        assert len(service.loaded) <= 2
        with pytest.raises(RefusedError, match="there are 7 models already"):
            await service.make("another")
        return names

    names = running(tmp_path / "m", work, limits=Limits(in_memory=2, models=7), seconds=0.05)
    for name in names:
        model, rest = saved(tmp_path / "m", name)
        for each in rest:
            apply(model, each)
        assert same_models(model, learned(3))


def test_two_services_cannot_have_one_folder(tmp_path):
    async def work(service):
        with pytest.raises(StreamError, match="two processes cannot learn into one model"):
            new(tmp_path / "m")

    running(tmp_path / "m", work)


def test_nor_if_somebody_removes_the_lock_file(tmp_path):
    async def work(service):
        (tmp_path / "m.lock").unlink()
        for _ in range(2):
            with pytest.raises(StreamError, match="in use by another process; two processes"):
                new(tmp_path / "m")

    running(tmp_path / "m", work)
    running(tmp_path / "m", nothing)


async def nothing(service):
    pass


def test_a_damaged_model_is_not_served_and_others_are(tmp_path):
    async def work(service):
        await service.make("good")
        with service.store.transaction() as db:
            db.execute("UPDATE checkpoints SET data = x'00' WHERE model = 1")
        with pytest.raises(RefusedError, match="cannot be read") as refused:
            await service.held("default")
        assert refused.value.status == 503
        assert (await service.held("good")).name == "good"

    running(tmp_path / "m", work)
