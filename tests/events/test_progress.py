"""Progress: losses add up however blocks are merged; baselines know what was known."""

import math

import numpy as np
import pytest

from mixable import metrics
from mixable.events.progress import BLOCKS, Frequencies, Progress, RunningMean


def filled(n, seed=0):
    rng = np.random.default_rng(seed)
    losses, codes = rng.random(n), rng.integers(3, size=n)
    progress = Progress(Frequencies())
    for loss, code in zip(losses.tolist(), codes.tolist(), strict=True):
        progress.add(loss, progress.baseline.loss(code, 3, None))
    return progress, losses, codes


@pytest.mark.parametrize("n", [1, 127, 128, 1000])
def test_losses_of_blocks_add_up(n):
    progress, losses, _ = filled(n)
    assert progress.n == n
    history = progress.history()
    assert len(history) <= BLOCKS
    begin = 0
    for end, loss, _ in history:
        assert loss == pytest.approx(losses[begin:end].mean())
        begin = end
    assert n - begin <= progress.length / 2
    assert progress.mean()[0] == pytest.approx(losses.mean())


def test_the_last_tenth_is_a_tenth_or_a_little_more():
    progress = Progress(Frequencies())
    for t in range(1000):
        progress.add(1.0 if t < 880 else 0.25, progress.baseline.loss(0, 1, None))
    assert progress.mean(0.1)[0] == 0.25
    assert progress.mean()[0] == pytest.approx(0.91)


def test_the_baseline_of_labels_is_their_frequencies_so_far():
    progress, _, y = filled(300)
    expected = [-np.log((np.count_nonzero(y[:t] == y[t]) + 0.5) / (t + 1.5)) for t in range(len(y))]
    assert progress.mean()[1] == pytest.approx(np.mean(expected))


def test_the_baseline_of_a_late_label_knows_what_was_known_at_its_forecast():
    baseline = Frequencies()
    for _ in range(90):
        baseline.loss(0, 2, None)
    assert baseline.loss(1, 2, ()) == pytest.approx(np.log(2))
    assert baseline.loss(1, 2, None) == pytest.approx(np.log(92 / 1.5))
    assert baseline.now() == (90, 2)


def test_a_label_that_was_not_known_costs_what_metrics_say():
    baseline = Frequencies()
    assert baseline.loss(0, 0, None) == pytest.approx(-np.log(metrics.LEAST))
    assert baseline.loss(1, 1, None) == pytest.approx(-np.log(metrics.LEAST))


def test_the_baseline_of_numbers_is_the_normal_of_those_so_far():
    baseline, y = RunningMean(), np.random.default_rng(0).normal(3, 2, 50)
    losses = [baseline.loss(each, 2, None) for each in y.tolist()]
    assert math.isnan(losses[0])
    expected = metrics.crps(y[:30].mean(), y[:30].std(), y[30])
    assert losses[30] == pytest.approx(expected)
    assert baseline.loss(1.0, 2, (4.0, 1.0, 0.0)) == 0


@pytest.mark.parametrize("baseline", [Frequencies, RunningMean])
def test_it_goes_on_from_its_state(baseline):
    progress, twin = Progress(baseline()), Progress(baseline())
    for t in range(200):
        expected = progress.baseline.loss(t % 3, 3, None)
        progress.add(t % 7, expected if t else 1.0)
    twin.restore(progress.state())
    for each in (progress, twin):
        each.add(0.5, each.baseline.loss(1, 3, None))
    assert twin.history() == progress.history()
    assert twin.baseline.now() == progress.baseline.now()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("length", lambda _: 0),
        ("blocks", lambda blocks: -blocks),
        ("blocks", lambda _: np.ones((BLOCKS, 2))),
        ("open", lambda each: each + 1e9),
        ("baseline", lambda counts: counts - 1000),
        ("baseline", lambda counts: counts * 0),
        ("baseline", lambda counts: counts + 0.5),
    ],
)
def test_states_that_do_not_add_up_are_refused(name, change):
    state = filled(200)[0].state()
    with pytest.raises((ValueError, TypeError)):
        Progress(Frequencies()).restore({**state, name: change(state[name])})


def test_crps_is_the_integral_of_the_squared_distance():
    from scipy.stats import norm

    x = np.linspace(-30, 30, 600_001)
    for mean, std, y in ((0.0, 1.0, 0.3), (2.0, 0.5, -1.0), (-1.0, 3.0, 4.0)):
        gap = (norm.cdf(x, mean, std) - (x >= y)) ** 2
        assert metrics.crps(mean, std, y) == pytest.approx(np.trapezoid(gap, x), abs=1e-4)
    assert metrics.crps(1.0, 0.0, 3.0) == 2.0
