"""The Gaussian Aggregating Forecaster for multiclass logistic regression.

Jezequel, R., Gaillard, P. and Rudi, A. (2021). Mixability made efficient: Fast online multiclass
logistic regression. NeurIPS.
"""

from __future__ import annotations

from typing import Any

from mixable import _core, _validate, bounds, integrals
from mixable.forecasters.base import Parameter
from mixable.forecasters.compiled import PosteriorForecaster, with_structure
from mixable.forecasters.structure import checked_structure, refuse_if_too_large
from mixable.losses import Logistic


class GAF(PosteriorForecaster):
    """Efficient-GAF, Algorithm 1 of the paper: calibrated probabilities, no learning rate.

    It keeps a Gaussian over the weights, the exponential weights of past losses replaced by
    quadratic surrogates (Eq. 3) at the regularised leader (Eq. 2), and predicts the mean of softmax
    under it (Eqs. 4 and 5). A step costs of the order of K (K d)^2 operations; memory is two
    matrices of (K-1) d squared, and somewhat more where K is much larger than d. A `structure`
    makes both smaller.

    Parameters
    ----------
    n_features, n_classes
        Sizes d and K >= 2. There is no intercept: add a column of ones if you want one.
    lam
        Regularisation, lam |theta|^2. It scales as the square of the inputs: |x|^2 / lam up to
        about 1e10 keeps full accuracy, and beyond 1e15 inputs are refused.
    beta
        Curvature of the surrogates. At most the constant of (A3) in theory; about 1 in practice.
    alpha
        The posterior is N(theta, A^-1 / (2 alpha)): 1 is the paper's, larger hedges less, infinity
        predicts with theta itself.
    mu
        The share of the uniform distribution mixed into each prediction.
    drift
        Process noise q: A^-1 += q I after each example, for streams that change. It scales as the
        inverse square of the inputs.
    structure
        What is kept of the Gaussian. "full" is the paper's. "blocks" keeps a d x d block for each
        class, "shared" one block for all classes, "diagonal" a variance for each weight. A step
        costs of the order of K d^2, d^2 + K d and K d operations. They have no bound.
    integrator
        How the mean of softmax is taken: an object or the name of a class of `mixable.integrals`.
        None is `Quadrature()` for two classes and `Sobol(128, most=16384)` for more;
        `MonteCarlo(m)` is the paper's. With structure it is `Pairwise()`.
    seed
        Seeds the integrator's points.

    Notes
    -----
    A forecaster may be used from one thread at a time; different ones from many, since the GIL is
    released in `run` and in long steps.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> theta = np.array([[2, 0, -1], [-1, 2, 0], [0, -1, 2]])
    >>> y = (X @ theta.T + rng.gumbel(size=(500, 3))).argmax(axis=1)
    >>> f = GAF(n_features=3, n_classes=3)
    >>> p = f.run(X, y)  # row t is predicted from the rows before t
    >>> round(float(-np.log(p[np.arange(500), y]).mean()), 2), round(float(np.log(3)), 2)
    (0.56, 1.1)
    >>> f.predict(X[0]).round(2)
    array([0.15, 0.15, 0.7 ])
    >>> f.learn(X[0], 1)
    """

    beta = Parameter[float]()
    alpha = Parameter[float]()
    mu = Parameter[float]()
    drift = Parameter[float]()
    integrator = Parameter["integrals.Integrator | str | None"]()
    seed = Parameter[int]()

    def __init__(
        self,
        n_features: int,
        n_classes: int,
        *,
        lam: float = 0.1,
        beta: float = 1.0,
        alpha: float = 1.0,
        mu: float = 1e-6,
        drift: float = 0.0,
        structure: str = "full",
        integrator: integrals.Integrator | str | None = None,
        seed: int = 0,
    ) -> None:
        self._parameters: dict[str, Any] = {
            "n_features": _validate.count(n_features, "n_features"),
            "n_classes": _validate.count(n_classes, "n_classes", least=2),
            "lam": _validate.regulariser(lam),
            "beta": _validate.real(beta, "beta", above=0),
            "alpha": _validate.mixability(alpha, "alpha"),
            "mu": _validate.real(mu, "mu", least=0, most=0.5),
            "drift": _validate.drift(drift, lam),
            "structure": checked_structure(structure),
            "integrator": integrator,
            "seed": _validate.count(seed, "seed", least=0),
        }
        d, K = self.n_features, self.n_classes
        refuse_if_too_large(self, K, [(self.structure, self.drift)])
        options = self.lam, self.beta, self.alpha, self.mu, self.drift
        if self.structure == "full":
            self._core = _core.GAF(d, K, *options, integrals.ladder(integrator, K, self.seed))
            return
        default = integrals.Pairwise() if integrator is None else integrator
        if integrals.choose(default, K) != integrals.Pairwise():
            raise ValueError(
                f'integrator must be None or Pairwise() with structure="{structure}", which is '
                f"read in closed form, got {integrator!r:.80}"
            )
        self._core = _core.StructuredGAF(d, K, self.structure, *options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(with_structure(state))

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
        integrator: integrals.Integrator | str | None = None,
        seed: int = 0,
    ) -> GAF:
        """Return the forecaster of Theorem 1.

        For comparators of norm at most `radius` and inputs of norm at most `bound`: alpha = 1, beta
        of (A3), lam >= max(4, dimension) zeta. `constants` is "paper" (dimension d K) or "tight"
        (`Logistic.constants`, dimension d (K-1), since the direction common to all classes never
        matters). With a `horizon` n, lam has the least bound over n examples, `bounds.gaf(n, ...,
        constants=constants)`, and mu = 1/n: smoothing then costs at most 2 nats in all; without,
        lam is the least allowed and mu = 0, for `bounds.gaf(n, ..., constants=constants, lam=lam)`.
        The bound is for exact expectations: those of two classes are, for more see
        `bounds.proposition3`. On benign streams these values are too cautious to be competitive.

        >>> f = GAF.from_theory(18, 4, radius=5.0, bound=1.0, horizon=10_000)
        >>> f.lam, round(f.beta, 4), f.mu
        (288.0, 0.1494, 0.0001)
        """
        d = _validate.count(n_features, "n_features")
        K = _validate.count(n_classes, "n_classes", least=2)
        radius, bound = _validate.scale(radius, "radius"), _validate.scale(bound, "bound")
        values = Logistic(K).constants(radius, bound, kind=constants)
        lam, mu = bounds.theory_lam(bounds.dimension(d, K, constants), values), 0.0
        if horizon is not None:
            mu = 1.0 / max(_validate.count(horizon, "horizon"), 2)
            lam = bounds.gaf(horizon, d, K, radius, bound, constants).lam
        return cls(
            d,
            K,
            lam=lam,
            beta=values.beta,
            alpha=values.alpha,
            mu=mu,
            integrator=integrator,
            seed=seed,
        )
