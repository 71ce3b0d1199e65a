"""Exponents of Table 1: recovered from laws that are known."""

import math

import numpy as np
import pytest

from mixable.paper.experiments import growth
from mixable.regret import best_in_hindsight


@pytest.mark.parametrize("exponent", [0.0, 0.5, 2.0])
def test_the_slope_is_the_exponent(exponent):
    sizes = (8, 32, 100)
    assert growth.slope(sizes, [3 * n**exponent for n in sizes]) == pytest.approx(exponent)


def test_the_stream_is_in_the_unit_ball_and_its_best_model_in_the_radius():
    X, y = growth.stream(3000, 2, 3, 4.0)
    assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
    assert set(y.tolist()) == {0, 1, 2}
    within, beyond = (best_in_hindsight(X, y, B, n_classes=3).loss for B in (5.0, 10.0))
    assert within - beyond < 5  # a norm of 4 is enough
    assert best_in_hindsight(X, y, 1.0, n_classes=3).loss - beyond > 50


class Uniform:
    """A forecaster whose time is d K^2, by a clock of its own."""

    clock = 0.0

    def __init__(self, d, K, B, n):
        self.seconds, self.K = 1e-6 * d * K**2, K

    def run(self, X, y):
        Uniform.clock += self.seconds * len(y)
        return np.full((len(y), self.K), 1 / self.K)


def test_exponents_of_a_known_law_are_found(monkeypatch):
    monkeypatch.setattr(growth.time, "process_time", lambda: Uniform.clock)
    law = growth.Algorithm(
        Uniform, "d K^2", "n", sizes=(4, 16, 64), classes=(2, 4, 8), lengths=(200, 800, 3200)
    )
    monkeypatch.setitem(growth.ALGORITHMS, "law", law)
    found = growth.measure("law", budget=1e-3)
    assert found.time_in_d == pytest.approx(1.0, abs=1e-6)
    assert found.time_in_k == pytest.approx(2.0, abs=1e-6)
    assert found.regret_in_n == pytest.approx(1.0, abs=0.2)  # ln 3 - the entropy, each time
    assert found.regret_in_b > 0.5
    assert math.isfinite(found.regret_in_b)
