"""Decisions: what is promised of them, whatever the rule."""

import copy
import pickle

import numpy as np
import pytest

import mixable as mx
from mixable.bandits import Agent
from mixable.bandits.contexts import FIRST_SIZE, MOST_COLUMNS
from mixable.bandits.exploration import fastcb

RULES = ("auto", "optimistic", "thompson", "greedy")


def contexts(n, seed=0):
    rng = np.random.default_rng(seed)
    return [
        {"age": float(rng.normal()), "shop": "abc"[rng.integers(3)], "tags": ["new"] * (t % 2)}
        for t in range(n)
    ]


def reward(context, action):
    return float(action == context["shop"])


def play(agent, some, learn_after=0):
    """Decisions, their rewards learned so many decisions later."""
    out, waiting = [], []
    for context in some:
        decision = agent.choose(context)
        out.append(decision)
        waiting.append((decision.id, reward(context, decision.action)))
        if len(waiting) > learn_after:
            agent.learn(*waiting.pop(0))
    for each in reversed(waiting):
        agent.learn(*each)
    return out


@pytest.mark.parametrize("explore", RULES)
def test_an_agent_learns_what_to_choose(explore):
    some = contexts(40 if explore == "thompson" else 150)
    made = play(Agent(["a", "b", "c"], explore=explore), some)
    late = list(zip(some, made, strict=True))[len(some) // 2 :]
    assert np.mean([reward(context, each.action) for context, each in late]) > 0.7


@pytest.mark.parametrize("explore", RULES)
def test_propensities_are_those_of_the_choice(explore):
    agent = Agent(["a", "b", "c"], explore=explore, floor=0.05)
    play(agent, contexts(20))
    context = contexts(1, seed=1)[0]
    before = mx.dumps(agent)
    wanted = agent.propensities(context)
    assert mx.dumps(agent) == before
    decision = agent.choose(context)
    assert decision.propensities == wanted
    assert sum(wanted.values()) == pytest.approx(1)
    assert min(wanted.values()) >= 0.05 - 1e-12
    assert decision.propensity == wanted[decision.action]


def test_actions_are_chosen_as_often_as_is_said():
    counts, said = np.zeros(4), np.zeros(4)
    for seed in range(150):
        agent = Agent(range(4), seed=seed)
        agent.observe(None, 1, 1)
        decision = agent.choose()
        counts[decision.action] += 1
        said += list(decision.propensities.values())
    # Variances of single choices are below 1/4: 4 deviations of 150.
    assert np.abs(counts - said).max() < 4 * np.sqrt(150 / 4)


def test_a_rare_action_is_the_worse_one():
    q = fastcb(np.array([0.2, 0.9, 0.5, 0.9]), 100)
    assert q.argmax() == 1  # the first of the best
    assert q[0] < q[2] < q[3]
    assert q.sum() == pytest.approx(1)
    assert fastcb(np.array([0.2, 0.9]), 10_000)[0] < fastcb(np.array([0.2, 0.9]), 100)[0]


def test_the_floor_is_at_most_uniform():
    agent = Agent(["a", "b"], explore="greedy", floor=0.9)
    assert set(agent.choose().propensities.values()) == {0.5}


def test_a_saved_agent_goes_on_with_the_same_decisions():
    agent = Agent(["a", "b", "c"], explore="optimistic", floor=0.01, seed=3)
    some = contexts(60)
    play(agent, some[:20])
    open_ids = [agent.choose(context, id=f"late {t}").id for t, context in enumerate(some[20:30])]
    for other in (mx.loads(mx.dumps(agent)), pickle.loads(pickle.dumps(agent)), copy.copy(agent)):
        mine = copy.deepcopy(agent)
        for each in (mine, other):
            for name in open_ids[::-2]:
                each.learn(name, 1)
        assert play(mine, some[30:], 3) == play(other, some[30:], 3)
        assert mx.dumps(mine) == mx.dumps(other)


def test_choices_depend_on_seed_and_number_alone():
    agents = [Agent(range(10), seed=seed) for seed in (1, 1, 2)]
    made = [[agent.choose().action for _ in range(20)] for agent in agents]
    assert made[0] == made[1] != made[2]


def test_a_late_reward_is_learned_with_the_inputs_of_its_decision():
    prompt, late = (Agent(["a", "b"], seed=1) for _ in range(2))
    first, *others = contexts(30)
    decision = prompt.choose(first, id="first")
    late.choose(first, id="first")
    waiting = late._waiting["first"]
    kept = waiting.x.copy(), waiting.keys.copy(), waiting.P.copy()
    for context in others:  # the scale of ages changes, and the weights of the experts
        each = late.choose({**context, "age": 1e3 * context["age"]})
        late.learn(each.id, 1)
    waiting = late._waiting["first"]
    assert all(map(np.array_equal, kept, (waiting.x, waiting.keys, waiting.P)))
    late.learn("first", 1)
    prompt.learn("first", 1)
    assert late._values.sums[1].sum() == 30
    assert decision.action in prompt.actions


def test_rewards_are_learned_once():
    agent = Agent(["a", "b"])
    name = agent.choose(id="x").id
    with pytest.raises(ValueError, match="waits for its reward already"):
        agent.choose(id="x")
    agent.learn(name, 1)
    with pytest.raises(ValueError, match="does not wait"):
        agent.learn(name, 1)
    assert agent.rewards == 1


def test_the_oldest_decisions_are_forgotten():
    agent = Agent(["a", "b"], max_waiting=3)
    for _ in range(5):
        agent.choose()
    assert agent.waiting == [2, 3, 4]
    assert agent.forgotten == 2


def test_actions_come_and_go():
    agent = Agent()
    for t in range(60):
        decision = agent.choose(None, ["a", "b"] if t < 40 else ["b", "c"])
        agent.learn(decision.id, decision.action == "a" or decision.action == "c")
    assert agent.actions == ["a", "b", "c"]
    assert set(agent.expected(None, ["a", "b", "c"])) == {"a", "b", "c"}
    assert agent.choose(None, ["a", "b", "c"], allowed=["b"]).propensities == {"b": 1.0}
    assert agent.expected(None, ["c"])["c"] > agent.expected(None, ["b"])["b"]


def test_actions_that_are_given_again_are_those_of_now():
    agent, given = Agent(), ["a", "b"]
    assert set(agent.choose(None, given).propensities) == {"a", "b"}
    given[1] = "c"
    assert set(agent.choose(None, given).propensities) == {"a", "c"}
    agent.observe(None, "a", 1, {"a": {"p": 9.0}, "c": None})
    assert agent.expected(None, ["a"]) != agent.expected(None, {"a": {"p": 9.0}})
    with pytest.raises(ValueError, match="actions is empty"):
        agent.choose(None, [])


def test_features_tell_of_actions_that_are_new():
    agent = Agent(explore="greedy")
    rng = np.random.default_rng(0)
    for t in range(150):
        actions = {f"{t} {i}": {"price": float(rng.normal())} for i in range(3)}
        decision = agent.choose(None, actions)
        agent.learn(decision.id, float(actions[decision.action]["price"] > 0))
    good = agent.expected(None, {"never seen": {"price": 1.5}, "nor this": {"price": -1.5}})
    assert good["never seen"] > good["nor this"] + 0.2


def test_contexts_may_have_any_number_of_columns():
    agent = Agent(["a", "b"])
    for t in range(80):
        decision = agent.choose({"user": f"u{t}", "word": f"w{t}"}, id=t)
        if t % 2:
            agent.learn(decision.id, 1)
    assert agent._contexts.size == MOST_COLUMNS > FIRST_SIZE
    agent.learn(0, 0)  # of a time when there were fewer columns
    assert agent.choose(np.array([1.0, np.nan])).action in "ab"
    other = mx.loads(mx.dumps(agent))
    assert mx.loads(mx.dumps(Agent({np.int64(1): {"p": np.float32(2)}}))).actions == [1]
    assert other.choose([0.5, 2.0]) == agent.choose([0.5, 2.0])


@pytest.mark.parametrize(("reward", "values"), [("unit", (0.2, 0.8)), ("number", (-300.0, 500.0))])
def test_rewards_may_be_numbers(reward, values):
    agent = Agent(["bad", "good"], reward=reward, floor=0.2)
    for _ in range(150):
        decision = agent.choose()
        agent.learn(decision.id, values[decision.action == "good"])
    expected = agent.expected()
    size = values[1] - values[0]
    assert expected["good"] == pytest.approx(values[1], abs=0.1 * size)
    assert expected["bad"] == pytest.approx(values[0], abs=0.1 * size)


def test_each_expert_learns_the_mean_of_rewards_in_between():
    agent = Agent(["a"], reward="unit")
    for t in range(300):
        agent.observe(None, "a", 0.7 + 0.1 * (-1) ** t)
    x, _ = agent._contexts.encode(None)
    P, *_ = agent._considered(x, agent._actions)
    assert P[0] == pytest.approx(np.full(P.shape[1], 0.7), abs=0.1)


def test_an_agent_learns_from_the_log_of_another():
    agent = Agent(["a", "b"], explore="greedy")
    for context in contexts(40):
        for action in "ab":
            agent.observe(context, action, reward(context, action))
    assert agent.decisions == 0
    assert agent.choose({"age": 0.0, "shop": "b", "tags": []}).action == "b"


@pytest.mark.parametrize(
    ("bad", "error", "named"),
    [
        (lambda: Agent(reward="much"), ValueError, "reward must"),
        (lambda: Agent(explore=3), ValueError, "explore must"),
        (lambda: Agent([]), ValueError, "actions is empty"),
        (lambda: Agent(["a", "a"]), ValueError, "'a' twice"),
        (lambda: Agent("ab"), TypeError, "actions must"),
        (lambda: Agent({"a": 3}), TypeError, "features of 'a'"),
        (lambda: Agent([1.5]), TypeError, "actions must be a string or an integer"),
        (lambda: Agent(["a"], floor=2), ValueError, "floor"),
        (lambda: Agent().choose({}), ValueError, "actions must be given"),
        (lambda: Agent(["a"]).choose("text"), TypeError, "context must"),
        (lambda: Agent(["a"]).choose({}, allowed=["b"]), ValueError, "allowed has 'b'"),
        (lambda: Agent(["a"]).choose({}, id=2.5), TypeError, "id must"),
        (lambda: Agent(["a"]).learn([1], 1), TypeError, "id must"),
        (lambda: Agent(["a"]).observe({}, "b", 1, ["a"]), ValueError, "action 'b'"),
        (lambda: Agent(["a"]).observe({}, "a", 0.5), ValueError, "0 or 1"),
        (lambda: Agent(["a"], reward="unit").observe({}, "a", 2), ValueError, "reward"),
        (lambda: Agent({"a": {"p": float("nan")}}), ValueError, "actions: p"),
        (lambda: Agent(["1", 1]), ValueError, "1 twice"),
        (lambda: Agent(["a"]).choose({"x": 1e155}), ValueError, "context has a number beyond"),
        (lambda: Agent(["a"]).observe([-1e200], "a", 1), ValueError, "context has a number"),
        (lambda: Agent(["a"]).choose([1.0] * 6000), ValueError, "too large together"),
    ],
)
def test_bad_arguments_are_refused_by_name(bad, error, named):
    with pytest.raises(error, match=named):
        bad()


def test_a_refused_decision_changes_nothing():
    agent = Agent(["a", "b"])
    play_some = [agent.choose(context) for context in contexts(5)]
    before = mx.dumps(agent)
    with pytest.raises(ValueError, match="reward"):
        agent.learn(play_some[0].id, 7)
    with pytest.raises(TypeError):
        agent.choose({"age": object()})
    assert mx.dumps(agent) == before


def test_a_number_that_somebody_gave_is_passed_over():
    agent = Agent(["a", "b"])
    agent.choose({"x": 1}, id=1)
    made = [agent.choose({"x": 1}).id for _ in range(3)]
    assert len({1, *made}) == 4
