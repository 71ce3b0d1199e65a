"""What Mixture and Pool share: experts that learn side by side, each as it would by itself."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._mergeable import Mergeable, refuse_if_unmergeable
from mixable._natural import Change
from mixable._types import Array
from mixable.experts.compiled import CompiledForecaster
from mixable.experts.sparse import SparseGAF
from mixable.experts.trees import Trees

if TYPE_CHECKING:
    from typing_extensions import Self


NEAR = 1e-6  # how far from 1 probabilities may sum to


class Experts(Mergeable):
    """Forecasters with the same output."""

    def __init__(self, experts: Sequence[Any], what: str) -> None:
        self.experts = list(experts)
        if not self.experts:
            raise ValueError(f"a {what} needs at least one expert")
        if len({id(expert) for expert in self.experts}) < len(self.experts):
            raise ValueError("an expert appears twice: it would learn everything twice")

    def _check_same(self, *names: str) -> None:
        for name in names:
            sizes = [getattr(expert, name, None) for expert in self.experts]
            if len(set(sizes)) > 1:
                raise ValueError(f"experts must have the same {name}, got {sizes}")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.experts[0].n_features)

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None if the experts predict numbers."""
        return getattr(self.experts[0], "n_classes", None)

    def add_class(self) -> None:
        """Add a class to every expert; if one refuses, to none."""
        self._grow("add_class")

    def add_features(self, k: int) -> None:
        """Add features to every expert; if one refuses, to none."""
        self._grow("add_features", k)

    def _grow(self, how: str, *arguments: int) -> None:
        grown = [before_growth(expert) for expert in self.experts]
        for before, expert in zip(self.experts, grown, strict=True):
            if not hasattr(expert, how):
                raise TypeError(f"{type(expert).__name__} has no {how}")
            if self._grows(before, how):
                getattr(expert, how)(*arguments)
        self.experts = grown

    def _grows(self, expert: Any, how: str) -> bool:
        """Whether an expert takes part in a growth of all."""
        return True

    def _checked(self, said: Sequence[Any], shape: tuple[int, ...]) -> Array:
        """Refuse forecasts that are none, of so many inputs: such an expert would win unjustly."""
        K = self.n_classes
        shape = shape if K is None else (*shape, K)
        each = [np.asarray(one, dtype=np.float64) for one in said]
        for place, one in enumerate(each):
            if one.shape != shape:
                raise ValueError(
                    f"{self._called(place)} must forecast an array of shape {shape}, got "
                    f"{said[place]!r:.200}"
                )
        out = np.stack(each)
        if K is None:
            bad = ~np.isfinite(out)
        else:
            bad = ~((out >= 0).all(axis=-1) & (np.abs(out.sum(axis=-1) - 1) <= NEAR))
        if bad.any():
            place = int(np.argwhere(bad)[0][0])
            wrong = out[tuple(np.argwhere(bad)[0])]
            wanted = "a finite number" if K is None else "probabilities that sum to 1"
            raise ValueError(
                f"{self._called(place)} must forecast {wanted}, got {wrong.tolist()!r:.200}"
            )
        return out

    def _called(self, place: int) -> str:
        return f"expert {place} ({type(self.experts[place]).__name__})"

    def _check_weighing(self, weight: Any, verb: str = "learn") -> None:
        """Refuse weights other than 1 if an expert does not know of weights."""
        if weight is None or np.all(np.asarray(weight) == 1):
            return
        for place, expert in enumerate(self.experts):
            if not with_weight(expert, verb, weight):
                raise TypeError(
                    f"{self._called(place)} cannot learn examples of other weights than 1: its "
                    f"{verb} has no argument weight"
                )

    def _shared_with_experts(self, *names: str) -> dict[str, Any]:
        """What these must have in common with others to be combined: experts, and some more."""
        shared = {name: getattr(self, name) for name in names}
        shared["number of experts"] = len(self.experts)
        for i, expert in enumerate(self.experts):
            refuse_if_unmergeable(expert)
            shared[f"expert {i}"] = [type(expert), expert._shared()]
        return shared

    def _combined_experts(
        self, others: Sequence[Any], base: Any, changes: Sequence[Sequence[Change]]
    ) -> list[Any]:
        """The experts one by one; `changes` has one for each expert of each other."""
        return [
            expert._combine(
                [other.experts[i] for other in others],
                None if base is None else base.experts[i],
                [change[i] for change in changes],
            )
            for i, expert in enumerate(self.experts)
        ]

    def __copy__(self) -> Self:
        return copy.deepcopy(self)


class CombinedExperts(Experts):
    """Experts that learn everything side by side, and a judge that makes one forecast of theirs.

    Subclasses have the judge: `_combined`, `_judged` and `_run_judge`, and its state.
    """

    weights: Any
    """The weight of each expert."""

    _judge: Any
    """All that the judge has learned: to be read, and to be set again."""

    _combined: Callable[[Array], Any]
    """One forecast from those of all experts (first axis), for each input."""

    _judged: Callable[[Array, Any, float], None]
    """Learn which experts were right: from their forecasts, the outcome and its weight."""

    _run_judge: Callable[[Array, Any, Array | None], Array]
    """Do both, one input after the other."""

    @property
    def coef(self) -> Array:
        """The experts' coefficients, added up by their weights."""
        pairs = zip(self.weights, self.experts, strict=True)
        return np.asarray(sum(weight * expert.coef for weight, expert in pairs))

    @property
    def _row_length(self) -> int:
        """Numbers in an input."""
        return self.n_features

    def _seen(self, x: Array, place: int) -> Array:
        """What an expert sees of an input, or of each row of a table."""
        return x

    def _outcome(self, y: Any) -> Any:
        return _validate.label(y, int(self.experts[0].n_classes))

    def _outcomes(self, y: ArrayLike, n: int) -> Any:
        return _validate.labels(y, int(self.experts[0].n_classes), n)

    def _forecasts(self, x: Array) -> Array:
        """What each expert says of an input, or of each row of a table (first axis: experts)."""
        said = [expert.predict(self._seen(x, i)) for i, expert in enumerate(self.experts)]
        return self._checked(said, x.shape[:-1])

    def predict(self, x: ArrayLike) -> Any:
        """The forecast of one input, or of each row of a table, as the experts'."""
        return self._combined(self._forecasts(_validate.inputs(x, self._row_length)))

    def learn(self, x: ArrayLike, y: Any, weight: float = 1.0) -> None:
        """Learn one example: input x, outcome y, its loss multiplied by `weight`."""
        row, outcome = _validate.row(x, self._row_length), self._outcome(y)
        weight = _validate.weight(weight)
        self._check_weighing(weight)
        self._learn(row, self._forecasts(row), outcome, weight)

    def _learn(self, row: Array, forecasts: Array, outcome: Any, weight: float) -> None:
        """Let all learn an example. Once the first has, Ctrl-C waits for the others."""
        interrupted = None
        for i, expert in enumerate(self.experts):
            steps, more = getattr(expert, "steps", None), with_weight(expert, "learn", weight)
            while True:
                try:
                    expert.learn(self._seen(row, i), outcome, *more)
                    break
                except KeyboardInterrupt as interrupt:
                    interrupted = interrupt
                    if steps is None or expert.steps > steps:
                        break
        self._judged(forecasts, outcome, weight)
        if interrupted is not None:
            raise interrupted

    def run(self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None = None) -> Array:
        """Forecasts of each row of X, made before its outcome in y is learned.

        The same as a loop of `predict` and `learn`, faster: each expert goes through the whole
        table by itself, since none depends on another. If one of them refuses a row or is
        interrupted, nothing was learned.
        """
        table = _validate.table(X, self._row_length)
        outcomes = self._outcomes(y, len(table))
        weights = _validate.weights(weight, len(table))
        with np.errstate(over="ignore"):
            longest = table[np.einsum("ij,ij->i", table, table).argmax()]
        # An input that is too large for one of them is refused before any has learned.
        self._forecasts(longest)
        runs = all(hasattr(expert, "run") for expert in self.experts)
        self._check_weighing(weights, "run" if runs else "learn")
        experts, judge = [snapshot(expert) for expert in self.experts], self._judge
        try:
            return (self._run if runs else self._loop)(table, outcomes, weights)
        except BaseException:
            self.experts, self._judge = [again() for again in experts], judge
            raise

    def _run(self, table: Array, outcomes: Any, weights: Array | None) -> Array:
        said = [
            expert.run(self._seen(table, i), outcomes, *with_weight(expert, "run", weights))
            for i, expert in enumerate(self.experts)
        ]
        return self._run_judge(self._checked(said, table.shape[:1]), outcomes, weights)

    def _loop(self, table: Array, outcomes: Any, weights: Array | None) -> Array:
        out = []
        for t, row in enumerate(table):
            said = self._forecasts(row)
            out.append(self._combined(said))
            own = 1.0 if weights is None else float(weights[t])
            self._learn(row, said, outcomes[t].item(), own)
        return np.array(out)


def before_growth(expert: Any) -> Any:
    """A copy that can grow without the expert: a compiled core is replaced, not changed."""
    if not isinstance(expert, CompiledForecaster | SparseGAF | Trees):
        return copy.deepcopy(expert)
    shallow = object.__new__(type(expert))
    vars(shallow).update(vars(expert))
    return shallow


@cache
def _takes_weight(kind: type, verb: str) -> bool:
    """Whether `learn` or `run` of a class has a third argument, the weight."""
    try:
        parameters = inspect.signature(getattr(kind, verb)).parameters.values()
    except (AttributeError, TypeError, ValueError):  # compiled, or not of the class
        return True
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    kinds = [each.kind for each in parameters]
    own_and_two = 3
    has_more = len([kind for kind in kinds if kind in places]) > own_and_two
    return has_more or inspect.Parameter.VAR_POSITIONAL in kinds


def with_weight(expert: Any, verb: str, weight: Any) -> tuple[Any, ...]:
    """What `learn` or `run` gets after input and outcome: the weight, if it takes one."""
    kind: type = type(expert)
    return (weight,) if _takes_weight(kind, verb) else ()


def snapshot(expert: Any) -> Callable[[], Any]:
    """What makes an expert that knows what this one knows now."""
    if not isinstance(expert, CompiledForecaster):
        kept = copy.deepcopy(expert)
        return lambda: kept
    kind, state = type(expert), expert.__getstate__()

    def again() -> Any:
        made = object.__new__(kind)
        made.__setstate__(state)
        return made

    return again


def saved_experts(state: dict[str, Any], what: str) -> list[Any]:
    """The experts of a saved state, once they are known to be forecasters."""
    experts = list(state["experts"])
    verbs = [getattr(each, verb, None) for each in experts for verb in ("predict", "learn")]
    if not all(map(callable, verbs)):
        raise TypeError(f"an expert of the saved {what} is not a forecaster")
    return experts
