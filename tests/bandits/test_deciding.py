"""A stream of contexts and rewards, and the same after a crash."""

import json

import pytest

from mixable.bandits import evaluate, read_log
from mixable.bandits.deciding import Decider

OPTIONS = {"actions": ["a", "b"], "floor": 0.1, "seed": 4}


def events(n=20):
    """Contexts of several forms, rewards that come late, and a few lines that are wrong."""
    out = []
    for t in range(n):
        if t % 3:
            out.append({"id": t, "context": {"x": t % 4, "word": "uv"[t % 2]}})
        else:
            out.append({"id": t, "x": t, "word": "u"})
        if t >= 2:
            out.append({"id": t - 2, "reward": t % 2})
        if t % 7 == 5:
            out.append({"id": t - 2, "reward": 1})  # has been learned
    out.insert(5, "no JSON")
    out.insert(9, {"id": "c", "context": {}, "actions": ["b", "c"], "allowed": ["c"]})
    return [json.dumps(each) if isinstance(each, dict) else each for each in out]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    with Decider(path, OPTIONS) as decider:
        answers = list(decider.run(events()))
    return path.read_bytes(), answers


def test_each_line_is_answered_once(whole):
    log, answers = whole
    assert len(answers) == len(events()) == len(log.splitlines()) - 1
    assert [json.loads(line) for line in log.splitlines()[1:]] == answers
    assert sum("error" in each for each in answers) == 1 + sum(t % 7 == 5 for t in range(20))
    assert answers[9]["propensities"] == {"c": 1.0}


@pytest.mark.parametrize("with_model", [False, True])
@pytest.mark.parametrize("part", [0.0, 0.31, 0.66, 1.0])
def test_after_a_crash_the_decisions_are_the_same(whole, tmp_path, part, with_model):
    log, _ = whole
    path = tmp_path / "log.jsonl"
    model = tmp_path / "agent.mixable" if with_model else None
    if with_model:  # saved some time before the crash
        n = int(part * 10)
        with Decider(path, OPTIONS, model=model) as decider:
            list(decider.run(events()[:n]))
    path.write_bytes(log[: max(int(part * len(log)), path.stat().st_size if with_model else 0)])
    with Decider(path, OPTIONS, model=model) as decider:
        list(decider.run(events()[decider.lines :]))
    assert path.read_bytes() == log


def test_what_the_log_began_with_counts(whole, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(whole[0])
    with Decider(path) as decider:
        assert decider.agent.floor == 0.1
        assert decider.lines == len(events())
    with pytest.raises(ValueError, match=r"floor is 0.2, and .* began with 0.1"):
        Decider(path, {"floor": 0.2})
    lines = whole[0].splitlines(keepends=True)
    changed = (
        lines[1].replace(b'"action":"a"', b'"action":"z"').replace(b'"action":"b"', b'"action":"z"')
    )
    path.write_bytes(b"".join([lines[0], changed, *lines[2:]]))
    with pytest.raises(ValueError, match=r"line 2 of .* is not what this agent decides"):
        Decider(path)
    path.write_text("{}\n")
    with pytest.raises(ValueError, match="is not a log of mixable decide"):
        Decider(path)


def test_a_model_of_another_log_is_refused(whole, tmp_path):
    with Decider(tmp_path / "other.jsonl", OPTIONS, model=tmp_path / "agent"):
        pass
    with Decider(tmp_path / "one.jsonl", OPTIONS, model=tmp_path / "agent") as decider:
        list(decider.run(events()[:4]))
    with pytest.raises(ValueError, match="knows more than"):
        Decider(tmp_path / "other.jsonl", OPTIONS, model=tmp_path / "agent")


def test_the_log_can_be_evaluated(whole):
    entries = read_log(whole[0].decode().splitlines())
    assert len(entries) == 18
    some = [each for each in entries if "c" not in each.actions]
    assert evaluate(some, "a", least=0.1).n == len(some)
