"""The hard regime: its picture, and its leaders."""

import numpy as np
import pytest
from command_line import mixable

from mixable import regret
from mixable.datasets import make_hazan
from mixable.experiments import hard_regime


def test_hard_regime_draws_its_picture(tmp_path):
    done = mixable("hard-regime", "--largest", 300, "--seeds", 1, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "hard-regime.png").read_bytes().startswith(b"\x89PNG")
    for name in hard_regime.FORECASTERS:
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
