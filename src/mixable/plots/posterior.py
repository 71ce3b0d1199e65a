"""What a linear forecaster knows of two weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mixable import _validate
from mixable.plots.drawing import axes_of, finish, line_style, named_lines, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mixable.experts.gaf import GAF

HELD = ((0.5, 1.0), (0.9, 0.5))  # shares of the probability within an ellipse, and its opacity


def posterior(
    forecaster: GAF,
    columns: tuple[int, int] = (0, 1),
    *,
    labels: tuple[int, int] = (1, 0),
    name: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the posterior of two weights: ellipses that hold 50% and 90% of the probability.

    The weights are those of the margin between two labels, which is the logarithm of the ratio of
    their probabilities: where a weight is above 0, a larger input speaks for the first label. The
    ellipses shrink as examples come.

    Parameters
    ----------
    forecaster
        A `GAF` with the full structure and a finite alpha.
    columns
        The two inputs whose weights are drawn.
    labels
        The margin is that of the first against the second.
    name
        What the legend calls the posterior; None: the number of examples learned.

    Examples
    --------
    >>> import mixable as mx
    >>> f = mx.GAF(n_features=2, n_classes=2)
    >>> for x in ([1.0, 0.5], [2.0, -1.0], [1.5, 0.0]):
    ...     f.learn(x, 1)
    >>> ax = mx.plots.posterior(f)
    >>> [line.get_label() for line in ax.lines if line.get_label()[0] != "_"]
    ['after 3 examples']
    """
    K, d = forecaster.n_classes, forecaster.n_features
    precision = forecaster.precision()
    if precision.shape != (K * d, K * d) or not np.isfinite(forecaster.alpha):
        raise ValueError('the forecaster must have structure="full" and a finite alpha')
    pair = [_validate.count(each, "columns", least=0, most=d - 1) for each in columns]
    first, second = (_validate.count(each, "labels", least=0, most=K - 1) for each in labels)
    margin = np.zeros((2, K, d))
    margin[[0, 1], first, pair] += 1.0
    margin[[0, 1], second, pair] -= 1.0
    rows = margin.reshape(2, K * d)
    mean = rows @ forecaster.coef.ravel()
    # theta ~ N(theta_t, A^-1 / (2 alpha))
    root = np.linalg.cholesky(rows @ np.linalg.solve(2 * forecaster.alpha * precision, rows.T))
    turn = np.linspace(0, 2 * np.pi, 200)
    circle = np.array([np.cos(turn), np.sin(turn)])
    ax = axes_of(ax)
    style: dict[str, Any] = line_style(len(named_lines(ax)))
    label = words(f"after {forecaster.steps} examples" if name is None else name)
    ax.plot(*mean, "o", color=style["color"], markersize=4)
    for share, alpha in HELD:
        ellipse = mean[:, None] + np.sqrt(-2 * np.log1p(-share)) * root @ circle
        ax.plot(*ellipse, **style, alpha=alpha, label=label if share == HELD[0][0] else None)
    ax.set(xlabel=f"weight of input {pair[0]}", ylabel=f"weight of input {pair[1]}")
    finish(ax)
    return ax
