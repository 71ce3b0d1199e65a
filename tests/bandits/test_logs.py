"""Logs of others."""

import json

import pytest

from mixable.bandits import Logged, evaluate, read_log, read_open_bandit, read_vw

VW = """1:2:0.4 | a c
3:0.5:0.2 |user age:31.5 new |shop b
| a b
"""
OPEN = """,timestamp,item_id,position,click,propensity_score,user_feature_0,\
user-item_affinity_0,user-item_affinity_1
0,2019-11-24,1,3,0,0.25,cef3,0.5,0.0
1,2019-11-24,0,1,1,0.75,81ce,0.0,2.0
"""


def test_text_of_vowpal_wabbit():
    first, second = read_vw(VW.splitlines())
    assert first == Logged({"a": 1.0, "c": 1.0}, 1, 0.4, -2.0)
    assert second.context == {"user^age": 31.5, "user^new": 1.0, "shop^b": 1.0}
    assert (second.action, second.propensity, second.reward) == (3, 0.2, -0.5)
    assert evaluate([first, second], 3, reward_range=(-2, 0)).n == 2
    with pytest.raises(ValueError, match="line 1 is not Vowpal Wabbit's"):
        list(read_vw(["one:2:.3 | a"]))


def test_csv_of_open_bandit(tmp_path):
    path = tmp_path / "all.csv"
    path.write_text(OPEN)
    first, second = read_open_bandit(path)
    assert (first.action, first.propensity, first.reward, first.actions) == (1, 0.25, 0.0, [0, 1])
    assert second.context["user_feature_0"] == "81ce"
    assert second.context["user-item_affinity_1"] == 2.0
    assert evaluate([first, second], 0).mean_weight == pytest.approx(0.5 / 0.75)
    with pytest.raises(ValueError, match="line 2 of the file"):
        list(read_open_bandit(["item_id,click,propensity_score", "a,1,.5"]))
    with pytest.raises(ValueError, match="must have columns"):
        list(read_open_bandit(["a,b", "1,2"]))


def test_decisions_and_rewards_are_joined():
    lines = [
        {
            "id": 1,
            "context": {"x": 1},
            "action": "a",
            "propensity": 0.5,
            "propensities": {"a": 0.5, "b": 0.5},
        },
        {"id": 2, "context": {"x": 2}, "action": "b", "propensity": 0.5},
        {"id": 3, "context": {"x": 3}, "action": "b", "propensity": 0.5},
        {"id": 2, "reward": 1},
        {"id": 1, "reward": 0},
        {"context": None, "action": "a", "propensity": 1.0, "reward": 0.5},
    ]
    made = read_log(json.dumps(each) for each in lines)
    assert [(each.action, each.reward) for each in made] == [("a", 0.0), ("b", 1.0), ("a", 0.5)]
    assert made[0].actions == ["a", "b"]
    with pytest.raises(ValueError, match="line 1 of the log"):
        read_log(["{"])


def test_what_was_not_allowed_could_not_be_chosen():
    lines = [
        {"id": 1, "context": {}, "actions": ["a", "b"], "allowed": ["a"], "action": "a"},
        {"id": 2, "context": {}, "actions": [1, "x"], "action": 1},
        {"id": 3, "context": {}, "actions": {"a": {"z": 1}, "b": {"z": 2}}, "action": "b"},
    ]
    shares = ({"a": 1.0}, {"1": 0.5, "x": 0.5}, {"b": 1.0})
    text = []
    for line, propensities in zip(lines, shares, strict=True):
        own = propensities[str(line["action"])]
        text.append(json.dumps({**line, "propensity": own, "propensities": propensities}))
        text.append(json.dumps({"id": line["id"], "reward": 1}))
    assert [each.actions for each in read_log(text)] == [["a"], [1, "x"], {"b": {"z": 2}}]
