"""The judge of a pool: natural parameters around 1/N, and who rests."""

import copy

import numpy as np
from shards import PARTS, shards

from mixable import merge


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


def resting(model, left, alone):
    made = copy.deepcopy(model)
    state = made._core.state()
    state.update({"rest.left": left, "rest.idle": 2, "rest.alone": alone})
    made._core.restore(state)
    return made


def test_experts_rest_if_they_do_in_all():
    a, b, _ = shards("Pool")
    both = merge([resting(a, 3, 10), resting(b, 7, 20)])._core.state()
    assert (both["rest.left"], both["rest.alone"]) == (3, 30)
    one = merge([resting(a, 3, 10), b])._core.state()
    assert (one["rest.left"], one["rest.alone"]) == (0, 10)
