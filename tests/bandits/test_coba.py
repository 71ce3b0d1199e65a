"""What coba asks of a learner; coba itself is not needed."""

import pytest

from mixable.bandits.coba import Learner


@pytest.mark.parametrize("actions", [["a", "b"], [(1, 0), (0, 1)], [{"p": 1.0}, {"p": 2.0}]])
def test_a_learner_of_coba_learns(actions):
    learner = Learner(seed=1)
    for t in range(60):
        context = (t % 3, "x")
        action, probability, extra = learner.predict(context, actions)
        assert 0 < probability <= 1
        learner.learn(context, action, float(action == actions[1]), probability, **extra)
    chances = [learner.score((1, "x"), actions, action) for action in actions]
    assert sum(chances) == pytest.approx(1)
    assert chances[1] > 0.8
    assert learner.params == {"family": "mixable", "reward": "number", "seed": 1}


def test_a_learner_of_coba_learns_from_logs():
    learner = Learner()
    for _ in range(20):
        learner.learn(None, "a", 0.0, 0.5)
        learner.learn({"x": 1}, "b", 1.0, 0.5)
    assert learner.score(None, ["a", "b"], "b") > 0.5
