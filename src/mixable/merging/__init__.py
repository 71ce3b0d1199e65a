"""Merging models: what was learned apart is added up, and what they began with counts once.

Gaussian posteriors add by their natural parameters, A = A_0 + sum_s (A_s - A_0) and A theta
likewise; see `gaussians`. docs/guides/scale.md says what it costs.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from mixable._description import encode
from mixable.estimators.base import StreamEstimator
from mixable.learner.named import NamedLearner
from mixable.merging import forecasters, learners
from mixable.merging.forecasters import added
from mixable.merging.gaussians import Change
from mixable.merging.settling import settle
from mixable.metrics import Scores

__all__ = ["delta", "merge", "settle", "steps_of", "tempered"]

Model = TypeVar("Model")


def merge(models: Iterable[Model], base: Model | None = None) -> Model:
    """One model that knows what several have learned, each from rows of its own.

    Posteriors are added by their natural parameters. Experts of a mixture are trusted by the losses
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
    terms = [model for model in given if steps_of(model) > before]
    if len(terms) == 1:
        return copy.deepcopy(terms[0])
    if not terms:
        return copy.deepcopy(given[0] if base is None else base)
    known = base if before else None
    merged: Model = _rule(terms[0])(known, terms, known)
    return merged


def delta(model: Model, base: Model | None = None) -> Model:
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
    made: Model = _rule(model)(None, [model], base)
    return made


def tempered(model: Model, weight: float) -> Model:
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
    rule = _rule(model)
    if rule is forecasters.combine:
        made: Model = forecasters.combine(None, [model], None, [Change(weight=weight)])
    elif rule is combine_scores:
        raise TypeError("scores cannot be tempered")
    else:
        made = rule(None, [model], None, weight=weight)
    return made


def _rule(model: Any) -> Callable[..., Any]:
    if isinstance(model, StreamEstimator):
        return learners.combine_estimators
    if isinstance(model, NamedLearner):
        return learners.combine_named
    if isinstance(model, Scores):
        return combine_scores
    return forecasters.combine


def steps_of(model: Any) -> int:
    """Examples that a model has learned."""
    if isinstance(model, StreamEstimator):
        return int(model.learner_.forecaster.steps) if hasattr(model, "learner_") else 0
    if isinstance(model, NamedLearner):
        return int(model._learner.forecaster.steps) if model._learner else 0
    return int(model.n if isinstance(model, Scores) else model.steps)


def _check(models: list[Any], base: Any) -> None:
    """Refuse models that do not go together."""
    first = models[0] if base is None else base
    whose = "models[0]" if base is None else "base"
    wanted = _parameters(first)
    for i, model in enumerate(models):
        if type(model) is not type(first):
            kinds = f"a {type(first).__name__} and models[{i}] a {type(model).__name__}"
            raise TypeError(f"only models of one kind can be merged: {whose} is {kinds}")
        forecasters.refuse_if_it_keeps_examples(model)
        own = _parameters(model)
        for name in wanted:
            if name in own and own[name] != wanted[name]:  # sizes may not be known yet
                values = f"{own[name]:.80} and {wanted[name]:.80}"
                raise ValueError(f"models[{i}] cannot be merged with {whose}: {name} is {values}")
        if base is not None and steps_of(base):
            reason = "has learned less than base" if steps_of(model) < steps_of(base) else None
            reason = reason or learners.refuse_if_apart(model, base)
            if reason:
                raise ValueError(f"models[{i}] did not begin as base: it {reason}")


def _parameters(model: Any) -> dict[str, str]:
    """What models must have in common, each as text."""
    if isinstance(model, StreamEstimator):
        parameters = model._shared()
        if hasattr(model, "learner_"):
            parameters["number of features"] = model.n_features_in_
    elif isinstance(model, NamedLearner):
        parameters = model._shared()
    elif isinstance(model, Scores):
        parameters = {"bins": model.bins}
    elif hasattr(model, "experts") and not hasattr(model, "_parameters"):
        names = ("lam", "share", "apart", "target_bound")
        parameters = {name: getattr(model, name, None) for name in names}
        parameters["number of experts"] = len(model.experts)
        for i, expert in enumerate(model.experts):
            parameters[f"expert {i}"] = [type(expert), _parameters(expert)]
    elif hasattr(model, "_parameters"):
        parameters = model._parameters
    else:
        forecasters.refuse_if_it_keeps_examples(model)
        raise TypeError(f"{type(model).__name__} cannot be merged: it is no model of this library")
    return {
        name: json.dumps(_without_threads(encode(value, {}, name)))
        for name, value in parameters.items()
        if name not in ("threads", "n_jobs", "verbose")  # forecasts do not depend on them
    }


def _without_threads(value: Any) -> Any:
    """What was encoded, without the threads of designs."""
    if isinstance(value, list):
        return [_without_threads(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("object") == "Design":
        state = dict(value["state"]["dict"])
        pairs = [pair for pair in state["parameters"]["dict"] if pair[0] != "threads"]
        return {**state, "parameters": pairs, "object": "Design"}
    return {name: _without_threads(each) for name, each in value.items()}


def combine_scores(onto: Scores | None, terms: list[Scores], base: Scores | None) -> Scores:
    """Sums add."""
    out = Scores(terms[0].bins)
    for name in vars(out).keys() - {"bins", "_classes"}:
        setattr(out, name, added(name, onto, terms, base))
    for term in [*([] if onto is None else [onto]), *terms]:
        out._classes.include(term._classes)
    for _ in terms:
        if base is not None:
            out._classes.include(base._classes, -1)
    return out
