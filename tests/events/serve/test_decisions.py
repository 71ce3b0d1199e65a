"""Agents of a service: decisions are events, rewards their outcomes, exactly once."""

import asyncio
import json

import pytest
from browser import CHROMIUM, opened
from command_line import in_process
from serve_command import end, same_models, saved

import mixable as mx
from mixable.bandits import evaluate, read_log
from mixable.events.decisions import AgentOptions, Decisions, options_of
from mixable.events.events import Event
from mixable.events.serve.deciding import decision_of, reward_of
from mixable.events.serve.service import Service
from mixable.events.store import Store

SHOP = {"kind": "agent", "actions": ["a", "b", "c"], "floor": 0.1, "seed": 2}


def asked(t, **more):
    context = {"user": "uvw"[t % 3], "x": t / 7, "tags": ["new"] * (t % 2)}
    return decision_of(json.dumps({"id": t, "context": context, **more}).encode())


def earned(t, reward=None):
    body = {"id": t, "reward": t % 2 if reward is None else reward}
    return reward_of(json.dumps(body).encode())


def some(begin, end):
    """Contexts; rewards that come late, and one for nobody."""
    out = []
    for t in range(begin, end):
        more = {"actions": {"a": {"price": 2.0}, "z": None}} if t % 5 == 4 else {}
        out.append(asked(t, **more))
        out += [earned(t - 3)] if t >= 3 else []
    return [*out, earned("nobody", 1)]


def submitted(folder, events, *, crash=False):
    """Let the agent of a service have events; end it, or leave it as a crash would."""

    async def main():
        service = Service(folder, say=lambda _: None)
        service.start()
        await service.make("shop", SHOP)
        answers = await service.submit("shop", events)
        await end(service, crash=crash)
        return answers

    return asyncio.run(main())


def test_after_a_crash_the_decisions_are_those_that_would_have_been(tmp_path):
    events = some(0, 20), some(20, 40), some(40, 50)
    answers = submitted(tmp_path / "m", events[0])
    answers += submitted(tmp_path / "m", events[1], crash=True)
    answers += submitted(tmp_path / "m", events[2], crash=True)
    by_hand = Decisions(options_of(SHOP))
    wanted = by_hand.apply([each for part in events for each in part])
    statuses = [getattr(each, "status", 200) for each in answers]
    assert statuses.count(409) == len(statuses) - statuses.count(200) == 3
    pairs = zip(answers, wanted, strict=True)
    assert all(answer == each.answer for answer, each in pairs if isinstance(answer, dict))
    known, rest = saved(tmp_path / "m", "shop")
    rest = list(rest)
    assert rest
    known.all(rest)
    by_hand.numbers = dict.fromkeys(by_hand.numbers, 0)
    known.numbers = dict.fromkeys(known.numbers, 0)
    assert same_models(known, by_hand)
    store = Store(tmp_path / "m", read_only=True)
    row = store.rows("SELECT forecast, outcome FROM log WHERE id = '9'")[0]
    store.close()
    said = json.loads(row[0])
    assert (said["seed"], said["decision"], row[1]) == (2, 9, 1.0)
    assert said["propensity"] == said["propensities"][said["action"]]


def test_a_request_that_is_repeated_has_the_same_answer(start):
    _, call = start()
    assert call("PUT", "/models/shop", SHOP) == (201, {"name": "shop", "made": True})
    body = {"id": 7, "context": {"x": 1.5}, "allowed": ["a", "b"]}
    status, first = call("POST", "/models/shop/decide", body)
    assert status == 200
    assert first["id"] == "7"
    assert set(first["propensities"]) == {"a", "b"}
    assert call("POST", "/models/shop/decide", body) == (200, first)
    other = {**body, "context": {"x": 2}}
    assert call("POST", "/models/shop/decide", other)[0] == 409
    reward = {"id": 7, "reward": True}
    learned = {"id": "7", "learned": True, "step": 1}
    assert call("POST", "/models/shop/reward", reward) == (200, learned)
    again = {"id": "7", "learned": False}
    assert call("POST", "/models/shop/reward", reward) == (200, again)
    assert call("POST", "/models/shop/reward", {"id": 7, "reward": 0})[0] == 409
    assert call("POST", "/models/shop/decide", body) == (200, first)  # also when it is learned
    counts = call("GET", "/models/shop")[1]["counts"]
    assert (counts["events"], counts["learned"], counts["waiting"]) == (1, 1, 0)
    assert 'mixable_learned_total{model="shop"} 1.0' in call.raw("GET", "/metrics")[1].decode()


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("/models/shop/decide", {"context": "text"}, 422, "$.context"),
        ("/models/shop/decide", {"context": {}, "allowed": ["z"]}, 422, "allowed has 'z'"),
        ("/models/shop/decide", {"actions": []}, 422, "actions is empty"),
        ("/models/shop/decide", {"actions": {"a": {"p": 1e300}}}, 422, "actions: p"),
        ("/models/shop/decide", {"what": 1}, 422, "what"),
        ("/models/shop/decide", {"context": {"x": 1e155}}, 422, "context has a number beyond"),
        ("/models/shop/decide", {"context": [1.0] * 10_001}, 422, "more than 10,000 features"),
        ("/models/shop/decide", {"context": {"x" * 1001: 1}}, 422, "more than 1,000 characters"),
        (
            "/models/shop/decide",
            {"context": [1.0] * 200, "actions": {"a": {str(i): 1 for i in range(200)}}},
            422,
            "too large together",
        ),
        ("/models/shop/reward", {"id": "w", "reward": 10**400}, 422, "reward"),
        ("/models/shop/reward", {"id": "x", "reward": 0.5}, 409, "does not wait"),
        ("/models/shop/reward", {"id": "w", "reward": 0.5}, 422, "reward must be 0 or 1"),
        ("/models/shop/reward", {"id": "w"}, 422, "reward"),
        ("/models/shop/predict", {"features": {"x": 1}}, 422, "this model is an agent"),
        ("/models/shop/learn", {"features": {"x": 1}, "label": "a"}, 422, "is an agent"),
        ("/decide", {"context": {}}, 422, "default is no agent"),
    ],
)
def test_what_is_refused_changes_nothing(start, path, body, status, reason):
    service, call = start()
    assert call("PUT", "/models/shop", SHOP)[0] == 201
    assert call("POST", "/models/shop/decide", {"id": "w", "context": {"x": 1}})[0] == 200
    before = mx.dumps(service.loaded["shop"].model.agent)
    got, answer = call("POST", path, body)
    assert (got, reason in answer["error"]) == (status, True), answer
    assert mx.dumps(service.loaded["shop"].model.agent) == before


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"kind": "what"}, "kind must be agent"),
        ({"kind": "agent", "flor": 1}, "no option 'flor'"),
        ({"kind": "agent", "floor": 3}, "floor"),
        ({"kind": "agent", "actions": "ab"}, "actions must"),
        ({"kind": "agent", "reward": "much"}, "reward must"),
    ],
)
def test_bad_options_are_refused_by_name(options, reason):
    with pytest.raises(ValueError, match=reason):
        options_of(options)


def test_ids_of_decisions_that_are_learned_are_known_for_a_while():
    decider = Decisions(AgentOptions(["a", "b"], max_waiting=3))
    events = [
        Event(id=str(t), features={"context": None}, label=None, number=t + 1) for t in range(40)
    ]
    for t, event in enumerate(events):
        (applied,) = decider.apply([event])
        assert applied.changed
        if t % 2:
            assert decider.one(Event(id=str(t), features=None, label="1.0"))["learned"]
        for earlier in events[max(t - 3, 0) : t + 1]:
            (again,) = decider.apply([earlier])
            assert again.answer.status == 409
    assert len(decider.numbers) <= 9
    assert set(decider.agent.waiting) <= set(decider.numbers)


def test_a_forged_state_is_refused():
    model = Decisions(AgentOptions(["a"]))
    model.one(Event(id="1", features={"context": {}}, label=None, number=4))
    others = AgentOptions(["b"]).to_json(), AgentOptions(["a"], max_waiting=1).to_json()
    changes = [{"options": other} for other in others]
    changes += [{"numbers": {"1": n}} for n in ("x", 2**70, -1)]
    for change in (*changes, {"numbers": {}}, {"agent": 3}, {"options": {}}):
        with pytest.raises(ValueError, match="do not go together"):
            Decisions.__new__(Decisions).__setstate__({**model.__getstate__(), **change})
    assert same_models(mx.loads(mx.dumps(model)), model)


def test_what_is_exported_is_evaluated(tmp_path):
    submitted(tmp_path / "m", some(0, 40))
    out = tmp_path / "log.jsonl"
    done = in_process("export", tmp_path / "m", "shop", "--out", out)
    assert done.exit_code == 0, done.stderr
    entries = read_log(out)
    assert len(entries) == 37
    assert all(set(each.expected) == set(each.actions) for each in entries)
    found = evaluate(entries, "z", least=0.1)
    assert found.n == sum("z" in each.actions for each in entries) < 37
    assert f"{37 - found.n} rows where it could not be chosen" in str(found)
    done = in_process("decide", out, "--evaluate", "a")
    assert "37 decisions" in done.stdout
    table = tmp_path / "log.csv"
    assert in_process("export", tmp_path / "m", "shop", "--out", table).exit_code == 0
    assert "propensity" in table.read_text().splitlines()[0]
    done = in_process("replay", tmp_path / "m", "shop")
    assert done.exit_code == 2
    assert "shop is an agent" in " ".join(done.stderr.split())


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to show the page")
def test_the_page_shows_rewards_shares_exploration_and_what_others_would_have_earned(
    start, tmp_path
):
    service, call = start()
    assert call("PUT", "/models/shop", SHOP)[0] == 201
    for t in range(60):
        answer = call("POST", "/models/shop/decide", {"context": {"x": t}})[1]
        body = {"id": answer["id"], "reward": answer["action"] == "b"}
        assert call("POST", "/models/shop/reward", body)[0] == 200
    assert service.loaded["shop"].model.agent.decisions == 60
    found = call("GET", "/models/shop/decisions")[1]
    assert found["decisions"] == 60
    assert sum(part["reward"] for part in found["parts"]) / len(found["parts"]) > 0.4
    best = max(found["always"], key=lambda each: each["dr"])
    assert (best["action"], best["high"]) == ("b", 1)
    assert call("GET", "/decisions")[0] == 422
    address = f"http://127.0.0.1:{call._connection.port}/"
    with opened(address, tmp_path / "browser") as page:
        page.until("document.getElementById('models').options.length == 2")
        page.value("document.getElementById('models').value = 'shop'")
        page.value("document.getElementById('models').dispatchEvent(new Event('change'))")
        rows = "document.querySelectorAll('#always tr').length"
        page.until(f"location.pathname == '/agent' && {rows} > 0")
        text = page.value("document.body.innerText")
        assert "The last 60 decisions with a reward" in text
        for part in ("reward polyline", "explored polyline", "shares rect"):
            assert page.value(f"document.querySelectorAll('#{part}').length") > 0
        for width in (1280, 400):
            page.size(width)
            assert page.value("document.documentElement.scrollWidth") <= width
        assert not page.complaints
        assert all(each.startswith((address, "data:")) for each in page.requests)
