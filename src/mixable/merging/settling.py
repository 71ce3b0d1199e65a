"""What models must not choose by themselves if they are to be merged."""

from __future__ import annotations

from typing import Any

from mixable.kernels import Nystroem
from mixable.learner.blend import Blend
from mixable.learner.curved_ridge import CurvedRidge
from mixable.learner.kernel_inputs import KernelInputs
from mixable.learner.record_inputs import RecordInputs


def settle(model: Any) -> None:
    """Let a model keep the landmarks of its kernels, and the kinds of its columns, as they are.

    Models that begin with the same base, and learn apart, would choose others, and could then not
    be merged. Call it on each of them before it learns; the engines do. A model that is saved and
    loaded chooses again.

    >>> import copy
    >>> import numpy as np
    >>> import mixable as mx
    >>> X, y, _ = mx.datasets.load_segment()
    >>> base = mx.GAFClassifier(n_components=20).fit(X[::20], y[::20])
    >>> shards = [copy.deepcopy(base), copy.deepcopy(base)]
    >>> for i, shard in enumerate(shards):
    ...     settle(shard)
    ...     _ = shard.partial_fit(X[i + 1 :: 20], y[i + 1 :: 20])
    >>> mx.merge(shards, base=base).forecaster_.steps
    348
    """
    learner = getattr(model, "learner_", None) or getattr(model, "_learner", None)
    if learner is None:
        return
    every, forecaster = [learner.inputs], learner.forecaster
    if isinstance(forecaster, Blend):
        every += forecaster.inputs
        forecaster._pooled = None  # it has the maps as they were
    if isinstance(forecaster, CurvedRidge):
        every.append(forecaster.inputs)
    for inputs in every:
        if isinstance(inputs, KernelInputs):
            for each in inputs.maps:
                if isinstance(each, Nystroem):
                    each.keep_landmarks()
        if isinstance(inputs, RecordInputs):
            for column in inputs.encoder.registry.columns.values():
                column.guessed = False
