"""Merging forecasters: compiled ones by their states, mixtures and pools expert by expert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mixable.forecasters import AutoGAF, AutoRidge, SparseGAF
from mixable.forecasters.compiled import MET, UNKNOWN, CompiledForecaster
from mixable.merging import ensembles, gaussians, judges, sparse, trust
from mixable.merging.ensembles import Ensemble
from mixable.merging.gaussians import SAME, Change, Gaussian
from mixable.mixture import Mixture
from mixable.paper.reference import GenericGAF
from mixable.pool import Pool

REFUSED = {
    "FTRL": "it keeps all its examples: let one model learn them all",
    "SMP": "it keeps all its examples: let one model learn them all",
    "Foster": "its particles have nothing that could be added",
    "ScaleFree": "its experts are born at times of its own stream",
    "FreshStarts": "its copies are born at times of its own stream",
    "KernelGAF": "it keeps all its examples: let one model learn them all",
}


def refuse_if_it_keeps_examples(model: Any) -> None:
    """Refuse forecasters that have nothing to add, with the reason."""
    name = type(model).__name__
    if name in REFUSED:
        raise TypeError(f"{name} cannot be merged: {REFUSED[name]}")


def fresh(model: Any) -> Any:
    """A forecaster with the same parameters that has learned nothing."""
    if isinstance(model, Mixture):
        experts = [fresh(expert) for expert in model.experts]
        return Mixture(experts, model.share, target_bound=model.target_bound)
    if isinstance(model, Pool):
        flags = {name: getattr(model, name) for name in ("lam", "share", "apart")}
        return Pool([fresh(expert) for expert in model.experts], **flags)
    if isinstance(model, CompiledForecaster):
        return model._with(model._parameters)
    return type(model)(**model._parameters)


def combine(onto: Any, terms: list[Any], base: Any, changes: list[Change] | None = None) -> Any:
    """onto + the sum of (term - base), a new forecaster; None stands for one without examples.

    All have the same parameters. `changes` are from the coordinates of each term to those wanted.
    """
    changes = changes or [SAME] * len(terms)
    first = terms[0]
    rule: Callable[..., Any]
    if isinstance(first, (AutoGAF, AutoRidge)):
        rule = _ensembles
    elif isinstance(first, CompiledForecaster):
        rule = _posteriors
    elif isinstance(first, SparseGAF):
        rule = _sparse
    elif isinstance(first, Mixture):
        rule = _mixtures
    elif isinstance(first, Pool):
        rule = _pools
    elif isinstance(first, GenericGAF):
        rule = _generic
    else:
        refuse_if_it_keeps_examples(first)
        raise TypeError(f"{type(first).__name__} cannot be merged: it is not of this library")
    return rule(onto, terms, base, changes)


def _restored(like: Any, state: dict[str, Any]) -> Any:
    made = object.__new__(type(like))
    made.__setstate__({**like.__getstate__(), "state": state})
    return made


def _ensembles(onto: Any, terms: list[Any], base: Any, changes: list[Change]) -> Any:
    each = [Ensemble.of(term) for term in terms]
    known = [None if model is None else Ensemble.of(model) for model in (onto, base)]
    return _restored(terms[0], ensembles.combine(known[0], each, known[1], changes))


def _posteriors(onto: Any, terms: list[Any], base: Any, changes: list[Change]) -> Any:
    parameters = terms[0]._parameters

    def read(model: Any) -> Gaussian:
        lam, drift = parameters.get("lam", 0.0), parameters.get("drift", 0.0)
        return gaussians.read(model._core.state(), lam, drift)

    known = [None if model is None else read(model) for model in (onto, base)]
    merged = gaussians.combine(known[0], [read(term) for term in terms], known[1], changes)
    state = gaussians.write(merged)
    given = [model for model in (onto, base, *terms) if model is not None]
    if merged.kind == "full":
        is_same = all(change == SAME for change in changes)
        for name in MET:
            each = [model._core.state()[name] for model in given]
            state[name] = max(each) if min(each) >= 0 and is_same else UNKNOWN
    return _restored(terms[0], state)


def _experts(onto: Any, terms: list[Any], base: Any, changes: list[list[Change]]) -> list[Any]:
    return [
        combine(
            None if onto is None else onto.experts[i],
            [term.experts[i] for term in terms],
            None if base is None else base.experts[i],
            [change[i] for change in changes],
        )
        for i in range(len(terms[0].experts))
    ]


def _mixtures(onto: Any, terms: list[Any], base: Any, changes: list[Change]) -> Any:
    if any(term._history is not None for term in terms):
        raise ValueError("mixtures with history=True cannot be merged: past weights have no order")
    out = fresh(terms[0])
    many = [[change] * len(out.experts) for change in changes]
    out.experts = _experts(onto, terms, base, many)
    weights = trust.added_weights(
        onto and onto.weights, [term.weights for term in terms], base and base.weights
    )
    out._log_weights = np.log(weights)
    out._steps = added("_steps", onto, terms, base)
    return out


def _pools(onto: Any, terms: list[Any], base: Any, changes: list[Any]) -> Any:
    """Experts one by one, and their judge."""
    first = terms[0]
    each = [c if isinstance(c, list) else [c] * len(first.experts) for c in changes]
    cores = [None if model is None else model._core for model in (onto, base)]
    own = [term._core for term in terms]
    options = {"lam": first.lam, "share": first.share, "weight": each[0][0].weight}
    judge = judges.combine(cores[0], own, cores[1], fresh(first)._core, **options)
    experts = _experts(onto, terms, base, each)
    made = object.__new__(Pool)
    made.__setstate__({**first.__getstate__(), "experts": experts, "state": judge})
    return made


def _sparse(onto: Any, terms: list[Any], base: Any, changes: list[Change]) -> Any:
    return _restored(terms[0], sparse.combine(onto, terms, base, changes))


def _generic(onto: Any, terms: list[Any], base: Any, changes: list[Change]) -> Any:
    """GenericGAF: A, b and A theta add."""
    prior = fresh(terms[0])
    start, before = onto or prior, base or prior
    out = fresh(start)
    linear = start._A @ start._theta
    out._A, out._b = start._A.copy(), start._b.copy()
    for term in terms:
        out._A += term._A - before._A
        out._b += term._b - before._b
        linear = linear + term._A @ term._theta - before._A @ before._theta
    out._theta = np.linalg.solve(out._A, linear)
    out._steps = added("_steps", onto, terms, base)
    given = [model for model in (onto, base, *terms) if model is not None]
    for name in ("_largest_norm", "_largest_weight"):
        each = [getattr(model, name) for model in given]
        setattr(out, name, max(each) if min(each) >= 0 else UNKNOWN)
    return out


def added(name: str, onto: Any, terms: list[Any], base: Any) -> Any:
    """onto + the sum of (term - base) of a number; None has 0."""
    start, before = (0 if model is None else getattr(model, name) for model in (onto, base))
    return start + sum(getattr(term, name) - before for term in terms)
