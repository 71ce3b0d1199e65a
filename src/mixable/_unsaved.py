"""Why a thing cannot be saved, and what to do instead."""

from __future__ import annotations

from typing import Any

from mixable._description import PARTS, class_name

# What an estimator of the library does by itself.
_NEEDLESS = {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "SimpleImputer"}


def why(model: Any) -> str:
    """The reason, in words that say what to do next."""
    kind = type(model).__name__
    if isinstance(model, type):
        return f"{model.__name__} is a class, not a model: save an object, {model.__name__}(...)"
    library = type(model).__module__.partition(".")[0]
    steps = getattr(model, "steps", None)
    if library in ("sklearn", "river") and steps:
        return _of_pipeline(library, list(steps.items() if isinstance(steps, dict) else steps))
    if class_name(model) in PARTS:
        return f"{kind} cannot be saved by itself: save the model that it is a part of"
    return (
        f"{kind} cannot be saved: it is not a model of this library. Save the forecaster or "
        "estimator of mixable in it, and the rest by other means"
    )


def _of_pipeline(library: str, steps: list[tuple[str, Any]]) -> str:
    """A pipeline has steps of another library: those need another file, or are needless."""
    *before, (name, last) = steps
    if class_name(last) is None:
        return (
            f"a Pipeline cannot be saved, and its last step, {name!r}, is a {type(last).__name__}, "
            "not a model of this library"
        )
    place = "pipeline[-1]" if library == "sklearn" else f"pipeline[{name!r}]"
    text = f"a Pipeline cannot be saved whole. Save its model: mixable.save({place}, path)."
    others = [each for each, step in before if type(step).__name__ not in _NEEDLESS]
    needless = [each for each, step in before if type(step).__name__ in _NEEDLESS]
    if needless:
        text += (
            f" Leave out {_listed(needless)}: {type(last).__name__} scales numbers and takes NaN "
            "as missing by itself."
        )
    if others and library == "sklearn":
        text += (
            f" Keep {_listed(others)} by skops.io.dump(pipeline[:-1], other), which runs no code "
            "when it is loaded; then make_pipeline(skops.io.load(other), mixable.load(path)) is "
            "the pipeline."
        )
    elif others:
        text += f" Make {_listed(others)} again from your code, and put the loaded model behind."
    return text


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
