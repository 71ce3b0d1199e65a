"""What the user says of the columns: one declaration for every interface."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from mixable._spelling import did_you_mean

Name = Hashable
KINDS = ("number", "category", "text", "tags", "time", "ignore")
FORMATS = {
    "decimal_comma": ("number", ","),
    "day_first": ("time", "day"),
    "month_first": ("time", "month"),
}


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The kinds of columns; those that are not named are guessed from their values.

    Parameters
    ----------
    number, category, text, tags, time, ignore
        Names of columns of each kind. Integers are numbers unless they are declared as categories;
        numbers are times (seconds since 1970) only if they are declared as such.
    decimal_comma
        Columns of numbers whose decimal mark is a comma, such as 1.234,50: there 1.234 is 1234.
    day_first, month_first
        Columns of times whose dates are 31/12/2024, or 12/31/2024.
    cross
        Pairs of columns whose values count together, each pair of values by itself.

    Examples
    --------
    >>> Columns(category=["user"], cross=[("carrier", "origin")]).kind("user")
    'category'
    """

    number: tuple[Name, ...] = ()
    category: tuple[Name, ...] = ()
    text: tuple[Name, ...] = ()
    tags: tuple[Name, ...] = ()
    time: tuple[Name, ...] = ()
    ignore: tuple[Name, ...] = ()
    cross: tuple[tuple[Name, Name], ...] = ()
    decimal_comma: tuple[Name, ...] = ()
    day_first: tuple[Name, ...] = ()
    month_first: tuple[Name, ...] = ()

    def __post_init__(self) -> None:
        kinds: dict[Name, str] = {}
        formats: dict[Name, str] = {}
        for option in (*KINDS, *FORMATS):
            names = _names(getattr(self, option), option)
            object.__setattr__(self, option, names)
            kind, format_ = FORMATS.get(option, (option, ""))
            for name in names:
                if kinds.setdefault(name, kind) != kind:
                    raise ValueError(f"column {name!r:.80} is both {kinds[name]} and {kind}")
                if format_ and formats.setdefault(name, format_) != format_:
                    raise ValueError(f"column {name!r:.80} is both day_first and month_first")
        pairs = tuple(_pair(pair) for pair in _listed(self.cross, "cross"))
        for name in (name for pair in pairs for name in pair):
            if kinds.get(name) == "ignore":
                raise ValueError(f"column {name!r:.80} is both ignored and crossed")
        object.__setattr__(self, "cross", tuple(dict.fromkeys(pairs)))
        object.__setattr__(self, "_kinds", kinds)
        object.__setattr__(self, "_formats", formats)

    def kind(self, name: Name) -> str | None:
        """The kind that was declared of a column; None if it is to be guessed."""
        kinds: dict[Name, str] = self.__dict__["_kinds"]
        return kinds.get(name)

    def format(self, name: Name) -> str | None:
        """How the values of a column are read, if that was declared: ",", "day" or "month"."""
        formats: dict[Name, str] = self.__dict__["_formats"]
        return formats.get(name)

    @property
    def names(self) -> list[Name]:
        """Every column that is named."""
        kinds: dict[Name, str] = self.__dict__["_kinds"]
        return list(dict.fromkeys([*kinds, *(name for pair in self.cross for name in pair)]))

    def refuse_unknown(self, known: Iterable[Name], where: str) -> None:
        """Refuse a name that is not among those of a table."""
        there = list(known)
        for name in self.names:
            if name not in there:
                texts = [each for each in there if isinstance(each, str)]
                raise ValueError(
                    f"{where} has no column {name!r:.80}, which is declared"
                    f"{did_you_mean(name, texts)} (it has {', '.join(map(str, there)):.300})"
                )

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def _listed(value: Any, what: str) -> list[Any]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{what} must be a list of columns, got {value!r:.80}")
    return list(value)


def _names(value: Any, kind: str) -> tuple[Name, ...]:
    names = [value] if isinstance(value, str) else _listed(value, kind)
    return tuple(dict.fromkeys(checked_name(name) for name in names))


def _pair(value: Any) -> tuple[Name, Name]:
    names = value.split("*") if isinstance(value, str) else _listed(value, "cross")
    if len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"a cross must be two different columns, got {value!r:.80}")
    return checked_name(names[0]), checked_name(names[1])


def checked_name(name: Any) -> Name:
    """A name that is the same on every machine: text, a number, or a tuple of them."""
    if isinstance(name, tuple):
        for part in name:
            checked_name(part)
    elif name is not None and not isinstance(name, (str, bool, int, float)):
        raise TypeError(
            f"the name of a column must be text, a number or a tuple of them, got "
            f"{type(name).__name__}"
        )
    checked: Name = name
    return checked


def name_text(name: Name) -> str:
    """What a name is hashed as: 1 and "1" differ."""
    return name if isinstance(name, str) else f"\0{type(name).__name__} {name!r}"
