"""The parameters of the estimators, for scikit-learn and for river alike.

What each means, its default, and the design that they ask for: a new one is added here.
"""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar

from mixable import _validate
from mixable._spelling import did_you_mean
from mixable.kernels.choice import RBF, Auto, Kernel, chosen
from mixable.model.class_weights import ClassWeight
from mixable.model.design import Design
from mixable.model.pooled import design_of_classes, design_of_numbers
from mixable.records import Columns

Estimator = TypeVar("Estimator", bound=type)

# What stood beside `kernel` up to version 0.2, and the defaults of that time.
OLD: dict[str, Any] = {"n_components": 200, "gamma": None, "method": "fourier"}
NOT_GIVEN = "deprecated"


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters:
    """What all estimators are told.

    Parameters
    ----------
    lam
        Strength of the regularisation of the linear part: the penalty is lam times the square of
        each weight, so that larger ones keep weights smaller. A number above 0, in units of the
        scaled inputs; None, the default, mixes over several.
    drift
        How fast the best weights may move in a stream that changes: the variance that is added to
        each weight at each row. A number of at least 0, where 0 says that nothing changes; None,
        the default, mixes over several.
    effort
        How much time a forecast may take. "low" is one linear posterior; "auto", the default, mixes
        over many and leaves out those that gain nothing; "high" leaves out none. See
        docs/guides/faster.md.
    kernel
        What is seen beyond a linear model. "auto", the default, pools linear and nonlinear experts
        (it is linear with effort="low" or another `forecaster`). None is linear, with `coef_`.
        "rbf" is one mixture of linear and kernel features. `mixable.kernels.Auto` and
        `mixable.kernels.RBF` say how many features there are, and of which kind.
    columns
        What is declared of the columns of records, a `mixable.records.Columns`; kinds of all others
        are guessed. None, the default, declares nothing: text, categories and times need no
        declaration.
    standardize
        Whether each number is scaled by its running mean and standard deviation, True by default:
        of the rows before it and itself, never of later ones. Then the mixture also sees numbers
        that are logarithmic beyond one deviation, and finds out which are better.
    fit_intercept
        Whether a constant feature is added, True by default. Without it, scaled numbers are still
        measured from their means.
    n_components, gamma, method
        Deprecated: parts of `kernel` now, kernel=RBF(...) or kernel=Auto(...) of `mixable.kernels`.
    """

    lam: float | None = None
    drift: float | None = None
    effort: str = "auto"
    kernel: Kernel = "auto"
    columns: Columns | None = None
    standardize: bool = True
    fit_intercept: bool = True
    n_components: int | str = NOT_GIVEN
    gamma: float | str | None = NOT_GIVEN
    method: str = NOT_GIVEN

    def _design(self) -> Design:
        raise NotImplementedError

    def _table_design(self) -> Design:
        """The design of a model that learns tables, whose order need not be that of time."""
        return self._design()

    @property
    def _threads(self) -> int | None:
        """Threads that share a table; None: as many as are usual."""
        return None

    @property
    def _is_auto(self) -> bool:
        kernel = self.kernel
        return isinstance(kernel, Auto) or (isinstance(kernel, str) and kernel == "auto")

    @property
    def _is_mixed(self) -> bool:
        """Whether enough parameters are left to be mixed over, as records need."""
        raise NotImplementedError

    @property
    def _old(self) -> dict[str, Any]:
        """Those parameters of version 0.2 that are given."""
        return {name: getattr(self, name) for name in OLD if _is_given(getattr(self, name))}

    @property
    def _chosen(self) -> Auto | RBF | None:
        """The kernel that words and old parameters stand for."""
        return _with_old(chosen(self.kernel), self._old)

    def _shared(self) -> dict[str, Any]:
        """What models must have in common to be merged."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in OLD}
        return {**own, "kernel": self._chosen}

    def _options(self) -> dict[str, Any]:
        """What designs of all kinds depend on."""
        kernel = self._chosen
        if self._old:
            instead = kernel and f"mixable.kernels.{kernel!r}"
            warnings.warn(
                f"{' and '.join(self._old)} will not stay parameters of the estimators: use "
                f"kernel={instead} instead",
                FutureWarning,
                stacklevel=2,
            )
        n_components = 1 if kernel is None else kernel.n_components
        rest = (kernel.gamma, kernel.method) if isinstance(kernel, RBF) else (None, "nystroem")
        return {
            "kernel": None if kernel is None else "rbf" if isinstance(kernel, RBF) else "auto",
            "features": (n_components, *rest),
            "standardize": self.standardize,
            "intercept": self.fit_intercept,
            "effort": self.effort,
            "threads": self._threads,
        }


@dataclass(kw_only=True, eq=False, repr=False)
class ClassParameters(Parameters):
    """What classifiers are told besides.

    Parameters
    ----------
    beta
        How much the linear part learns from each label: the curvature of what stands for its loss.
        A number above 0, about 1 in practice; None, the default, mixes over several.
    alpha
        How far the linear part hedges: its probabilities are averages over weights whose variance
        is divided by 2 alpha. A number above 0, or infinity for no hedging; None, the default,
        mixes over several. With kernel=None, and lam, beta, alpha and drift all given, the model is
        one `mixable.GAF`.
    structure
        Which covariances of the weights are kept: "full", "blocks" (within each class), "shared"
        (one block for all classes) or "diagonal" (none), the last being the fastest. None, the
        default, chooses by size; see docs: No tuning.
    forecaster
        Another multiclass forecaster class of the package in place of the default, say
        `mixable.ONS`, with those of lam, beta, alpha and drift that are given. None by default.
    class_weight
        How much the examples of each class count: None, the default, is 1 each; a dictionary of
        labels and weights has 1 for labels that are not named; "balanced" is n / (n_classes * n_c),
        n_c of n examples being of class c. `fit` counts the whole table, all else the examples up
        to the present one. Probabilities are then those of classes that come as often as their
        weights say.
    memory
        Whether one expert also sees the labels before, True by default, for streams whose labels
        depend on those just before. It stands in models that begin with `prequential`, in river,
        `mixable stream` and `mixable serve`, and is inactive where it gains nothing. Models that
        begin with `fit` or `partial_fit` do without: their rows may come in batches.
    """

    beta: float | None = None
    alpha: float | None = None
    structure: str | None = None
    forecaster: type | None = None
    class_weight: ClassWeight = None
    memory: bool = True

    @property
    def _fixed(self) -> dict[str, float | None]:
        return {"lam": self.lam, "beta": self.beta, "alpha": self.alpha, "drift": self.drift}

    @property
    def _is_mixed(self) -> bool:
        # Where everything is given and nothing else pooled there is one posterior, on numbers.
        is_pooled = self._is_auto and self.effort != "low"
        return self.forecaster is None and (is_pooled or None in self._fixed.values())

    def _design(self) -> Design:
        return self._designed(memory=_validate.flag(self.memory, "memory"))

    def _table_design(self) -> Design:
        _validate.flag(self.memory, "memory")
        return self._designed(memory=False)

    def _designed(self, *, memory: bool) -> Design:
        options = {**self._options(), "structure": self.structure, "memory": memory}
        return design_of_classes(self.forecaster, self._fixed, **options)


@dataclass(kw_only=True, eq=False, repr=False)
class NumberParameters(Parameters):
    """What regressors are told: nothing besides."""

    @property
    def _is_mixed(self) -> bool:
        return self.lam is None and self.drift is None

    def _design(self) -> Design:
        return design_of_numbers({"lam": self.lam, "drift": self.drift}, **self._options())


@dataclass(kw_only=True, eq=False, repr=False)
class TableParameters(Parameters):
    """What estimators of whole tables are told besides, those of scikit-learn.

    Parameters
    ----------
    n_jobs
        How many threads share a whole table, as scikit-learn counts them. None, the default: as
        many as OpenBLAS has, up to four. Forecasts do not depend on it.
    shuffle
        Whether `fit` learns the rows in a random order, True by default: then it does not matter
        how a table is sorted. `partial_fit` and `prequential` always keep the order.
    random_state
        What that order is drawn from, as everywhere in scikit-learn: a number (0 by default) gives
        the same order each time, None another one.
    verbose
        Whether progress is shown, on standard error: 0, the default, shows nothing; 1 shows how far
        a table is, and what the columns of a frame are taken for.
    """

    n_jobs: int | None = None
    shuffle: bool = True
    random_state: Any = 0
    verbose: int = 0


def _is_given(value: Any) -> bool:
    return not (isinstance(value, str) and value == NOT_GIVEN)


def _with_old(kernel: Auto | RBF | None, old: dict[str, Any]) -> Auto | RBF | None:
    """The kernel that is meant by parameters of version 0.2 beside one."""
    names = {field.name for field in fields(kernel)} if kernel is not None else set()
    return kernel and replace(kernel, **{name: old[name] for name in old if name in names})


def with_defaults(kind: type, state: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """A saved state in which parameters that were not saved have their defaults.

    Those of version 0.2 that belong to kernels now become part of one. Unknown ones are refused.
    """
    defaults = _defaults(kind)
    unknown = sorted(state.keys() - defaults.keys() - known)
    if unknown:
        raise ValueError(f"a {kind.__name__} has nothing called {unknown!r:.200}")
    state = {**defaults, **state}
    old = {name: state.get(name, NOT_GIVEN) for name in OLD}
    if all(map(_is_given, old.values())):  # as in each file of that time
        state.update(dict.fromkeys(OLD, NOT_GIVEN))
        if isinstance(state["kernel"], str) and old != OLD:
            state["kernel"] = _with_old(chosen(state["kernel"]), old)
    return state


@cache
def _defaults(kind: type) -> dict[str, Any]:
    """The parameters of a constructor, each with its default; not to be changed."""
    return {name: each.default for name, each in inspect.signature(kind).parameters.items()}


def estimator(kind: Estimator) -> Estimator:
    """Let a class say all that it takes: in its docstring, and when a name is unknown."""
    known = list(inspect.signature(kind).parameters)
    init = kind.__init__  # type: ignore[misc]

    @functools.wraps(init)
    def checked(self: Any, *values: Any, **options: Any) -> None:
        for name in options:
            if name not in known:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r:.80}"
                    f"{did_you_mean(name, known)} (its parameters are {', '.join(known)})"
                )
        init(self, *values, **options)

    kind.__init__ = checked  # type: ignore[misc]
    kind.__doc__ = _with_parameters(kind)
    return kind


def _with_parameters(kind: type) -> str:
    """The docstring of a class, with the parameters that its bases document before its sections."""
    kinds = [each for each in reversed(kind.__mro__) if "__dataclass_fields__" in vars(each)]
    texts = [inspect.cleandoc(each.__doc__ or "") for each in kinds]
    title = "\n\nParameters\n----------\n"
    sections = [text.partition(title)[2] for text in texts if title in text]
    story, *rest = re.split(r"\n\n(?=[A-Z]\w+\n---)", texts[-1])
    return "\n\n".join([story + title + "\n".join(sections), *rest]) + "\n"
