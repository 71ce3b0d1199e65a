"""Merging models: what was learned apart is added up, and what they began with counts once.

Each class combines the state that it owns (`_mergeable.Mergeable._combine`); `_natural` has the
mathematics. Here stands what models must have in common. docs: Many machines says what it costs.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable
from typing import Any, TypeVar

from mixable import _renamed
from mixable._description import encode
from mixable._mergeable import refuse_if_unmergeable
from mixable._natural import SAME, Change
from mixable.estimators.base import StreamEstimator
from mixable.metrics import NumberScores, Scores
from mixable.model import combining
from mixable.model.learner import Learner
from mixable.model.named import NamedLearner

__all__ = ["delta", "freeze", "merge", "release", "steps_of", "tempered"]

Model = TypeVar("Model")

THREADS = r'\["threads", \w+\]'  # of designs and forecasters: forecasts do not depend on them


def merge(models: Iterable[Model], base: Model | None = None) -> Model:
    """One model that knows what several have learned, each from rows of its own.

    Posteriors are added by their natural parameters. Experts of a mixture have the weight by the
    losses
    that they have had in all models. Statistics of the inputs are united, and so are labels and,
    for river, features. Neither the order of the models nor the groups in which they are merged
    matter. One model alone, or beside others that have learned nothing, stays as it is.

    Parameters
    ----------
    models
        Forecasters or estimators of one kind, with the same parameters.
    base
        The model that all of them began with, if that had learned something. It counts once.

    Raises
    ------
    TypeError
        For what cannot be added: other kinds of models, forecasters that keep their examples.
    ValueError
        For models with other parameters or columns, for kernel features with other directions, and
        for models that did not begin as `base`.

    Notes
    -----
    A merged model is not what one model would have become by learning all rows in turn: each row
    was learned at the weights of its own model. The more rows each model sees before it hears of
    the others, the more is lost; merge in rounds. With drift, each model's posterior counts less
    what is left of the base after its steps, and the base is as it would be after all steps: what
    the models know side by side does not fade by the steps of the others.

    Examples
    --------
    >>> import numpy as np
    >>> from mixable import GAF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = (X @ [2.0, -1.0, 0.0] + rng.logistic(size=400) > 0).astype(int)
    >>> shards = [GAF(3, 2), GAF(3, 2)]
    >>> for shard, rows in zip(shards, (slice(200), slice(200, 400))):
    ...     _ = shard.run(X[rows], y[rows])
    >>> both = merge(shards)
    >>> both.steps, both.predict([1.0, 0.0, 0.0]).round(1)
    (400, array([0.1, 0.9]))
    >>> more = [copy.deepcopy(both), copy.deepcopy(both)]  # the next round begins with it
    >>> for shard in more:
    ...     shard.learn([1.0, 0.0, 0.0], 1)
    >>> merge(more, base=both).steps
    402
    """
    given = list(models)
    if not given:
        raise ValueError("models is empty: there is nothing to merge")
    _check(given, base)
    before = 0 if base is None else steps_of(base)
    terms: list[Any] = [model for model in given if steps_of(model) > before]
    known: Any = base if before else None
    if len(terms) > 1:
        start = known or terms[0]._fresh()
        merged: Model = start._combine(terms, known, [SAME] * len(terms))
        return merged
    alone: Model = copy.deepcopy([*terms, known or given[0]][0])
    return alone


def delta(model: Any, base: Any = None) -> Any:
    """What a model has learned since it was `base`, as a model by itself.

    `merge([base, a.delta(base), b.delta(base)])` is `merge([a, b], base=base)` (without drift).

    >>> from mixable import GAF
    >>> f = GAF(2, 2)
    >>> f.learn([1.0, 0.0], 0)
    >>> base = copy.deepcopy(f)
    >>> f.learn([0.0, 1.0], 1)
    >>> delta(f, base).steps
    1
    """
    _check([model], base)
    if base is None or not steps_of(base):
        return copy.deepcopy(model)
    return model._fresh()._combine([model], base, [SAME])


def tempered(model: Any, weight: float) -> Any:
    """A model whose knowledge counts `weight` times, for others to begin with.

    What was learned from n examples is then as certain as if from `weight` n.

    >>> from mixable import GAF
    >>> f = GAF(1, 2, lam=1.0)
    >>> for _ in range(100): f.learn([1.0], 1)
    >>> certainty = [float(each.precision()[0, 0] - 1) for each in (f, tempered(f, 0.1))]
    >>> round(certainty[1] / certainty[0], 6)
    0.1
    """
    if not steps_of(model):
        return copy.deepcopy(model)
    if isinstance(model, Scores | NumberScores):
        raise TypeError("scores cannot be tempered")
    return model._fresh()._combine([model], None, [Change(weight=weight)])


def freeze(model: Any) -> None:
    """Let a model keep landmarks, kinds of columns, and the scale that nonlinear features see.

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
    ...     freeze(shard)
    ...     _ = shard.partial_fit(X[i + 1 :: 20], y[i + 1 :: 20])
    >>> mx.merge(shards, base=base).forecaster_.steps
    348
    """
    learner = _learner(model)
    if learner is not None:
        combining.freeze(learner)


def release(model: Any) -> None:
    """Let a model that was settled scale its inputs by all statistics again."""
    learner = _learner(model)
    for scaler in [] if learner is None else combining.scalers(learner):
        scaler.release()


def _learner(model: Any) -> Learner | None:
    return getattr(model, "learner_", None) or getattr(model, "_learner", None)


def steps_of(model: Any) -> int:
    """Examples that a model has learned."""
    if isinstance(model, StreamEstimator | NamedLearner):
        learner = _learner(model)
        return 0 if learner is None else int(learner.forecaster.steps)
    return int(model.n if isinstance(model, Scores | NumberScores) else model.steps)


def _check(models: list[Any], base: Any) -> None:
    """Refuse models that do not go together."""
    first = models[0] if base is None else base
    whose = "models[0]" if base is None else "base"
    wanted = _parameters(first)
    for i, model in enumerate(models):
        if type(model) is not type(first):
            kinds = f"a {type(first).__name__} and models[{i}] a {type(model).__name__}"
            raise TypeError(f"only models of one kind can be merged: {whose} is {kinds}")
        own = _parameters(model)
        for name in wanted:
            if name in own and own[name] != wanted[name]:  # sizes may not be known yet
                values = f"{own[name]:.80} and {wanted[name]:.80}"
                raise ValueError(f"models[{i}] cannot be merged with {whose}: {name} is {values}")
        if base is not None and steps_of(base):
            reason = "has learned less than base" if steps_of(model) < steps_of(base) else None
            reason = reason or _apart(model, base)
            if reason:
                raise ValueError(f"models[{i}] did not begin as base: it {reason}")


def _apart(model: Any, base: Any) -> str | None:
    """Why a model cannot have begun as the base; None if it can."""
    old, new = _learner(base), _learner(model)
    if isinstance(base, NamedLearner) and list(model._columns)[: len(base._columns)] != list(
        base._columns
    ):
        return "has other features than base, or in another order"
    if old is None or new is None:
        return None
    if new.has_labels and new.labels[: len(old.labels)] != old.labels:
        return "has other labels than base, or in another order"
    return "has fewer features than base" if new.n_features < old.n_features else None


def _parameters(model: Any) -> dict[str, str]:
    """What models must have in common, each as text."""
    refuse_if_unmergeable(model)
    return {
        name: re.sub(THREADS, "", json.dumps(encode(value, {}, name)))
        for name, value in model._shared().items()
        if name not in ("threads", "n_jobs", "verbose")
    }


__getattr__ = _renamed.names(__name__, settle="freeze")
