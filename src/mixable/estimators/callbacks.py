"""Scikit-learn's callbacks, from its version 1.9 on: `fit` tells them of its rows in some steps.

A callback may ask to stop: then the model has learned the rows so far, and is ready for use.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mixable._types import Untyped
from mixable.model.parts import Advance

Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:

    class CallbackSupportMixin(Untyped):
        """Scikit-learn has no types."""

        _init_callback_context: Any

    def with_callbacks(method: Method) -> Method: ...
else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ModuleNotFoundError:

        class CallbackSupportMixin:
            """Before version 1.9 there are no callbacks."""

        def with_callbacks(method):
            """The method as it is."""
            return method


STEPS = 20  # of a fit, at most
OWN = ("_skl_callbacks", "_callback_fit_ctx", "_skl_callbacks_to_teardown", "_parent_callback_ctx")


class StoppedError(Exception):
    """A callback has asked to stop."""


class Tasks:
    """A fit of n rows, as a task of scikit-learn that has up to `STEPS` subtasks."""

    def __init__(self, model: Any, n: int, **examples: Any) -> None:
        self.model, self.n, self.examples = model, n, examples
        self.steps, self.done = min(n, STEPS), 0
        self.whole = model._init_callback_context(max_subtasks=self.steps)
        self.whole.call_on_fit_task_begin(estimator=model, **examples)
        self.part = self._next()

    def advance(self, rows: int) -> None:
        """Tell of as many more rows that were learned."""
        before, self.done = self.done * self.steps // self.n, self.done + rows
        now = self.done * self.steps // self.n
        for step in range(before, now):
            if self._end(self.part) and self.done < self.n:
                raise StoppedError
            if step + 1 < self.steps:
                self.part = self._next()

    def end(self) -> None:
        """Tell that the model is made."""
        self._end(self.whole)

    def _next(self) -> Any:
        part = self.whole.subcontext(task_name="rows")
        return part.call_on_fit_task_begin(estimator=self.model, **self.examples)

    def _end(self, task: Any) -> bool:
        stops: bool = task.call_on_fit_task_end(
            estimator=self.model, reconstruction_attributes=self._learned, **self.examples
        )
        return stops

    def _learned(self) -> dict[str, Any]:
        names = ("learner_", "n_features_in_", "feature_names_in_")
        return {
            name: copy.deepcopy(vars(self.model)[name])
            for name in names
            if name in vars(self.model)
        }


def tasks(model: Any, n: int, X: Any, y: Any, weight: Any) -> Tasks | None:
    """The tasks of a fit, if somebody listens."""
    if not hasattr(model, "_skl_callbacks"):
        return None
    metadata = None if weight is None else {"sample_weight": weight}
    return Tasks(model, n, X=X, y=y, metadata=metadata)


def both(one: Advance, tasks: Tasks | None) -> Advance:
    """Tells the progress and the tasks."""
    if one is None or tasks is None:
        return one if tasks is None else tasks.advance

    def advance(rows: int) -> None:
        one(rows)
        tasks.advance(rows)

    return advance
