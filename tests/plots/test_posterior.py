"""The posterior of two weights: the ellipses hold what they say."""

import matplotlib
import numpy as np
import pytest

import mixable as mx
from mixable import plots

matplotlib.use("Agg")


@pytest.mark.parametrize(("columns", "labels"), [((0, 1), (1, 0)), ((2, 0), (0, 2))])
def test_ellipses_hold_their_share_of_the_posterior(columns, labels):
    rng = np.random.default_rng(0)
    f = mx.GAF(n_features=3, n_classes=3, alpha=3.0)
    f.run(rng.normal(size=(40, 3)), rng.integers(0, 3, 40))
    ax = plots.posterior(f, columns, labels=labels)
    centre, half, most = (line.get_xydata() for line in ax.lines)
    logits = f.sample(np.eye(3), 20_000, random_state=1)  # (n, input, class): the weights
    margin = (logits[..., labels[0]] - logits[..., labels[1]])[:, list(columns)]
    assert centre[0] == pytest.approx((f.coef[labels[0]] - f.coef[labels[1]])[list(columns)])
    for ellipse, share in ((half, 0.5), (most, 0.9)):
        inside = matplotlib.path.Path(ellipse).contains_points(margin).mean()
        assert abs(inside - share) < 4 * np.sqrt(share * (1 - share) / 20_000)
    assert ax.get_xlabel() == f"weight of input {columns[0]}"


def test_each_posterior_has_a_name_and_a_style():
    f = mx.GAF(n_features=2, n_classes=2)
    ax = plots.posterior(f, name="before")
    f.learn([1.0, 0.0], 1)
    plots.posterior(f, ax=ax)
    lines = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert [line.get_label() for line in lines] == ["before", "after 1 examples"]
    assert lines[0].get_color() != lines[1].get_color()
