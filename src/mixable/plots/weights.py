"""How the weight of a model is spread, now and over time."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mixable import _validate
from mixable._types import Array
from mixable.experts.ensemble import Ensemble
from mixable.experts.mixture import Mixture
from mixable.experts.pool import Pool
from mixable.experts.settings import FREQUENCIES
from mixable.model import RecordPool
from mixable.model.kernel_inputs import KernelInputs
from mixable.plots.drawing import AREAS, MARKERS, area_colours, axes_of, finish, line_style, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 9  # groups of weight; what has the least is added up


def expert_weights(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    classes: ArrayLike | None = None,
    pieces: int = 50,
    by: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how a mixture's weight is spread: now, or over time while it learns X and y.

    Over time, a copy of the model goes through the table in pieces, and the weight is read before
    the first one (if the model has learned something already) and after each. Beyond six groups
    (nine bars), those that never had much are added up.

    Parameters
    ----------
    model
        An estimator whose forecaster is a mixture, or such a forecaster: `AutoGAF`, `AutoRidge`,
        `Pool` or `Mixture`. It may be a new one if there are X and y.
    X, y
        What to learn; None: draw the weight as it is now, as bars.
    classes
        For an estimator of labels: all of them, as in its `prequential`.
    pieces
        Into how many pieces X is cut, at most.
    by
        What experts are put together by. Of `AutoGAF` and `AutoRidge`, "view" (what a posterior
        sees) or a field of their experts, say "drift" or "lam"; None is "view", or "drift" where
        there is only one. Of `Pool`, "expert", or "weights" for the weights of the experts'
        logarithms, which need not sum to 1. Of `Mixture`, "expert".

    Examples
    --------
    >>> import mixable as mx
    >>> X, y = mx.datasets.make_drift(500)
    >>> ax = mx.plots.expert_weights(mx.GAFClassifier(kernel=None), X, y, pieces=10)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('examples learned', 'weight (share)')
    """
    pieces = _validate.count(pieces, "pieces")
    over_time = X is not None or y is not None
    if over_time:
        steps, groups = _followed(model, X, y, classes=classes, pieces=pieces, by=by)
    else:
        steps, groups = np.zeros(1), {key: np.array([v]) for key, v in _spread(model, by).items()}
    are_weights = by != "weights"
    what = "weight (share)" if are_weights else "weight of an expert's log probabilities"
    if are_weights:
        groups = _largest(groups, len(AREAS) if over_time else MOST_BARS)
    ax = axes_of(ax)
    names = [words(name) for name in groups]
    if not over_time:
        places, amounts = np.arange(len(names)), [float(each[0]) for each in groups.values()]
        ax.barh(places, amounts, color="0.6", edgecolor="black")
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.set(xlabel=what, **({"xlim": (0, 1)} if are_weights else {}))
        ax.spines[["top", "right"]].set_visible(False)
        return ax
    if are_weights:
        colours = area_colours(len(groups))
        ax.stackplot(
            steps, *groups.values(), labels=names, colors=colours, edgecolor="0.4", linewidth=0.3
        )
        ax.set_ylim(0, 1)
    else:
        for place, (name, each) in enumerate(zip(names, groups.values(), strict=True)):
            look = {**line_style(place), "marker": MARKERS[place % len(MARKERS)], "markevery": 0.2}
            ax.plot(steps, each, **look, markersize=4, linewidth=1.4, label=name)
    ax.set(xlabel="examples learned", ylabel=what)
    ax.set_xlim(float(steps[0]), float(max(steps[-1], steps[0] + 1)))
    finish(ax, loc="center left", bbox_to_anchor=(1, 0.5), reverse=are_weights)
    return ax


def _forecaster(model: Any) -> Any:
    """The mixture behind a model; what is none, or new, is refused."""
    if hasattr(model, "prequential") and not hasattr(model, "learner_"):
        raise ValueError("the model has learned nothing: give X and y, or a fitted one")
    learner = getattr(model, "learner_", None)
    forecaster = model if learner is None else learner.forecaster
    if not isinstance(forecaster, Ensemble | Pool | Mixture | RecordPool):
        raise TypeError(
            f"{type(forecaster).__name__} is no mixture, so there is no weight to draw; "
            "AutoGAF, AutoRidge, Pool and Mixture are"
        )
    return forecaster


def _spread(model: Any, by: str | None) -> dict[str, float]:
    """The weight of each group, or the weight of each expert of a pool."""
    inputs = getattr(getattr(model, "learner_", None), "inputs", None)
    return shares(_forecaster(model), inputs, by)


def shares(forecaster: Any, inputs: Any, by: str | None = None) -> dict[str, float]:
    """The same of a mixture and the inputs that make its rows; None if they are not known."""
    if isinstance(forecaster, Ensemble):
        return _by_field(forecaster, _views(inputs), by)
    if isinstance(forecaster, Mixture):
        _check_by(forecaster, by, ["expert"])
        return dict(zip(_experts(forecaster), forecaster.weights.tolist(), strict=True))
    _check_by(forecaster, by, ["expert", "weights"])
    names = _experts(forecaster)
    if by == "weights":
        return dict(zip(names, forecaster.weights.tolist(), strict=True))
    groups = ["pool", "pool that forgets", *(f"{name} alone" for name in names)]
    spread = dict(zip(groups, forecaster.expert_weights.tolist(), strict=True))
    if isinstance(forecaster, RecordPool) and forecaster.fallback_weights:
        spread["fallback"] = sum(forecaster.fallback_weights.values())
    return spread


def _by_field(forecaster: Ensemble, seen: list[str], by: str | None) -> dict[str, float]:
    """The weight of experts of the same view, or the same value of a field; then others."""
    experts = forecaster.experts
    fields = [name for name in experts[0]._fields if name != "kind"]
    views = forecaster.views or (0,) * len(forecaster.grid)  # type: ignore[attr-defined]
    _check_by(forecaster, by, ["view", *fields])
    by = by or ("view" if len(set(views)) > 1 else "drift")
    kinds = [getattr(expert, "kind", "GAF").removeprefix("averaged ") for expert in experts]
    readouts = kinds.count("GAF") // len(views)
    out: dict[float, float] = {}
    others: dict[str, float] = {}
    for i, (expert, share) in enumerate(
        zip(experts, forecaster.expert_weights.tolist(), strict=True)
    ):
        if kinds[i] != "GAF":
            others[FREQUENCIES if kinds[i] == FREQUENCIES else "fallback"] = share
        else:
            value = views[i // readouts] if by == "view" else getattr(expert, by)
            out[value] = out.get(value, 0.0) + share
    if by == "view":
        names = {view: seen[view] if view < len(seen) else f"view {view}" for view in views}
    else:
        names = {value: f"{by} {value:g}" for value in out}
    named = {names[value]: out[value] for value in sorted(out)}
    return {**named, **others}


def _check_by(forecaster: Any, by: str | None, known: list[str]) -> None:
    if by is not None and by not in known:
        words = ", ".join(map(repr, known))
        raise ValueError(
            f"by must be one of {words} for {type(forecaster).__name__}, got {by!r:.80}"
        )


def _views(inputs: Any) -> list[str]:
    """What the views of an estimator's inputs are; nothing if there is no estimator."""
    if inputs is None:
        return []
    if isinstance(inputs, KernelInputs):
        kernels = [f"kernel, gamma {each.gamma:.3g}" for each in inputs.maps]
        return ["linear"] * inputs.plan.linear_views + kernels
    return ["linear", "linear, logarithmic in the tails"]


def _experts(forecaster: Any) -> list[str]:
    """The names of a pool's or a mixture's experts, numbered where several have the same."""
    if isinstance(forecaster, RecordPool):
        names = forecaster.design.names
    else:
        names = [type(expert).__name__ for expert in forecaster.experts]
    twice = {name for name in names if names.count(name) > 1}
    return [f"{name} {i}" if name in twice else name for i, name in enumerate(names)]


def _followed(
    model: Any, X: Any, y: Any, *, classes: ArrayLike | None, pieces: int, by: str | None
) -> tuple[Array, dict[str, Array]]:
    """The number of examples learned, and the weight of each group, after each piece."""
    if X is None or y is None:
        raise ValueError("weight over time needs both X and y")
    if not (hasattr(X, "__len__") and hasattr(y, "__len__") and len(X) == len(y) and len(X)):
        sizes = [len(each) if hasattr(each, "__len__") else "none" for each in (X, y)]
        raise ValueError(f"X and y must have as many rows, at least one, got {sizes}")
    is_estimator = hasattr(model, "prequential")
    if classes is not None and not is_estimator:
        raise ValueError("classes are for estimators: the labels of a forecaster are 0 to K - 1")
    if not is_estimator:
        _forecaster(model)
    later = copy.deepcopy(model)
    options = {} if classes is None else {"classes": classes}
    run = later.prequential if is_estimator else later.run
    records = []
    if not is_estimator or hasattr(model, "learner_"):
        records.append((_forecaster(later).steps, _spread(later, by)))
    for part in np.array_split(np.arange(len(X)), min(pieces, len(X))):
        rows = slice(int(part[0]), int(part[-1]) + 1)
        run(_part(X, rows), _part(y, rows), **options)
        records.append((_forecaster(later).steps, _spread(later, by)))
    names = dict.fromkeys(name for _, spread in records for name in spread)
    steps = np.array([float(step) for step, _ in records])
    return steps, {
        name: np.array([spread.get(name, 0.0) for _, spread in records]) for name in names
    }


def _part(table: Any, rows: slice) -> Any:
    """Some rows of a table or a column, by their positions."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _largest(groups: dict[str, Array], most: int) -> dict[str, Array]:
    """The groups that had the most weight at some time, in their order; the others added up."""
    if len(groups) <= most:
        return groups
    order = sorted(groups, key=lambda name: -float(groups[name].max()))
    kept = set(order[: most - 1])
    rest = [values for name, values in groups.items() if name not in kept]
    out = {name: values for name, values in groups.items() if name in kept}
    return {**out, f"{len(rest)} others": np.sum(rest, axis=0)}
