"""Forecasts are scored many at a time; the bits are those of one at a time."""

import numpy as np
import pytest
from serve_command import same_models, served_model

from mixable.serving import scored


def filled(n, ask):
    """A model with n forecasts of a growing number of classes; `ask` says when scores are read."""
    rng, model = np.random.default_rng(0), served_model()
    for label in "abc":
        model.learner.add_label(label)
    for t in range(n):
        known = min(t // 3, 3)  # the first label is not known to its forecast
        p = rng.dirichlet(np.ones(known)).tolist() if known else []
        model.score(p, int(rng.integers(min(known + 1, 3))))
        if ask(t):
            assert model.scores.n == model.progress.n == t + 1
    return model


@pytest.mark.parametrize("n", [1, 10, 2 * scored.UNSCORED + 3])
def test_it_does_not_matter_when_scores_are_asked_for(n):
    never, always, sometimes = (
        filled(n, ask) for ask in (lambda _: 0, lambda _: 1, lambda t: t % 7)
    )
    assert same_models(never, always)
    assert same_models(never, sometimes)
    assert never.counts["learned"] == never.scores.n == n


def test_few_forecasts_are_kept_unscored():
    model = filled(5 * scored.UNSCORED, lambda _: 0)
    assert 0 < len(model._unscored) <= scored.UNSCORED
