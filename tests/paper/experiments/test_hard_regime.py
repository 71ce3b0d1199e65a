"""The hard regime: its picture, and its leaders."""

import numpy as np
import pytest
from command_line import mixable

from mixable import regret
from mixable.datasets import make_hazan
from mixable.paper.experiments import hard_regime


def test_hard_regime_draws_its_picture(tmp_path):
    done = mixable("hard-regime", "--largest", 300, "--seeds", 1, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "hard-regime.png").read_bytes().startswith(b"\x89PNG")
    for name in (*hard_regime.FORECASTERS, "worst eps"):
        assert name in done.stdout
    (tmp_path / "file").write_text("")
    refused = mixable("hard-regime", "--largest", 100, "--seeds", 1, "--out", tmp_path / "file")
    assert refused.returncode == 2
    assert "cannot write" in refused.stderr


def test_hard_regime_leaders_are_the_fits_they_claim():
    """The shortcut for this stream against best_in_hindsight, in margin coordinates."""
    X, y = make_hazan(400, 1, seed=2, eps=0.1)
    w = hard_regime.leaders(X, y, 0.0, 5.0)
    for t in (50, 400):
        best = regret.best_in_hindsight(X[:t], y[:t], 5.0 / np.sqrt(2), n_classes=2)
        assert hard_regime.losses(w[t : t + 1], X[:t], y[:t]).sum() == pytest.approx(
            best.loss, abs=1e-7
        )
    regularised = hard_regime.leaders(X, y, 1.0, 5.0)[-1]
    nearby = regularised + np.linspace(-0.1, 0.1, 21)
    values = [v**2 + hard_regime.losses(np.array([v]), X, y).sum() for v in nearby]
    assert np.argmin(values) == 10


def test_eps_tuned_to_n_is_the_worst_of_three_and_its_exponent_is_that_of_a_known_law():
    tuned = {each.forecaster: each for each in hard_regime.tuned_regrets(300, 1)}
    scale = (np.log(300) / 300) ** (2 / 3)
    for factor in hard_regime.TUNED:
        for each in hard_regime.regrets(300, min(factor * scale, 0.25), 1):
            assert each.regret <= tuned[each.forecaster].regret
    law = [
        hard_regime.Result(forecaster="OGD", eps=None, n=n, regret=2 * n**0.4)
        for n in (100, 1000, 10_000, 100_000)
    ]
    assert hard_regime.slope(law, "OGD") == pytest.approx(0.4)
