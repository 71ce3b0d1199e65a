"""Many models at once: none notices the others."""

import threading

import numpy as np
import pytest
from streams import logistic_stream

import mixable as mx
from mixable import GAF

X, Y = logistic_stream(60, 4, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GAF(4, 3),
        lambda: GAF(4, 3, integrator=mx.integrals.MonteCarlo(8)),
        lambda: GAF(4, 3, surrogate="averaged"),
        lambda: GAF(4, 3, alpha=np.inf, drift=1e-3),
        lambda: GAF(4, 20, integrator="pairwise"),
    ],
)
def test_models_in_turn_are_models_one_by_one(make):
    """Others forecast between its forecast and its step."""
    alone, many = ([make() for _ in range(3)] for _ in range(2))
    for models in (alone, many):
        for i, model in enumerate(models):
            model.run(X[: 1 + 5 * i], Y[: 1 + 5 * i])  # they know different things
    for model in alone:
        for x, y in zip(X, Y, strict=True):
            model.predict(x)
            model.learn(x, int(y))
    for x, y in zip(X, Y, strict=True):
        for model in many:
            model.predict(x)
        for model in many:
            model.learn(x, int(y))
    for model, own in zip(many, alone, strict=True):
        np.testing.assert_array_equal(model.predict(X), own.predict(X))


def test_a_forecast_of_one_thread_is_learned_by_another():
    here, wanted = GAF(4, 3), GAF(4, 3)
    wanted.run(X, Y)
    for x, y in zip(X, Y, strict=True):
        thread = threading.Thread(target=here.predict, args=(x,))
        here.predict(-x)
        thread.start()
        thread.join()
        here.learn(x, int(y))
    np.testing.assert_array_equal(here.predict(X), wanted.predict(X))
