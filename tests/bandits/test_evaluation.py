"""What a log says of another policy."""

import numpy as np
import pytest

import mixable as mx
from mixable.bandits import Agent, Logged, evaluate
from mixable.bandits.evaluation import _sequence

TRUE = {"a": 0.2, "b": 0.5, "c": 0.8}


def log(n, seed=0, chances=(0.6, 0.3, 0.1)):
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        i = rng.choice(3, p=chances)
        action = "abc"[i]
        context = {"day": "xy"[rng.integers(2)]}
        out.append(Logged(context, action, chances[i], float(rng.random() < TRUE[action])))
    return out


def test_estimates_are_those_of_their_formulas():
    some = log(120)
    found = evaluate(some, "b")
    w = np.array([(each.action == "b") / 0.3 for each in some])
    r = np.array([each.reward for each in some])
    assert found.ips == pytest.approx((w * r).mean())
    assert found.snips == pytest.approx((w * r).sum() / w.sum())
    assert found.mean_weight == pytest.approx(w.mean())
    assert found.effective == pytest.approx(np.count_nonzero(w))
    assert found.logged == pytest.approx(r.mean())
    agent, robust = Agent(reward="unit"), []
    actions = list(dict.fromkeys(each.action for each in some))
    for each, weight in zip(some, w, strict=True):
        expected = agent.expected(each.context, actions)
        robust.append(expected["b"] + weight * (each.reward - expected[each.action]))
        agent.observe(each.context, each.action, each.reward, actions)
    assert found.dr == pytest.approx(np.mean(robust))


def test_the_policy_of_the_log_earns_what_it_earned():
    some = log(60)
    own = dict(zip("abc", (0.6, 0.3, 0.1), strict=True))
    found = evaluate(some, lambda context, actions: own)
    assert found.ips == pytest.approx(found.logged)
    assert found.mean_weight == pytest.approx(1)
    assert not found.problems


def test_estimates_are_near_the_truth_and_scale_with_rewards():
    some = log(400)
    found = evaluate(some, "c", least=0.1)
    low, high = found.interval
    assert low < TRUE["c"] < high
    assert found.dr == pytest.approx(TRUE["c"], abs=0.2)
    other = [Logged(e.context, e.action, e.propensity, 10 * e.reward - 5) for e in some]
    scaled = evaluate(other, "c", least=0.1, reward_range=(-5, 5))
    assert scaled.dr == pytest.approx(10 * found.dr - 5)
    assert scaled.interval == pytest.approx((10 * low - 5, 10 * high - 5))


def test_intervals_hold_the_truth_when_they_are_watched():
    rng = np.random.default_rng(1)
    missed = np.zeros(2)
    repeats, n, chance, truth = 30, 200, 0.2, 0.7
    for _ in range(repeats):
        w = (rng.random(n) < chance) / chance
        r = (rng.random(n) < truth).astype(float)
        robust = 0.5 + w * (r - 0.5)
        for i, path in enumerate(
            (
                _sequence(w * r, w * (1 - r), 0.0, 0.05),
                _sequence(robust, 1 - robust, 1 / chance, 0.05),
            )
        ):
            missed[i] += ((path[:, 0] > truth) | (path[:, 1] < truth)).any()
    # Of 30 with probability .05 each, 7 or more happen once in 3,000.
    assert missed.max() <= 6


def test_intervals_become_narrow_and_never_wider():
    rng = np.random.default_rng(0)
    X = (rng.random(3000) < 0.3).astype(float)
    path = _sequence(X, 1 - X, 0.0, 0.05)
    assert (np.diff(path[:, 0]) >= 0).all()
    assert (np.diff(path[:, 1]) <= 0).all()
    assert path[-1, 1] - path[-1, 0] < 0.1
    assert path[0].tolist() == [0.0, 1.0]


def test_a_bet_does_not_know_the_present_step():
    X = np.full(50, 0.4)
    one = _sequence(np.append(X, 0.0), np.append(1 - X, 1.0), 0.0, 0.05)
    other = _sequence(np.append(X, 1.0), np.append(1 - X, 0.0), 0.0, 0.05)
    assert np.array_equal(one[:50], other[:50])


def test_clipping_is_told():
    found = evaluate(log(120), "c", clip=2.0)
    assert found.clipped == sum(each.action == "c" for each in log(120))
    assert found.ips < evaluate(log(120), "c").ips
    assert f"{found.clipped} were clipped" in str(found)


def test_wrong_propensities_are_noticed():
    wrong = [Logged(e.context, e.action, 0.9, e.reward) for e in log(200)]
    found = evaluate(wrong, "a")
    assert "propensities are wrong" in str(found)
    chosen = [each for each in log(60) if each.action == "a"]
    actions = ["a", "b"]
    only = [Logged(each.context, "a", 0.6, each.reward, actions) for each in chosen]
    assert "never took" in str(evaluate(only, "b"))


def test_a_log_that_is_refused_teaches_an_agent_nothing():
    entries, agent = log(5), Agent(["a", "b", "c"])
    entries.append(Logged(entries[0].context, "a", 0.5, 0.5))
    with pytest.raises(ValueError, match="row 5 of the log: reward must be 0 or 1"):
        evaluate(entries, agent)
    with pytest.raises(ValueError, match="model must be another agent"):
        evaluate(log(5), agent, model=agent)
    assert agent.rewards == 0


@pytest.mark.parametrize("options", [{}, {"clip": -1.0}])
def test_an_agent_is_as_before_if_the_log_is_refused_half_way(options):
    agent = Agent()
    evaluate(log(30), agent)
    bad = log(30, seed=1)
    if not options:
        bad[20] = Logged({"day": object()}, "a", 0.6, 1.0)
    twin = Agent()
    evaluate(log(30), twin)
    with pytest.raises((TypeError, ValueError)):
        evaluate(bad, agent, **options)
    assert mx.dumps(agent) == mx.dumps(twin)


@pytest.mark.parametrize(
    ("bad", "error", "named"),
    [
        (lambda: evaluate(3, "a"), TypeError, "log must"),
        (lambda: evaluate(log(5), "a", model=3), TypeError, "model must"),
        (lambda: evaluate(log(5), "a", reward_range=1), TypeError, "reward_range must"),
        (lambda: evaluate(log(5), "z"), ValueError, "policy: no row"),
        (lambda: evaluate([Logged({}, "a", 1, 1, ["a"], ["a"])], "a"), TypeError, "expected"),
        (lambda: evaluate([Logged({}, "a", 1, 1, ["a"], {"a": "x"})], "a"), TypeError, "expected"),
    ],
)
def test_bad_logs_are_refused_by_name(bad, error, named):
    with pytest.raises(error, match=named):
        bad()


def test_an_agent_is_a_policy():
    agent = Agent(["a", "b", "c"], explore="greedy", floor=0.1)
    for each in log(50, seed=3):
        agent.observe(each.context, each.action, each.reward)
    found = evaluate(log(50), agent.propensities)
    assert 0 <= found.snips <= 1


@pytest.mark.parametrize(
    ("change", "error", "named"),
    [
        ({"propensity": 0.0}, ValueError, "row 1 of the log: propensity"),
        ({"propensity": 1.5}, ValueError, "row 1 of the log: propensity"),
        ({"reward": 3.0}, ValueError, "outside of reward_range"),
        ({"actions": ["b"], "action": "z"}, ValueError, "'z' is not one of its actions"),
        ({"colour": 1}, TypeError, "row 1 of the log"),
    ],
)
def test_bad_logs_are_refused_by_row(change, error, named):
    good = {"context": None, "action": "a", "propensity": 0.5, "reward": 1.0}
    with pytest.raises(error, match=named):
        evaluate([good, {**good, **change}], "a")


def test_bad_policies_are_refused():
    some = log(5)
    with pytest.raises(ValueError, match="policy chose 'z'"):
        evaluate(some, lambda context, actions: "z")
    with pytest.raises(ValueError, match="probabilities sum to"):
        evaluate(some, lambda context, actions: {actions[0]: 0.5})
    with pytest.raises(ValueError, match="least is"):
        evaluate(some, some[0].action, least=0.9)
    with pytest.raises(ValueError, match="log is empty"):
        evaluate([], "a")


def test_an_agent_may_learn_as_it_is_evaluated():
    """Decisions of each row are those before it is learned."""
    some, agent, seen = log(80), Agent(["a", "b", "c"], floor=0.1), []
    for each in some:
        seen.append(agent.propensities(each.context, ["a", "b", "c"])[each.action])
        agent.observe(each.context, each.action, each.reward)
    found = evaluate(some, Agent(["a", "b", "c"], floor=0.1))
    weights = np.array(seen) / [each.propensity for each in some]
    assert found.mean_weight == pytest.approx(weights.mean())
    assert found.dr == pytest.approx(found.scores.mean())


def test_what_the_log_expected_is_a_model_of_rewards():
    some = [
        Logged(e.context, e.action, e.propensity, 10 * e.reward, ["a", "b", "c"],
               {"a": 1.0, "b": 99.0, "c": 6.0})
        for e in log(60)
    ]  # fmt: skip
    found = evaluate(some, "b", reward_range=(0, 10))
    w = np.array([(e.action == "b") / 0.3 for e in some])
    robust = 10.0 + w * (np.array([e.reward for e in some]) - 10.0)  # 99 is beyond all rewards
    assert found.scores == pytest.approx(robust)
    part = [*some[:-1], Logged(some[-1].context, "b", 0.3, 0.0, ["a", "b", "c"], {"a": 1.0})]
    assert evaluate(part, "b", reward_range=(0, 10)).scores[0] != pytest.approx(robust[0])
