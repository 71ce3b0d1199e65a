"""Many events in one request: JSON lines in, JSON lines out, while they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from functools import lru_cache
from typing import Any

from mixable.serving import events
from mixable.serving.limits import Limits, RefusedError
from mixable.serving.model import Answer
from mixable.serving.service import Service

MOST = 256  # events that are learned with one fsync


async def lines_of(pieces: AsyncIterator[bytes], limits: Limits) -> AsyncIterator[list[bytes]]:
    """Whole lines, some at a time; the last may lack its newline."""
    rest = b""
    async for piece in _in_time(pieces, limits.seconds):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > limits.body:
            raise RefusedError(413, f"a line may have {limits.body:,} bytes")
        for begin in range(0, len(lines), MOST):
            yield lines[begin : begin + MOST]
    if rest:
        yield [rest]


async def _in_time(pieces: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    while True:
        try:
            yield await asyncio.wait_for(anext(pieces), seconds)
        except StopAsyncIteration:
            return
        except asyncio.TimeoutError:
            raise RefusedError(408, f"no line came for {seconds:g} seconds") from None


async def answered(
    service: Service, name: str, pieces: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """The answers to lines of events, each with the number of its line."""
    number = 0
    try:
        async for lines in lines_of(pieces, service.limits):
            yield b"".join(await _some(service, name, lines, number))
            number += len(lines)
            if service.closing:
                raise RefusedError(503, "the service is stopping")
    except RefusedError as refused:
        yield _line(number + 1, {"error": refused.reason, "unread": True})


async def _some(service: Service, name: str, lines: list[bytes], before: int) -> Iterator[bytes]:
    answers: dict[int, Any] = {}
    good: dict[int, events.Event] = {}
    limits = service.limits
    for number, line in enumerate(lines, before + 1):
        if not line.strip():
            continue
        try:
            if len(line) > limits.body:
                raise RefusedError(413, f"a line may have {limits.body:,} bytes")
            good[number] = events.read(line, limits.model)
            answers[number] = None
        except RefusedError as refused:
            answers[number] = refused
    answers.update(zip(good, await _patiently(service, name, list(good.values())), strict=True))
    return (_line(number, _as_json(service, name, each)) for number, each in answers.items())


async def _patiently(service: Service, name: str, good: list[events.Event]) -> list[Answer]:
    """Submit when there is room: who sends much at once can wait."""
    size = sum(len(event.text) for event in good)
    for _ in range(int(100 * service.limits.seconds)):
        if service.has_room(len(good), size):
            break
        await asyncio.sleep(0.01)
    try:
        return await service.submit(name, good)
    except RefusedError as refused:
        return [refused] * len(good)


def _as_json(service: Service, name: str, answer: Answer) -> dict[str, Any]:
    if isinstance(answer, RefusedError):
        service.reject(name, answer.reason)
        return {"error": answer.reason}
    return answer


def _line(number: int, answer: dict[str, Any]) -> bytes:
    if len(answer) == 3 and "probabilities" in answer and "step" in answer:
        # The most frequent answer, in a third of the time.
        P = ", ".join([f"{_quoted(name)}: {p!r}" for name, p in answer["probabilities"].items()])
        learned, step = "true" if answer["learned"] else "false", answer["step"]
        text = f'"probabilities": {{{P}}}, "learned": {learned}, "step": {step}'
        return f'{{"line": {number}, {text}}}\n'.encode()
    return json.dumps({"line": number, **answer}).encode() + b"\n"


@lru_cache(1000)
def _quoted(label: str) -> str:
    return json.dumps(label)
