"""What a model of events is told: on the command line, in the body of PUT, and in Python.

Names, defaults, checks and sentences stand here, once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from mixable import _validate
from mixable._spelling import did_you_mean
from mixable.experts import AutoGAF
from mixable.experts.table import FORECASTERS
from mixable.model import Design, RecordPool, design_of_classes
from mixable.model.pooled import design_of_numbers
from mixable.records import Columns
from mixable.records.declaration import FORMATS, KINDS

EFFORTS = ("low", "auto", "high")
KERNEL = (200, None, "nystroem")  # features, their width, and how they are chosen
Names = tuple[str, ...] | None


def forecasters() -> dict[str, type]:
    """The forecasters that a model may have, by their short names."""
    return {entry.short: entry.kind for entry in FORECASTERS if entry.streams and entry.short}


SENTENCES = {
    "regression": "Outcomes are numbers, not labels.",
    "classes": "All labels; otherwise they are added as they come.",
    "features": "The columns to use; otherwise all.",
    "number": "Columns of numbers.",
    "category": "Columns of categories.",
    "text": "Columns of text.",
    "tags": "Columns of lists of tags.",
    "time": "Columns of times.",
    "ignore": "Columns to leave out.",
    "decimal_comma": "Columns of numbers such as 1.234,50.",
    "day_first": "Columns of times such as 31/12/2024.",
    "month_first": "Columns of times such as 12/31/2024.",
    "cross": "Pairs of columns that count together: a*b.",
    "linear": "Linear in numbers, and faster.",
    "effort": f"How much time a forecast may take: {', '.join(EFFORTS)}.",
    "no_memory": "No expert sees the labels before.",
    "forecaster": f"A linear forecaster of labels: {', '.join(forecasters())}; auto mixes.",
    "lam": "Regularisation of the linear part.",
    "beta": "Curvature of the linear part.",
    "alpha": "Hedge width of the linear part.",
    "drift": "Process noise of the linear part.",
    "level": "With --regression: the probability of intervals.",
    "remember": "Forecasts that may wait for their outcome.",
    "most_features": "Columns that are taken unasked.",
    "most_classes": "Labels that are taken unasked.",
}
# What each option is, by its type.
KIND = {"bool": "flag", "Names": "names", "str": "word", "float": "real", "int": "count"}


class Told(NamedTuple):
    """An option."""

    name: str
    kind: str  # flag, names, word, real or count
    default: Any
    sentence: str


def told() -> list[Told]:
    """All options of a model."""
    return [
        Told(each.name, KIND[str(each.type).partition(" ")[0]], each.default, SENTENCES[each.name])
        for each in fields(ModelOptions)
    ]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options of a model of events, as on the command line: each has a default that works.

    Options that name columns take one name, or several in a tuple or list. None leaves the kinds
    of columns to be guessed from their values.

    Parameters
    ----------
    regression
        Whether outcomes are numbers; labels otherwise.
    classes
        All labels, two or more. None: labels are added as they come.
    features
        The columns to use. None: all.
    number, category, text, tags, time, ignore
        Columns of each kind, and columns to leave out, as in `mixable.records.Columns`.
    decimal_comma
        Columns of numbers such as 1.234,50.
    day_first, month_first
        Columns of times such as 31/12/2024, or 12/31/2024.
    cross
        Pairs of columns whose values count together, such as "country*device".
    linear
        Whether the model is linear in numbers, which is faster.
    effort
        How much time a forecast may take: "low", "auto" or "high".
    no_memory
        True: no expert sees the labels before. For labels that do not depend on those just before,
        or that are known only much later.
    forecaster
        One linear forecaster of labels, by its short name, such as "gaf"; "auto" mixes over
        settings. None is the default model.
    lam, beta, alpha, drift
        How strongly the linear part is regularised, how much it learns from a label, how far it
        hedges and how fast it forgets, as in `mixable.GAF`. None mixes over several.
    level
        Of regression: the probability of intervals, between 0 and 1.
    remember
        How many forecasts may wait for their outcome; beyond, the oldest is forgotten.
    most_features, most_classes
        How many columns of numbers, and labels, may come that `features` and `classes` do not name.
        Events with more are rejected.

    Examples
    --------
    >>> ModelOptions(classes=["no", "yes"], category="user").to_json()
    {'classes': ['no', 'yes'], 'category': ['user']}
    """

    regression: bool = False
    classes: Names = None
    features: Names = None
    number: Names = None
    category: Names = None
    text: Names = None
    tags: Names = None
    time: Names = None
    ignore: Names = None
    decimal_comma: Names = None
    day_first: Names = None
    month_first: Names = None
    cross: Names = None
    linear: bool = False
    effort: str = "auto"
    no_memory: bool = False
    forecaster: str | None = None
    lam: float | None = None
    beta: float | None = None
    alpha: float | None = None
    drift: float | None = None
    level: float = 0.9
    remember: int = 10_000
    most_features: int = 2000
    most_classes: int = 100

    def __post_init__(self) -> None:
        """Refuse what cannot be meant, in a sentence."""
        for name, kind, default, _ in told():
            value = getattr(self, name)
            if value is not None or default is not None:
                object.__setattr__(self, name, _CHECKS[kind](value, name))
        if self.classes is not None and (self.regression or len(self.classes) < 2):
            why = "are for labels, not for regression" if self.regression else "must be two or more"
            raise ValueError(f"classes {why}, got {self.classes!r:.80}")
        if not 0 < self.level < 1:
            raise ValueError(f"level must be between 0 and 1, got {self.level:g}")
        for name, known in (("effort", EFFORTS), ("forecaster", tuple(forecasters()))):
            value = getattr(self, name)
            if value is not None and value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r:.80}")
        given = [
            name for name in ("forecaster", "beta", "alpha") if getattr(self, name) is not None
        ]
        if self.regression and self.no_memory:
            raise ValueError("no_memory is for labels, not for regression")
        if self.regression and given:
            raise ValueError(f"{given[0]} is for labels, not for regression")
        self.columns  # noqa: B018  # refuses columns that are of two kinds
        self.design()

    @property
    def columns(self) -> Columns | None:
        """What is declared of the columns; None if nothing."""
        given = {name: getattr(self, name) for name in (*KINDS, *FORMATS, "cross")}
        given = {name: names for name, names in given.items() if names is not None}
        return Columns(**given) if given else None

    @property
    def _fixed(self) -> dict[str, float | None]:
        names = ("lam", "drift") if self.regression else ("lam", "beta", "alpha", "drift")
        return {name: getattr(self, name) for name in names}

    @property
    def chooses_design(self) -> bool:
        """Whether anything is asked of the forecaster."""
        given = (self.forecaster, *self._fixed.values())
        chooses = self.linear or self.no_memory or self.effort != "auto"
        return chooses or any(each is not None for each in given)

    def design(self) -> Design:
        """The forecaster that is asked for."""
        kernel = None if self.linear or self.forecaster == "auto" else "auto"
        kind = None if self.forecaster is None else forecasters()[self.forecaster]
        kind = None if kind is AutoGAF else kind
        options: dict[str, Any] = {"kernel": kernel, "features": KERNEL, "effort": self.effort}
        try:
            if self.regression:
                design = design_of_numbers(self._fixed, **options)
            else:
                options["memory"] = not self.no_memory
                design = design_of_classes(kind, self._fixed, **options)
            RecordPool(design, 1, None if self.regression else 2)
        except TypeError as error:
            name = "" if self.forecaster is None else f"forecaster {self.forecaster}: "
            raise ValueError(f"{name}{error}") from None
        return design

    def to_json(self) -> dict[str, Any]:
        """What differs from the defaults."""
        values = {each.name: getattr(self, each.name) for each in told()}
        return {
            name: list(values[name]) if isinstance(values[name], tuple) else values[name]
            for name, _, default, _ in told()
            if values[name] != default
        }

    @classmethod
    def from_json(cls, values: Any, *, kinds: bool = True) -> ModelOptions:
        """The options of an object of JSON; `kinds`, {NAME: KIND}, may stand for lists of names."""
        if not isinstance(values, dict):
            raise ValueError(f"options must be an object of names and values, got {values!r:.80}")
        values = dict(values)
        named = values.pop("kinds", {}) if kinds else {}
        if not isinstance(named, dict):
            raise ValueError(f"kinds must be an object of names and kinds, got {named!r:.80}")
        for name, kind in named.items():
            if kind not in KINDS:
                raise ValueError(f"{name!r:.80} cannot be {kind!r:.80}: {', '.join(KINDS)} can be")
            values[kind] = [*_names(values.get(kind) or (), kind), name]
        try:
            return cls.named(values)
        except TypeError as error:
            raise ValueError(str(error)) from None

    @classmethod
    def named(cls, values: dict[str, Any]) -> ModelOptions:
        """The options of their names and values; TypeError if there is no such name."""
        for name in values:
            if name not in SENTENCES:
                others = f"{did_you_mean(name, SENTENCES)} (there are {', '.join(SENTENCES)})"
                raise TypeError(f"there is no option {name!r:.80}{others}")
        return cls(**values)

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The options as JSON Schema, for OpenAPI."""
        kinds: dict[str, Any] = {
            "flag": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "word": {"type": "string"},
            "real": {"type": "number"},
            "count": {"type": "integer", "minimum": 0},
        }
        each = {one.name: {**kinds[one.kind], "description": one.sentence} for one in told()}
        named = {"type": "object", "additionalProperties": {"type": "string", "enum": [*KINDS]}}
        return {"kinds": {**named, "description": "The kind of each column."}, **each}


def declared_options(columns: Columns) -> dict[str, Any]:
    """What is declared of columns, as options."""
    named = {name: list(names) for name, names in columns.__getstate__().items() if names}
    return {name: _names(names, name) for name, names in named.items()}


def _names(value: Any, name: str) -> tuple[str, ...]:
    """Different names: a list, or text with commas between; pairs are a*b."""
    given = [each.strip() for each in value.split(",")] if isinstance(value, str) else value
    if not isinstance(given, Iterable):
        raise ValueError(f"{name} must be names, got {value!r:.80}")
    names = []
    for each in given:
        is_pair = isinstance(each, list | tuple) and all(isinstance(one, str) for one in each)
        names.append("*".join(each) if name == "cross" and is_pair else each)
    is_sound = all(isinstance(each, str) and each for each in names)
    if not is_sound or len(set(names)) < len(names):
        raise ValueError(f"{name} must be different names with commas between, got {value!r:.80}")
    return tuple(names)


def _word(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a word, got {value!r:.80}")
    return value


def _sound(check: Any) -> Any:
    def checked(value: Any, name: str) -> Any:
        try:
            return check(value, name)
        except TypeError as error:
            raise ValueError(str(error)) from None

    return checked


_CHECKS = {
    "flag": _sound(_validate.flag),
    "names": _names,
    "word": _word,
    "real": _sound(_validate.real),
    "count": _sound(lambda value, name: _validate.count(value, name, least=0)),
}
