"""One model from the partitions of a Dask collection."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from mixable import _validate
from mixable.engines import rounds as common
from mixable.engines.rounds import GROUP, WARMUP, Rounds
from mixable.persistence import loads

RETRIES = 3  # of a task whose worker was lost


def fit(
    model: Any,
    data: Any,
    target: str,
    *,
    rounds: int = 16,
    checkpoint: str | os.PathLike[str] | None = None,
    warmup: int = WARMUP,
    client: Any = None,
    on_round: Callable[[int, Any], None] | None = None,
) -> Any:
    """Return a model that has learned every row of a Dask collection once.

    In each round every partition's next rows are learned by a copy of the merged model, on whatever
    worker has it, and the copies are merged. A worker that is lost costs time: what it was doing is
    done again elsewhere, from the same model, and counts once.

    Parameters
    ----------
    model
        What to begin with: an estimator or forecaster that `mixable.merge` can merge. It stays as
        it is.
    data
        A Dask DataFrame; a bag of dictionaries; or a list of delayed frames or of frames. Columns
        other than the target are the features. Partitions are read again in each round: `persist`
        the collection if it fits in the memory of the cluster.
    target
        The column that is to be predicted.
    rounds
        How often the models are merged. More rounds, less loss; see docs/guides/scale.md.
    checkpoint
        A folder for the merged model of each round. If it has some of the same fit, that goes on
        where it stopped.
    warmup
        If the model has learned nothing, the first rows of the first partition, so many, are
        learned in one place, so that all workers scale their inputs alike.
    client
        A `distributed.Client`; None is the current one.
    on_round
        Called with the number of rounds done and the merged model after each.

    Raises
    ------
    PartitionError
        If the rows of a partition cannot be learned, with its number. The checkpoint is that of the
        round before.
    """
    distributed = common.need("distributed", "dask", "Dask")
    client = client or distributed.get_client()
    parts = list(data.to_delayed()) if hasattr(data, "to_delayed") else list(data)
    state = Rounds(
        model, rounds=rounds, partitions=len(parts), target=target, checkpoint=checkpoint
    )
    warmup = _validate.count(warmup, "warmup", least=0)

    def result(task: Any) -> Any:
        return client.compute(task, retries=RETRIES, sync=False).result()

    def first_rows(part: int) -> Any:
        task = _delayed(common.warmed_up)
        return result(task(state.model, parts[part], target, part=part, most=warmup))

    if warmup and state.is_new:
        state.warm_up((part, partial(first_rows, part)) for part in range(len(parts)))
    while state.done < state.rounds:
        # A task, not scattered data, which would be lost with the worker that has it.
        base = _delayed(bytes)(state.model)
        learn, merge = _delayed(common.learned), _delayed(common.merged)
        models = [
            learn(base, rows, target, part=i, span=state.span(i)) for i, rows in enumerate(parts)
        ]
        while len(models) > 1:
            groups = [models[i : i + GROUP] for i in range(0, len(models), GROUP)]
            models = [merge(group, base) for group in groups]
        state.finish(result(models[0]))
        if on_round is not None:
            on_round(state.done, loads(state.model))
    return loads(state.model)


def _delayed(function: Callable[..., Any]) -> Any:
    from dask.delayed import delayed

    return delayed(function, pure=False)
