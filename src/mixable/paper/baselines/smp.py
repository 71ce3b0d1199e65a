"""The sample minmax predictor: one refit for every label.

Mourtada, J. and Gaiffas, S. (2022). An improper estimator with optimal excess risk in misspecified
density estimation and logistic regression. JMLR 23.
"""

from __future__ import annotations

import numpy as np

from mixable._types import Array
from mixable.paper.baselines.ftrl import FTRL
from mixable.paper.fit import fit
from mixable.paper.integrals import helmert, softmax


class SMP(FTRL):
    """The sample minmax predictor: each label's probability under the fit that has it added.

    p(y | x) is proportional to p_{theta(x, y)}(y | x), theta(x, y) the fit with (x, y). Improper,
    with a fast rate on i.i.d. data and none for arbitrary sequences. Each prediction costs
    n_classes refits.

    Examples
    --------
    >>> f = SMP(n_features=2, n_classes=3)
    >>> f.learn([1.0, -1.0], 2)
    >>> f.predict([1.0, -1.0]).round(3)          # less sure than FTRL
    array([0.254, 0.254, 0.491])
    """

    def _forecast(self, x: Array) -> Array:
        Q = helmert(self.n_classes)
        p, tiny = np.empty(self.n_classes), np.finfo(float).tiny
        for label in range(self.n_classes):
            X, y, w = self._with(x, label, 1.0)
            p[label] = softmax(Q @ fit(X, y, w, self.lam, self._V) @ x)[label]
        p = np.maximum(p, tiny)  # all may have underflowed
        return np.asarray(np.maximum(p / p.sum(), tiny))
