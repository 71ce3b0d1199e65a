"""The race against the peers (benchmarks/peers.py): its score, and that forecasts are made before
learning, on a few rows.
"""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

spec = importlib.util.spec_from_file_location(
    "peers", Path(__file__).parent.parent / "benchmarks" / "peers.py"
)
peers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peers)

STREAM = peers.Stream("two", np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2, 2)


def test_what_is_no_forecast_costs_as_much_as_an_unknown_class():
    stream = peers.Stream("three", np.zeros((4, 1)), np.array([0, 1, 1, 2]), 3)
    got = peers.scores([{}, {0: 1.0}, {0: math.nan, 1: 0.5}, np.array([0.0, 0.0, 2.0])], stream)
    assert got["log_loss"] == pytest.approx(
        (3 * math.log(3 / 0.001) - math.log(0.999 + 0.001 / 3)) / 4
    )
    assert got["accuracy"] == 0.25


@pytest.mark.parametrize(
    "peer",
    [*peers.MIXABLE, *(peer for peer in peers.PEERS if peer.package != "vowpalwabbit")],
    ids=lambda peer: peer.name,
)
def test_forecasts_do_not_know_their_labels(peer):
    """Another last label does not change the forecast of the last row."""

    def forecasts(stream):
        events, step = peer.begin(stream, {})
        return [step(event) for event in events]

    other = STREAM._replace(y=np.append(STREAM.y[:-1], 1 - STREAM.y[-1]))
    first, second = forecasts(STREAM)[-1], forecasts(other)[-1]
    assert len(first) == 2
    assert (first == second) if isinstance(first, dict) else np.array_equal(first, second)
