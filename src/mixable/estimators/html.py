"""What a fitted estimator shows in a notebook, below scikit-learn's diagram; all escaped."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np

from mixable.forecasters.ensemble import Ensemble, in_words
from mixable.learner import Blend, Learner

MOST_NAMES = 8  # of classes, and of features
MOST_TRUSTED = 3
LONGEST = 60  # characters of a name

_STYLE = "text-align: left; vertical-align: top; padding: 0.2em 0.8em;"


def table(model: Any) -> str:
    """A small table: what it learned, which classes, who is trusted, and its loss if known."""
    rows = "".join(
        f'<tr><th scope="row" style="{_STYLE}">{escape(name)}</th>'
        f'<td style="{_STYLE}">{escape(value)}</td></tr>'
        for name, value in summary(model).items()
    )
    return f'<table style="border-collapse: collapse; margin-top: 0.5em;">{rows}</table>'


def summary(model: Any) -> dict[str, str]:
    """The same as text."""
    learner: Learner = model.learner_
    out = {"learned": f"{learner.forecaster.steps:,} rows of {model.n_features_in_:,} columns"}
    if getattr(model, "feature_names_in_", None) is not None:
        out["columns"] = columns(model)
    if learner.has_labels:
        out["classes"] = _listed(list(model.classes_))
    out["trusted"] = "; ".join(
        f"{name} {share:.0%}" for name, share in trusted(learner.forecaster)[:MOST_TRUSTED]
    )
    n, loss = model._scored
    if n > 0 and learner.has_labels:
        out["log loss so far"] = f"{loss / n:.4g} nats a row, each forecast before its label"
    elif n > 0:
        out["error so far"] = (
            f"{math.sqrt(loss / n):.4g} root mean square, each forecast before its target"
        )
    return out


def columns(model: Any) -> str:
    """What each column is taken for; of a table of numbers, the names alone."""
    taken = model.columns_ if hasattr(model, "columns_") else {}
    if set(taken.values()) <= {"number"}:
        return _listed(list(model.feature_names_in_))
    return _listed([f"{_short(str(name))} ({what})" for name, what in taken.items()])


def trusted(forecaster: Any) -> list[tuple[str, float]]:
    """Who has the trust, most of it first; a forecaster that is no mixture has it all."""
    if isinstance(forecaster, Blend):
        beside = forecaster.fallback_trust
        pools = [] if forecaster.n_classes is None else ["the pool", "the pool that forgets"]
        names = [*pools, *forecaster.design.names, *beside]
        shares = np.array([*forecaster.trust, *beside.values()])
    elif isinstance(forecaster, Ensemble):
        names, shares = [in_words(expert) for expert in forecaster.experts], forecaster.trust
    else:
        names, shares = [type(forecaster).__name__], np.ones(1)
    order = np.argsort(-shares, kind="stable")
    return [(names[i], float(shares[i])) for i in order if shares[i] > 0]


def _listed(names: list[Any]) -> str:
    shown = [_short(str(name)) for name in names[:MOST_NAMES]]
    rest = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{len(names):,}: {', '.join(shown)}{rest}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
