"""Requests to events: what is none is refused with a reason."""

import asyncio
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serve_command import apply, read, served_model

from mixable.events.events import _STRICT, RefusedError, loaded
from mixable.events.serve import bodies
from mixable.events.serve.shown import busy


def test_an_event_is_read():
    event = read(b'{"id": 7, "features": {"a": 1, "b": null}, "label": true}')
    assert (event.id, event.features, event.label) == ("7", {"a": 1, "b": None}, "true")


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (b'{"features": {}}', False),
        (b'{"features": {}, "id": ""}', False),
        (b'{"features": {}, "id": 1}', True),
        (b'{"features": {}, "label": 1}', True),
        (b'{"id": 0, "label": "a"}', True),
    ],
)
def test_what_a_model_is_changed_by(text, changes):
    assert read(text).changes is changes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "truncated"),
        (b"[1]", "Expected `object`"),
        (b"\xff", "malformed"),
        (b"[" * 100_000, "Expected `object`"),
        (b'{"features": {"a": ' + b"[" * 100_000, "Expected|nested"),
        (b'{"features": {}, "feature": {}}', "unknown field `feature`"),
        (b'{"features": [1]}', "Expected `object | null`"),
        (b'{"features": {"a": [["text"]]}}', "got `array`"),
        (b'{"features": {"a": {}}}', "got `object`"),
        (b'{"features": {"a": Infinity}}', "malformed"),
        (b'{"features": {"a": NaN}}', "malformed"),
        (b'{"features": {"a": 1e999}}', "out of range|finite"),
        (b'{"features": {"\\ud800": 1}}', "surrogate"),
        (b'{"features": {"%s": 1}}' % (b"x" * 1001), "name has more than 1,000"),
        (b'{"features": {}, "id": "%s"}' % (b"x" * 1001), "the id has more than 1,000"),
        (b'{"features": {}, "label": ["a"]}', "got `array`"),
        (b'{"label": "a"}', "features are missing"),
        (b'{"id": "a"}', "features are missing"),
    ],
)
def test_bad_events_are_refused_with_a_reason(text, reason):
    with pytest.raises(RefusedError, match=reason) as refused:
        read(text)
    assert refused.value.status == 422


def test_a_number_beyond_double_precision_is_refused():
    model = served_model()
    apply(model, read(b'{"features": {"a": 1}, "label": "x"}'))
    for rest in (b"", b', "label": "x"'):
        with pytest.raises(RefusedError, match="too large") as refused:
            apply(model, read(b'{"features": {"a": %s}%s}' % (b"9" * 400, rest)))
        assert refused.value.status == 422


def test_only_the_keys_of_a_route_are_allowed():
    with pytest.raises(RefusedError, match="unknown field `label`"):
        bodies.read(b'{"features": {}, "label": 1}', bodies.FORECAST)


async def all_of(pieces, encoding):
    async def given():
        for piece in pieces:
            yield piece

    return [piece async for piece in bodies.unpacked(given(), encoding)]


def test_gzip_is_unpacked_in_small_pieces():
    text = bytes(10**7)
    packed = gzip.compress(text)
    found = asyncio.run(all_of([packed[:5], packed[5:]], "gzip"))
    assert b"".join(found) == text
    assert max(map(len, found)) <= bodies.PIECE
    assert asyncio.run(all_of([b"as", b"it is"], "identity")) == [b"as", b"it is"]


@pytest.mark.parametrize(
    ("pieces", "encoding", "status"),
    [([b"nothing"], "gzip", 422), ([gzip.compress(b"x")[:-4]], "gzip", 422), ([b"x"], "br", 415)],
)
def test_what_cannot_be_unpacked_is_refused(pieces, encoding, status):
    with pytest.raises(RefusedError) as refused:
        asyncio.run(all_of(pieces, encoding))
    assert refused.value.status == status


NAMES = st.sampled_from(['"a"', '"b"', '"features"', '"a\\":"', '":"', '"a" ', '"b"\n', '"b"\t'])
VALUES = st.recursive(
    st.sampled_from(["1", "-2.5", '"x"', '":"', '" :"', '"\\":"', "null", "NaN", "[1, 2]"]),
    lambda inner: st.lists(st.tuples(NAMES, inner), max_size=4).map(
        lambda pairs: "{" + ",".join(f"{name}:{value}" for name, value in pairs) + "}"
    ),
    max_leaves=8,
)


@given(
    VALUES.map(lambda text: f'{{"features":{text}}}') | VALUES, st.sampled_from(["", " ", ",", "}"])
)
def test_json_is_read_as_a_strict_reader_reads_it(text, end):
    def said(reader):
        try:
            return repr(reader(text + end))
        except ValueError as error:
            return str(error)

    assert said(loaded) == said(_STRICT.decode)


def test_busy_is_503_with_its_reason():
    refused = busy("the disk is slow")
    assert isinstance(refused, RefusedError)
    assert (refused.status, refused.reason) == (503, "the disk is slow; try again in a second")
