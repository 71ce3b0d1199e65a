"""What models must not choose by themselves if they are to be merged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mixable.kernels import Nystroem
from mixable.learner import Learner
from mixable.learner.blend import Blend
from mixable.learner.curved_ridge import CurvedRidge
from mixable.learner.inputs import Inputs, ScaledInputs
from mixable.learner.kernel_inputs import KernelInputs
from mixable.learner.record_inputs import RecordInputs
from mixable.learner.shapes import ShapedInputs


def settle(model: Any) -> None:
    """Let a model keep landmarks, kinds of columns, and the scale that curved features see.

    Models that begin with the same base, and learn apart, would choose others, and could then not
    be merged. Call it on each of them before it learns; the engines do. A model that is saved and
    loaded chooses landmarks and kinds again. A merged model goes by the statistics of all rows.

    >>> import copy
    >>> import numpy as np
    >>> import mixable as mx
    >>> X, y, _ = mx.datasets.load_segment()
    >>> base = mx.GAFClassifier(kernel=mx.kernels.Auto(20)).fit(X[::20], y[::20])
    >>> shards = [copy.deepcopy(base), copy.deepcopy(base)]
    >>> for i, shard in enumerate(shards):
    ...     settle(shard)
    ...     _ = shard.partial_fit(X[i + 1 :: 20], y[i + 1 :: 20])
    >>> mx.merge(shards, base=base).forecaster_.steps
    348
    """
    learner = _learner(model)
    if learner is None:
        return
    if isinstance(learner.forecaster, Blend):
        learner.forecaster._pooled = None  # it has the maps as they were
    for inputs in _inputs(learner):
        if isinstance(inputs, KernelInputs):
            for each in inputs.maps:
                if isinstance(each, Nystroem):
                    each.keep_landmarks()
        if isinstance(inputs, RecordInputs):
            for column in inputs.encoder.registry.columns.values():
                column.guessed = False
    if learner.forecaster.steps:
        for scaler in _scalers(learner):
            scaler.hold()


def release(model: Any) -> None:
    """Let a model that was settled scale its inputs by all statistics again."""
    learner = _learner(model)
    for scaler in [] if learner is None else _scalers(learner):
        scaler.release()


def _learner(model: Any) -> Learner | None:
    return getattr(model, "learner_", None) or getattr(model, "_learner", None)


def _inputs(learner: Learner) -> Iterator[Inputs]:
    """All inputs of a learner, and of the experts of its forecaster."""
    yield learner.inputs
    if isinstance(learner.forecaster, Blend):
        yield from learner.forecaster.inputs
    if isinstance(learner.forecaster, CurvedRidge):
        yield learner.forecaster.inputs


def _scalers(learner: Learner) -> Iterator[Any]:
    """What scales numbers for features that are curved."""
    for inputs in _inputs(learner):
        if isinstance(inputs, KernelInputs):
            yield inputs.scaled.scaler
        elif isinstance(inputs, ShapedInputs) or (
            isinstance(inputs, ScaledInputs) and isinstance(learner.forecaster, CurvedRidge)
        ):
            yield inputs.scaler
