"""The Gaussian Aggregating Forecaster for multiclass logistic regression.

Jezequel, R., Gaillard, P. and Rudi, A. (2021). Mixability made efficient: Fast online multiclass
logistic regression. NeurIPS.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _core, _validate
from mixable._types import Array
from mixable.experts.base import Parameter, logits
from mixable.experts.compiled import PosteriorForecaster, with_structure
from mixable.experts.structure import MET, UNKNOWN, refuse_if_too_large
from mixable.paper import bounds, integrals
from mixable.paper.losses import Logistic
from mixable.paper.surrogates import BY_POINTS, CoreByPoints, checked_surrogate


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
        Numbers of features d and of classes K >= 2. There is no intercept: add a column of ones if
        you want one.
    lam
        Strength of the regularisation, above 0: the penalty is lam |theta|^2, so that larger ones
        keep weights smaller. It scales as the square of the inputs: |x|^2 / lam up to about 1e10
        keeps full accuracy, and beyond 1e15 inputs are refused.
    beta
        How much is learned from each label, above 0: the curvature of the quadratic that stands for
        its loss, as a multiple of the loss's own. About 1 in practice; in theory at most the
        constant of (A3).
    alpha
        How far forecasts hedge: they are averages over the posterior N(theta, A^-1 / (2 alpha)). 1
        is the paper's, larger ones hedge less, infinity predicts with theta itself.
    mu
        The share of the uniform distribution mixed into each prediction, so that no probability is
        0. At least 0 and below 1.
    drift
        How fast the best weights may move, at least 0, for streams that change: A^-1 += q I after
        each example. It scales as the inverse square of the inputs.
    structure
        What is kept of the Gaussian. "full" is the paper's. "blocks" keeps a d x d block for each
        class, "shared" one block for all classes, "diagonal" a variance for each weight. A step
        costs of the order of K d^2, d^2 + K d and K d operations. They have no bound.
    integrator
        How the mean of softmax is taken: an object or the name of a class of `mixable.integrals`.
        None is `Quadrature()` for two classes and `Sobol(128, most=16384)` for more;
        `MonteCarlo(m)` is the paper's. With structure it is `Pairwise()`.
    seed
        Seeds the integrator's points. None draws a secret seed from the operating system, once:
        what `MonteCarlo` proves against an adversary needs points that the adversary does not know.
        The seed is saved with the model, so that forecasts stay a function of what was learned; who
        can read `seed`, or the file, knows the points.
    surrogate
        What replaces a loss once it was learned. "tangent" is the paper's, at the next theta.
        "variational" takes gradient and curvature on average over the new Gaussian, so that this is
        the nearest one to the true posterior; "moments" gives it the true posterior's mean and
        covariance. Both average over points (quadrature for two classes, 128 of Sobol's for more)
        and run in NumPy: milliseconds an example. "averaged" is "variational" with averages in
        closed form, to 0.01 of a deviation, and as fast as "tangent". All three need the full
        posterior; they have no bound.

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

    beta = Parameter(_validate.real, above=0)
    alpha = Parameter(_validate.mixability)
    mu = Parameter(_validate.real, least=0, most=0.5)
    drift = Parameter(_validate.real, least=0)
    integrator = Parameter["integrals.Integrator | str | None"]()
    seed = Parameter(_validate.seed)
    surrogate = Parameter(checked_surrogate)

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
        seed: int | None = 0,
        surrogate: str = "tangent",
    ) -> None:
        self._keep(locals())
        _validate.drift(self.drift, self.lam)
        d, K = self.n_features, self.n_classes
        refuse_if_too_large(self, K, [(self.structure, self.drift)])
        options = self.lam, self.beta, self.alpha, self.mu, self.drift
        if self.structure == "full":
            rungs, name = integrals.ladder(integrator, K, self.seed), self.surrogate
            if name in BY_POINTS:
                self._core = CoreByPoints(
                    d, K, *options, rungs=rungs, surrogate=name, seed=self.seed
                )
            else:
                self._core = _core.GAF(d, K, *options, rungs, averaged=name == "averaged")
            return
        if self.surrogate != "tangent":
            raise ValueError(f'surrogate="{surrogate}" needs structure="full", got "{structure}"')
        default = integrals.Pairwise() if integrator is None else integrator
        if integrals.choose(default, K) != integrals.Pairwise():
            raise ValueError(
                f'integrator must be None or Pairwise() with structure="{structure}", which is '
                f"read in closed form, got {integrator!r:.80}"
            )
        self._core = _core.StructuredGAF(d, K, self.structure, *options)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(with_structure(state))

    def sample(self, x: ArrayLike, n: int = 1, random_state: Any = None) -> Array:
        """Draws (n, n_classes) of the logits of an input (n_features,), from the posterior.

        Each draw has its own weights theta ~ N(theta_t, A^-1 / (2 alpha)), and sums to 0 over the
        classes. Of a table of m rows, (n, m, n_classes): the rows of a draw have the same weights.
        It changes nothing. The weights' covariance is factorised, so it costs (K d)^3 operations.

        Parameters
        ----------
        x
            An input, or a table of them.
        n
            Number of draws.
        random_state
            None, a seed, or a `numpy.random.Generator`.

        Examples
        --------
        >>> f = GAF(2, 3)
        >>> f.learn([1.0, 0.0], 2)
        >>> f.sample([1.0, 0.0], 1000, random_state=0).mean(axis=0).round(1)
        array([-0.6, -0.6,  1.3])
        """
        rows = _validate.inputs(x, self.n_features)
        count, rng = _validate.count(n, "n"), np.random.default_rng(random_state)
        weights = self._gaussian().draws(count, 0.5 / self.alpha, rng)
        return logits(weights, rows, self.n_classes)

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
        seed: int | None = 0,
    ) -> GAF:
        """Return the forecaster of Theorem 1.

        For comparators of norm at most `radius` and inputs of norm at most `bound`: alpha = 1, beta
        of (A3), lam >= max(4, dimension) zeta. `constants` is "paper" (dimension d K) or "tight"
        (`Logistic.constants`, dimension d (K-1), since the direction common to all classes never
        matters); "sharp" is the forecaster of another theorem, `bounds.sharp`, for any lam, with a
        far smaller bound. With a `horizon` n, lam has the least bound over n examples,
        `bounds.gaf(n, ..., constants=constants)`, and mu = 1/n: smoothing then costs at most 2 nats
        in all; without, lam is the least allowed ("sharp": `bound` squared) and mu = 0, for
        `bounds.gaf(n, ..., constants=constants, lam=lam)`. The bound is for exact expectations.
        Those of two classes are. For three and four classes the default is
        `integrals.Certified()`, proved to 1e-5 nats an example; for more it is
        `integrals.Envelope()`, which may lose `bounds.envelope` nats more. On benign streams these
        values are too cautious to be competitive.

        >>> f = GAF.from_theory(18, 4, radius=5.0, bound=1.0, horizon=10_000)
        >>> f.lam, round(f.beta, 4), f.mu
        (288.0, 0.1494, 0.0001)
        """
        d = _validate.count(n_features, "n_features")
        K = _validate.count(n_classes, "n_classes", least=2)
        radius, bound = _validate.scale(radius, "radius"), _validate.scale(bound, "bound")
        alpha, mu = 1.0, 0.0
        if constants == "sharp":
            lam, beta = bound**2, bounds.largest_beta(K, radius * bound)
        else:
            values = Logistic(K).constants(radius, bound, kind=constants)
            lam = bounds.theory_lam(bounds.dimension(d, K, constants), values)
            alpha, beta = values.alpha, values.beta
        if horizon is not None:
            mu = 1.0 / max(_validate.count(horizon, "horizon"), 2)
            lam = bounds.gaf(horizon, d, K, radius, bound, constants).lam
        chosen = integrals.choose_proved(integrator, K)
        return cls(d, K, lam=lam, beta=beta, alpha=alpha, mu=mu, integrator=chosen, seed=seed)

    def certificate(self, bound: float) -> bounds.Certificate:
        """What this run has proved of its own regret, for every norm of comparators at once.

        From the state alone: no examples are kept. For inputs of norm at most `bound`, examples of
        weight at most 1, and a number of classes that did not change: the largest norm and weight
        are remembered, and beyond these limits its bound is infinite. So it is where they are not
        known, in models that version 0.2.0 or an earlier one began. It needs the full posterior,
        alpha <= 1 and no drift, and says nothing (infinity) of comparators for which beta is too
        large: `from_theory` has a beta for those up to its radius.

        >>> X, y = np.random.default_rng(0).uniform(-1, 1, size=(1000, 1)), np.arange(1000) % 2
        >>> f = GAF.from_theory(1, 2, radius=2.0, bound=1.0, constants="sharp")
        >>> p = f.run(X, y)
        >>> proof = f.certificate(bound=1.0)
        >>> round(proof.regret(0.5), 1), round(proof.regret(2.0), 1), proof.regret(3.0)
        (3.9, 7.7, inf)
        """
        is_proved = self.structure == "full" and self.surrogate == "tangent"
        if not is_proved or self.drift > 0 or self.alpha > 1:
            raise ValueError(
                'a certificate needs structure="full", surrogate="tangent", drift = 0 and alpha <= '
                f'1, got structure="{self.structure}", surrogate="{self.surrogate}", drift = '
                f"{self.drift:g}, alpha = {self.alpha:g}"
            )
        reduced = self._core.precision() / self.lam
        square, weight = (float(self._core.state()[name]) for name in MET)
        return bounds.certified(
            self.integrator,
            n_classes=self.n_classes,
            lam=self.lam,
            beta=self.beta,
            alpha=self.alpha,
            mu=self.mu,
            steps=self.steps,
            bound=bound,
            largest_norm=math.sqrt(square) if square >= 0 else UNKNOWN,
            largest_weight=weight,
            log_determinant=float(np.linalg.slogdet(reduced)[1]),
        )
