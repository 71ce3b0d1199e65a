"""Requests to events: what is none is refused with a reason."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixable.events.events import _STRICT, ModelLimits, RefusedError, loaded, read
from mixable.events.serve.service import busy

LIMITS = ModelLimits(features=3, text=5)


def test_an_event_is_read_and_kept_as_it_came():
    text = b'{"id": 7, "features": {"a": 1, "b": null}, "label": true}'
    event = read(text, LIMITS)
    assert (event.id, event.features, event.label) == ("7", {"a": 1, "b": None}, "true")
    assert event.text == text


def test_the_text_of_an_event_is_one_line():
    event = read(b'{\r\n"features":\n {"a": 1.5}}', LIMITS)
    assert json.loads(event.text) == {"features": {"a": 1.5}}
    assert not {b"\n", b"\r"} & {event.text[i : i + 1] for i in range(len(event.text))}


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
    assert read(text, LIMITS).changes is changes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"features": {}, "feature": {}}', "'feature' is not one of"),
        (b'{"features": {"a": 1, "a": 2}}', "twice"),
        (b'{"features": [1]}', "must be an object"),
        (b'{"features": {"a": [["text"]]}}', "a list within a list"),
        (b'{"features": {"a": {}}}', "a record within a record"),
        (b'{"features": {"a": Infinity}}', "must be finite"),
        (b'{"features": {"a": 1%s}}' % (b"0" * 400), "too large"),
        (b'{"features": {"a": 1%s}}' % (b"0" * 5000), "digits"),
        (b'{"features": {"\\ud800": 1}}', "not UTF-8"),
        (b'{"features": {"a": 1, "b": 1, "c": 1, "d": 1}}', "more than 3 features"),
        (b'{"features": {"abcdef": 1}}', "name has more than 5"),
        (b'{"features": {}, "id": "abcdef"}', "the id has more than 5"),
        (b'{"features": {}, "label": ["a"]}', "label must be text or a number"),
        (b'{"features": {}, "label": NaN}', "label is nan"),
        (b'{"label": "a"}', "features are missing"),
        (b'{"id": "a"}', "features are missing"),
    ],
)
def test_bad_events_are_refused_with_a_reason(text, reason):
    with pytest.raises(RefusedError, match=reason) as refused:
        read(text, LIMITS)
    assert refused.value.status == 422


def test_only_the_keys_of_a_route_are_allowed():
    with pytest.raises(RefusedError, match="'label' is not one of features, id"):
        read(b'{"features": {}, "label": 1}', LIMITS, {"id", "features"})


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


def test_limits_come_back_from_json():
    limits = ModelLimits(features=7, waiting=0)
    assert ModelLimits.from_json(asdict(limits)) == limits


@pytest.mark.parametrize(
    "change", [{"features": -1}, {"classes": 2.5}, {"other": 1}, {"text": "9"}]
)
def test_what_are_no_limits_is_refused(change):
    with pytest.raises((ValueError, TypeError)):
        ModelLimits.from_json({**asdict(ModelLimits()), **change})


def test_busy_is_503_with_its_reason():
    refused = busy("the disk is slow")
    assert isinstance(refused, RefusedError)
    assert (refused.status, refused.reason) == (503, "the disk is slow; try again in a second")
