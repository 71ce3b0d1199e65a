"""Many events in one request: an answer for each line, whatever becomes of the others."""

import asyncio
import json

import pytest

from mixable.events.events import RefusedError
from mixable.events.serve.app import lines_of
from mixable.events.serve.shown import Limits


def collected(pieces, limits=None):
    async def sent():
        for piece in pieces:
            yield piece

    async def main():
        return [line async for some in lines_of(sent(), limits or Limits()) for line in some]

    return asyncio.run(main())


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_whole_however_they_are_cut(size):
    data = b"one\n\ntwo\nthree"
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert collected(pieces) == [b"one", b"", b"two", b"three"]


def test_a_line_without_end_is_refused():
    with pytest.raises(RefusedError, match="a line may have 10 bytes"):
        collected([b"x" * 6, b"x" * 6], Limits(body=10))


def test_a_line_that_does_not_come_is_not_waited_for():
    async def main():
        async def sent():
            yield b"one\n"
            await asyncio.sleep(60)

        return [some async for some in lines_of(sent(), Limits(seconds=0.05))]

    with pytest.raises(RefusedError, match=r"no line came for 0\.05 seconds"):
        asyncio.run(main())


def test_each_line_has_its_answer_in_order(start):
    service, call = start()
    lines = (
        b'{"features": {"a": 1}, "label": "x"}\n'
        b"\n"
        b'{"id": 1, "features": {"a": 2}}\n'
        b"broken\n"
        b'{"id": 1, "label": "y"}\n'
        b'{"id": 1, "label": "z"}\n'
        b'{"features": {"a": 3}}'
    )
    answer, text = call.raw("POST", "/events", lines)
    got = [json.loads(line) for line in text.splitlines()]
    assert (answer.status, [each["line"] for each in got]) == (200, [1, 3, 4, 5, 6, 7])
    assert (got[0]["step"], got[1]["probabilities"], got[3]["step"]) == (1, {"x": 1.0}, 2)
    assert got[2]["error"].startswith("JSON is malformed")
    assert got[4]["error"] == "the id '1' was learned with another outcome"
    assert set(got[5]["probabilities"]) == {"x", "y"}
    assert [reason for _, _, reason in service.rejected] == [got[2]["error"], got[4]["error"]]


def test_many_lines_are_answered_and_learned_as_one_by_one(start):
    _, call = start()
    events = [{"features": {"a": t % 5 + 0.5}, "label": "xyz"[t % 3]} for t in range(700)]
    got = call.events(events)
    assert [each["step"] for each in got] == list(range(1, 701))
    call("PUT", "/models/other")
    for t, each in enumerate(events[:40]):
        _, single = call("POST", "/models/other/learn", each)
        assert single["probabilities"] == got[t]["probabilities"]


def test_a_body_in_pieces_is_answered_while_it_comes(start):
    _, call = start()

    def pieces():
        for t in range(3):
            yield b'{"features": {"a": %d}, "label": "x"}\n' % t

    answer, text = call.raw("POST", "/events", pieces())
    seen = text.splitlines()
    assert (answer.status, len(seen)) == (200, 3)
