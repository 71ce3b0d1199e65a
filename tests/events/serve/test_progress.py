"""Progress: losses add up however blocks are merged; calibration is that of the forecasts."""

import numpy as np
import pytest
from streams import share

from mixable import metrics
from mixable.events.serve.progress import BINS, BLOCKS, Progress


def forecasts(n, K=3, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(K), n)
    return p, np.array([rng.choice(K, p=row) for row in p])


def filled(n):
    p, y = forecasts(n)
    progress = Progress()
    for row, code in zip(p.tolist(), y.tolist(), strict=True):
        progress.add(row, code)
    return progress, p, y


@pytest.mark.parametrize("n", [1, 127, 128, 1000])
def test_losses_of_blocks_add_up(n):
    progress, p, y = filled(n)
    losses = -np.log(p[np.arange(n), y])
    assert progress.n == n
    history = progress.history()
    assert len(history) <= BLOCKS
    begin = 0
    for end, loss, _ in history:
        assert loss == pytest.approx(losses[begin:end].mean())
        begin = end
    assert n - begin <= progress.length / 2


def test_the_baseline_is_the_rates_of_the_classes_so_far():
    progress, _, y = filled(300)
    expected = [-np.log((np.count_nonzero(y[:t] == y[t]) + 0.5) / (t + 1.5)) for t in range(len(y))]
    assert progress.baseline == pytest.approx(np.mean(expected))


def test_the_baseline_of_a_late_label_has_the_rates_of_its_forecast():
    progress, now = Progress(), Progress()
    for each in (progress, now):
        for _ in range(90):
            each.add([0.5, 0.5], 0)
    before = progress.baseline
    progress.add([0.5, 0.5], 1, rates=[])
    now.add([0.5, 0.5], 1)
    assert 91 * progress.baseline - 90 * before == pytest.approx(np.log(2))
    assert 91 * now.baseline - 90 * before == pytest.approx(np.log(91 / 0.5))
    assert progress.rates == now.rates == [90, 1]


def test_a_label_that_was_not_known_costs_both_the_same():
    progress = Progress()
    progress.add([], 0)
    progress.add([1.0], 1)
    assert progress.baseline == pytest.approx(-np.log(metrics.LEAST))
    assert [loss for _, loss, _ in progress.history()] == pytest.approx([progress.baseline] * 2)
    progress.add([0.5, 0.5], 1)
    assert progress.n == 3


def test_calibration_is_that_of_the_forecasts_of_each_class():
    progress, p, y = filled(500)
    for c in range(3):
        bins = np.minimum((p[:, c] * BINS).astype(int), BINS - 1)
        expected = [
            (p[bins == b, c].mean(), share(y[bins == b] == c), np.count_nonzero(bins == b))
            for b in range(BINS)
            if (bins == b).any()
        ]
        np.testing.assert_allclose(progress.calibration(c), expected)
        distances = [n * abs(mean - rate) for mean, rate, n in expected]
        assert progress.calibration_error(c) == pytest.approx(sum(distances) / 500)
    assert progress.calibration(7) == []


def test_it_goes_on_from_its_state():
    progress, p, y = filled(200)
    twin = Progress.restored(progress.state(), 3)
    for each in (progress, twin):
        each.add(p[0].tolist(), int(y[0]))
    assert twin.history() == progress.history()
    assert twin.calibration(1) == progress.calibration(1)
    assert twin.baseline == progress.baseline


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("length", lambda _: 0),
        ("blocks", lambda blocks: -blocks),
        ("blocks", lambda blocks: blocks[:-1]),
        ("blocks", lambda _: np.ones((BLOCKS, 2))),
        ("open", lambda each: each + 1e9),
        ("rates", lambda rates: rates + 1),
        ("rates", lambda rates: np.append(rates, 0)),
        ("bins", lambda bins: bins[:, :3]),
        ("bins", lambda bins: bins * np.nan),
    ],
)
def test_states_that_do_not_add_up_are_refused(name, change):
    state = filled(200)[0].state()
    with pytest.raises((ValueError, TypeError)):
        Progress.restored({**state, name: change(state[name])}, 3)
