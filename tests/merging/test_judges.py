"""The judge of a pool: natural parameters around 1/N, and who is active."""

import numpy as np
from shards import PARTS, shards

from mixable import _core, merge
from mixable.experts.pool import combined_judge


def test_natural_parameters_add_around_the_prior():
    models = shards("Pool")
    merged = merge(models)._core.state()
    states = [model._core.state() for model in models]
    N = len(states[0]["0.A"])
    A = sum(state["0.A"] for state in states) - 2 * np.eye(N)
    linear = sum(state["0.A"] @ state["0.w"][0] for state in states) - 2 * np.full(N, 1 / N)
    np.testing.assert_allclose(merged["0.A"], A, rtol=1e-9)
    np.testing.assert_allclose(merged["0.w"][0], np.linalg.solve(A, linear), rtol=1e-9)
    assert merged["steps"] == sum(part.stop - part.start for part in PARTS)


def judge(left, alone):
    """One whose second expert is inactive, for `left` reviews; as RecordPool makes them."""
    made = _core.Judge(2, 3, 1.0, 1e-4, 1e-3, 1e-3, 0.005)
    p = np.random.default_rng(left).dirichlet(np.ones(3), size=(20, 2)).reshape(20, -1)
    made.run(p, np.arange(20) % 3, None)
    state = made.state()
    state.update({"activity.left": np.array([[0.0, left]]), "activity.alone": alone})
    made.restore(state)
    return made


def test_experts_are_inactive_if_they_are_in_all():
    new = _core.Judge(2, 3, 1.0, 1e-4, 1e-3, 1e-3, 0.005)

    def merged(*terms):
        return combined_judge(new, list(terms), new, lams=(1.0, 1.0), share=1e-3)

    both = merged(judge(3, 10), judge(7, 20))
    left, alone, steps = ("activity.left", "activity.alone", "steps")
    assert (both[left].tolist(), both[alone], both[steps]) == ([[0, 3]], 30, 40)
    one = merged(judge(3, 10), judge(0, 0))
    assert (one[left].tolist(), one[alone], one[steps]) == ([[0, 0]], 10, 40)
    for state in (both, one):  # what one did without begins anew
        assert state["0.w"][0, 1] == 0
        assert state["0.A"].tolist() == [[state["0.A"][0, 0], 0], [0, 1]]
        new.restore({**new.state(), **state})


def test_pools_of_files_with_a_weaker_prior_stay_regular():
    """What is taken away of each is today's prior, more than such a file began with."""
    new = _core.Judge(2, 3, 10.0, 1e-4, 1e-3, 1e-3, tie=16.0, quick=3.0)
    old = _core.Judge(2, 3, 3.0, 1e-4, 1e-3, 1e-3, tie=5.0)
    state = combined_judge(new, [old] * 4, new, lams=(10.0, 3.0), share=1e-3)
    assert np.linalg.eigvalsh(state["0.A"])[0] >= 9.9
    assert np.abs(state["0.w"]).max() < 2
