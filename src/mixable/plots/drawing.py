"""What pictures share: axes, styles, names, columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours that differ in lightness too, and a line style each (Okabe and Ito's palette).
STYLES: list[dict[str, Any]] = [
    {"color": "#000000", "linestyle": "-"},
    {"color": "#0072B2", "linestyle": "--"},
    {"color": "#D55E00", "linestyle": "-."},
    {"color": "#009E73", "linestyle": ":"},
    {"color": "#CC79A7", "linestyle": (0, (5, 1))},
    {"color": "#E69F00", "linestyle": (0, (3, 1, 1, 1))},
    {"color": "#56B4E9", "linestyle": (0, (1, 1))},
    {"color": "#999999", "linestyle": (0, (7, 2, 1, 2))},
]
MARKERS = "os^Dv<>"  # seven, so that eight styles and a marker each repeat after 56 lines
# Six that differ in lightness, for areas (ColorBrewer's YlGnBu).
AREAS = ("#ffffcc", "#c7e9b4", "#7fcdbb", "#41b6c4", "#2c7fb8", "#253494")
LONGEST_NAME = 40  # characters of a label in a legend


def axes_of(ax: Any) -> Axes:
    """The axes to draw into: those given, or those of a new figure."""
    if ax is not None:
        if not (hasattr(ax, "plot") and hasattr(ax, "inset_axes")):
            raise TypeError(f"ax must be axes of Matplotlib, got {type(ax).__name__}")
        given: Axes = ax
        return given
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError(
            'mixable.plots needs Matplotlib: pip install "mixable[cli]"', name="matplotlib"
        ) from None
    _, new = pyplot.subplots(layout="constrained")
    return new


def line_style(place: int) -> dict[str, Any]:
    return STYLES[place % len(STYLES)]


def area_colours(n: int) -> list[str]:
    """The colours of up to six areas, as far apart as they can be."""
    last = len(AREAS) - 1
    return [AREAS[round(place * last / max(n - 1, 1))] for place in range(n)]


def named_lines(ax: Axes) -> list[Any]:
    """The lines that stand in the legend."""
    return [line for line in ax.lines if not str(line.get_label()).startswith("_")]


def finish(ax: Axes, **options: Any) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", **options)


def words(label: Any) -> str:
    """A label as a legend shows it: dollars are no formula, an underscore hides nothing."""
    text = str(label)
    text = text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def column_of(label: Hashable, classes: Sequence[Hashable]) -> int:
    """The column of a label."""
    if label not in classes:
        raise ValueError(f"there is no class {label!r:.80}: classes are {list(classes)!r:.200}")
    return list(classes).index(label)
