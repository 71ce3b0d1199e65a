"""The service: order, group commit, checkpoints, too much to do, a full disk."""

import asyncio
import json
import os

import pytest
from serve_command import same_models, served_model

from mixable import persistence
from mixable.events.events import ModelLimits, RefusedError, read
from mixable.events.files import StreamError
from mixable.events.serve.service import Limits, Service


def event(t, **more):
    values = {"features": {"x": t % 7 + 0.5}, "label": "ab"[t % 2], **more}
    return read(json.dumps(values).encode(), ModelLimits())


def new(folder, **options):
    return Service(folder, served_model, say=options.pop("say", lambda _: None), **options)


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
        model.apply(event(t), ModelLimits())
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
    saved = persistence.load(tmp_path / "m" / "default.model")
    assert same_models(saved, model)
    assert sorted(os.listdir(tmp_path)) == ["m"]


def test_forecasts_that_nobody_remembers_never_touch_the_disk(tmp_path):
    async def work(service):
        held = await service.held("default")
        asked = read(b'{"features": {"x": 1}}', ModelLimits())
        (answer,) = await service.submit("default", [asked])
        assert (answer, service.journal.entries, held.dirty) == ({"probabilities": {}}, 0, False)

    running(tmp_path / "m", work)


def test_within_a_request_each_event_sees_those_before(tmp_path):
    async def work(service):
        asked = read(b'{"features": {"x": 1}}', ModelLimits())
        answers = await service.submit("default", [asked, event(0), asked, event(1), asked])
        assert [len(answer["probabilities"]) for answer in answers] == [0, 0, 1, 1, 2]
        assert service.journal.entries == 2

    running(tmp_path / "m", work)


def test_what_is_refused_when_it_is_learned_stays_refused_after_a_crash(tmp_path):
    async def work(service):
        held = await service.held("default")
        both = [event(0, id="1"), event(1, id="1"), event(2, id="2")]
        answers = await service.submit("default", both)
        assert isinstance(answers[1], RefusedError)
        before = persistence.to_bytes(held.model)
        service._lock.release()  # as if the process had died: only the journal is there
        again = new(tmp_path / "m")
        assert persistence.to_bytes(again.models.loaded["default"].model) == before

    running(tmp_path / "m", work, seconds=1000)


def test_a_checkpoint_cuts_the_journal_while_events_come(tmp_path):
    async def work(service):
        held = await service.held("default")
        for t in range(60):
            await service.submit("default", [event(t)])
        for _ in range(100):
            if len(service.journal.others()) == 0 and service.journal.entries < 60:
                break
            await asyncio.sleep(0.05)
        assert service.journal.entries < 60
        assert not service.journal.others()
        return held.model

    model = running(tmp_path / "m", work, seconds=0.05)
    assert same_models(persistence.load(tmp_path / "m" / "default.model"), learned(60))
    assert model.counts["learned"] == 60


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


def test_a_full_disk_refuses_labels_and_the_model_stays_as_it_was(tmp_path):
    said = []

    async def work(service):
        held = await service.held("default")
        await service.submit("default", [event(0)])
        before = persistence.to_bytes(held.model)
        good = service.journal._descriptor
        service.journal._descriptor = os.open("/dev/full", os.O_WRONLY)
        with pytest.raises(RefusedError, match="the disk cannot be written"):
            await service.submit("default", [event(1)])
        assert persistence.to_bytes(held.model) == before
        os.close(service.journal._descriptor)
        service.journal._descriptor, service.journal.broken = good, None
        (answer,) = await service.submit("default", [event(1)])
        assert answer["step"] == 2
        assert service.failures == 1

    running(tmp_path / "m", work, say=said.append, seconds=1000)
    assert said == ["the journal cannot be written: No space left on device"]


def test_an_error_that_nobody_expected_is_not_learned_after_a_crash(tmp_path):
    async def work(service):
        held = await service.held("default")
        await service.submit("default", [event(0)])
        apply = held.model.apply_many

        def fails(*_):
            raise MemoryError("no room for this")

        held.model.apply_many = fails
        (answer,) = await service.submit("default", [event(1)])
        del held.model.apply_many
        assert held.model.apply_many == apply
        assert (answer.status, "no room" in answer.reason) == (503, True)

    running(tmp_path / "m", work, seconds=1000)
    assert persistence.load(tmp_path / "m" / "default.model").counts["learned"] == 1


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
        await asyncio.sleep(0.2)
        assert len(service.models.loaded) <= 4
        with pytest.raises(RefusedError, match="there are 7 models already"):
            await service.make("another")
        return names

    names = running(tmp_path / "m", work, limits=Limits(in_memory=2, models=7), seconds=0.05)
    for name in names:
        assert same_models(persistence.load(tmp_path / "m" / f"{name}.model"), learned(3))


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
        (tmp_path / "m" / "default.model").write_bytes(b"nothing")
        with pytest.raises(RefusedError, match="cannot be read") as refused:
            await service.held("default")
        assert refused.value.status == 503
        assert (await service.held("good")).name == "good"

    running(tmp_path / "m", work)
