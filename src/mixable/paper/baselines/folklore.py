"""FOLKLORE: multiclass logistic regression with the regret of GAF and no sampling.

Agarwal, N., Kale, S. and Zimmert, J. (2022). Efficient methods for online multiclass logistic
regression. ALT.
"""

from __future__ import annotations

from mixable import _core, _validate
from mixable.experts.base import Parameter
from mixable.experts.compiled import PosteriorForecaster
from mixable.experts.structure import refuse_if_too_large
from mixable.paper import bounds
from mixable.paper.losses import Logistic


class Folklore(PosteriorForecaster):
    """Predicts at the point that hedges against all labels at once, as AIOLI does for two.

    The update is the corrected one: the paper prints it without the term that comes from expanding
    the surrogate at the prediction instead of at 0, and with a constant for which its lower bound
    fails (docs/forecasters/folklore.md).

    Parameters
    ----------
    n_features, n_classes
        Numbers of features d and of classes K >= 2.
    lam
        Strength of the regularisation, above 0: the penalty is lam |theta|^2.
    beta
        How much is learned from each label, as in GAF; the paper's c is beta / 2.
    drift
        Process noise: A^-1 += drift I after each example (not in the paper).
    structure
        What is kept of the Gaussian, as in GAF; only "full" has the bound.

    Examples
    --------
    >>> from mixable.datasets import load_vehicle
    >>> from mixable.losses import log_loss
    >>> X, y, _ = load_vehicle()
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> round(float(log_loss(Folklore(18, 4).run(X, y), y).mean()), 2)
    0.65
    """

    beta = Parameter(_validate.real, above=0)
    drift = Parameter(_validate.real, least=0)

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        lam: float = 0.1,
        beta: float = 1.0,
        drift: float = 0.0,
        structure: str = "full",
    ) -> None:
        self._keep(locals())
        _validate.drift(self.drift, self.lam)
        d, K = self.n_features, self.n_classes
        refuse_if_too_large(self, K, [(self.structure, self.drift)])
        options = self.lam, self.beta, self.drift
        if self.structure == "full":
            self._core = _core.Folklore(d, K, *options)
        else:
            self._core = _core.StructuredFolklore(d, K, self.structure, *options)

    @classmethod
    def from_theory(
        cls,
        n_features: int,
        n_classes: int,
        *,
        radius: float,
        bound: float,
        horizon: int | None = None,
        constants: str = "paper",
    ) -> Folklore:
        """Return the forecaster of `bounds.folklore`.

        beta of (A3), and lam with the least bound over `horizon` examples; R^2 if that is None.

        >>> Folklore.from_theory(18, 4, radius=5.0, bound=2.0).lam
        4.0
        """
        radius, bound = _validate.scale(radius, "radius"), _validate.scale(bound, "bound")
        K = _validate.count(n_classes, "n_classes", least=2)
        lam = bound**2
        if horizon is not None:
            _validate.count(horizon, "horizon")
            lam = bounds.folklore(horizon, n_features, K, radius, bound, constants=constants).lam
        beta = Logistic(K).constants(radius, bound, kind=constants).beta
        return cls(n_features, K, lam=lam, beta=beta)
