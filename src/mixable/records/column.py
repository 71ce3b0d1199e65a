"""What the kinds of columns have in common: one cell into a row, and one column into a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable._types import Array
from mixable.records.cells import elected
from mixable.records.declaration import Name, name_text
from mixable.records.tables import Cells

Keys = NDArray[np.uint64]
Values = NDArray[np.float32]
Ends = NDArray[np.int64]
Votes = NDArray[Any]  # +1, -1 or 0 for each row

COUNTS = ("n", "missing", "words", "unclear", "cut")
"""What columns count: records and missing values, then what is counted of some kinds only."""

RECONSIDERED = (16, 128, 1024)
"""Records after which a kind that was guessed is guessed again."""

ALL, WITHOUT_BINS, NOTHING = 0, 1, 2
"""What experts on keys see of a place in the dense part: Shown of core/inputs/shapes.hpp."""


class Draft:
    """A row in the making."""

    __slots__ = ("categories", "dense", "keys", "values")

    def __init__(self, dense: list[float], n_categories: int = 0) -> None:
        self.dense = dense
        self.categories = [0] * n_categories
        self.keys: list[int] = []
        self.values: list[float] = []

    def put(self, *keys: int) -> None:
        """Add keys whose value is 1."""
        self.keys += keys
        self.values += [1.0] * len(keys)


@dataclass(slots=True, kw_only=True)
class Part:
    """One column of a table, staged: the keys of its rows, and what `commit` learns."""

    counts: Ends  # (n,) keys of each row
    keys: Keys  # of all rows, one after the other
    values: Values | None = None  # None: all are 1
    dense: Array | None = None  # (n, places of the column)
    categories: Keys | None = None  # (n,) the key of each row's one value; 0: missing, or a list
    cells: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> Ends:
        """The row of each key."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


class Column:
    """A column of one kind: what it has learned of its values.

    `plain` checks a cell, `put` writes a plain cell into a draft, `learn` learns it. `stage` and
    `commit` do the same for a column of a table: numpy takes about 50 us for a column of one row,
    which is ten times as much. Only `learn` and `commit` change anything.
    """

    kind: ClassVar[str]
    plain_types: ClassVar[tuple[type, ...]] = (type(None),)  # what `plain` returns
    dense_parts: ClassVar[tuple[str, ...]] = ()  # places that the column has from the beginning
    saved: ClassVar[tuple[str, ...]] = ("name", "guessed", "was", "n", "missing", "places")

    def __init__(self, name: Name, *, guessed: bool = False) -> None:
        self.name = name
        self.guessed = guessed
        self.was: tuple[str, int] | None = None  # another kind, until this many records
        self.n = 0  # records learned that had the column
        self.missing = 0  # of them, without a value
        self.places: list[int] = []
        self.shown = (ALL,) * len(self.dense_parts)  # of each of those
        self.key = _core.hash_string(name_text(name), 0)
        self.missing_key = _core.join_keys(self.key, 1)

    @property
    def may_change(self) -> bool:
        """Whether its kind, or how its values are read, is guessed again."""
        return self.guessed

    def key_of(self, value: str | None) -> int:
        """The key of a text, or of what is missing."""
        return self.missing_key if value is None else _core.hash_string(value, self.key)

    def plain(self, cell: Any) -> Any:
        """A cell of this kind, checked."""
        raise NotImplementedError

    def put(self, cell: Any, draft: Draft) -> None:
        """Write a plain cell into a row."""
        raise NotImplementedError

    def put_absent(self, draft: Draft) -> None:
        """What a record without this column has."""

    def crossed(self, draft: Draft, begin: int) -> list[int]:
        """The keys that a cell has in crosses: those it has put into a row from `begin` on."""
        return draft.keys[begin:]

    def learn(self, cell: Any, most: int) -> None:
        """Learn a plain cell; at most so many values are remembered by name."""
        self.n += 1
        if cell is None:
            self.missing += 1

    def learn_absent(self) -> None:
        """Learn a record without this column."""

    def stage(self, cells: Cells) -> Part:
        """The column of a table, each row as `put` makes it after the rows above it."""
        raise NotImplementedError

    def crossed_part(self, part: Part) -> Part:
        """The keys that a column of a table has in crosses."""
        return part

    def commit(self, part: Part, rows: int, most: int) -> None:
        """Learn the first rows of what was staged."""
        raise NotImplementedError

    def texts(self, part: Part, rows: int) -> Iterable[tuple[int, str]]:
        """The texts of the first rows whose keys no dictionary of values has, with their row."""
        return ()

    def cell_at(self, part: Part, row: int) -> Any:
        """The plain cell of one row of what was staged."""
        raise NotImplementedError

    @property
    def taken_for(self) -> str:
        """Its kind, and how its values are read."""
        return self.kind

    def describe(self) -> str:
        """What there is to say of the column beyond its kind and how values are read."""
        return ""

    def label(self, value: str | None) -> str:
        """What a text is called, or what is missing."""
        return f"{self.name} is missing" if value is None else f"{self.name}={value:.80}"

    def labels(self, cell: Any) -> dict[int, str]:
        """What stands for each key of a plain cell."""
        return {self.key_of(cell): self.label(cell)}

    def cross_labels(self, cell: Any) -> dict[int, str]:
        """What stands for each key that a plain cell has in crosses."""
        return self.labels(cell)

    def key_names(self) -> dict[int, str]:
        """What stands for the keys that the column can name."""
        return {self.missing_key: self.label(None)}

    @property
    def bytes(self) -> int:
        """Memory, about."""
        return 500

    def state(self) -> dict[str, Any]:
        """All that was learned."""
        return {"kind": self.kind, **{name: getattr(self, name) for name in self.saved}}

    def combined(
        self, others: Sequence[Any], start: Column | None, base: Column | None, most: int
    ) -> dict[str, Any]:
        """The state of start + the sum of (each - base), for this column and others of its kind.

        What was counted under another kind is forgotten, but for records. None has no records.
        """
        every, out = [self, *others], self.state()
        for name in [name for name in COUNTS if hasattr(self, name)]:
            first, last = (
                getattr(each, name)
                if each is not None and (each.kind == self.kind or name in COUNTS[:2])
                else 0
                for each in (start, base)
            )
            out[name] = first + sum(getattr(each, name) - last for each in every)
        out["guessed"] = all(each.guessed for each in every) if start is None else start.guessed
        out["was"] = next((each.was for each in every if each.was is not None), None)
        return out

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` returned; ValueError if that cannot be."""
        self.guessed = _validate.flag(state["guessed"], "guessed")
        self.n = saved_count(state["n"], _validate.MOST_STEPS)
        self.missing = saved_count(state["missing"], self.n)
        if state["was"] is not None:
            kind, until = state["was"]
            if not isinstance(kind, str):
                raise ValueError("a saved kind must be text")
            self.was = kind, saved_count(until, _validate.MOST_STEPS)
        self.places = [saved_count(place, _validate.MOST_STEPS) for place in state["places"]]


class Ignored(Column):
    """A column that is left out; it is not staged."""

    kind = "ignore"

    @property
    def taken_for(self) -> str:
        return "ignored"

    def plain(self, cell: Any) -> None:
        return None

    def put(self, cell: None, draft: Draft) -> None:
        pass

    def learn(self, cell: Any, most: int) -> None:
        pass


class Formatted(Column):
    """A column whose texts can be read in two ways: which decimal mark, day or month first?

    A value such as 1,5 or 31/12/2024 can be read in one way only. It is read so, and votes. What
    can be read in two ways, such as 1,234 or 01/02/2024, goes by the format of the column, which
    the votes tell, or the user. While that is unknown, it is a word. Votes are counted when kinds
    are guessed again.
    """

    saved = (*Column.saved, "format", "is_given", "words", "unclear", "votes")
    formats: ClassVar[tuple[str, str]]  # what a vote of +1 and of -1 is for
    in_words: ClassVar[dict[str, str]]  # what a format is called, if it is worth saying
    either: ClassVar[str]  # what is unclear may be this or that
    remedy: ClassVar[str]  # what to declare then

    def __init__(self, name: Name, *, guessed: bool = False) -> None:
        super().__init__(name, guessed=guessed)
        self.format = ""  # "": unknown
        self.is_given = False  # declared
        self.votes = [0, 0]
        self.words = 0  # cells learned that could not be read
        self.unclear = 0  # of those, by the format only
        self.example = ""  # of what is unclear; not saved

    @property
    def may_change(self) -> bool:
        return not self.is_given

    def is_unclear(self, word: str) -> bool:
        """Whether only the format of its column tells what a text is."""
        raise NotImplementedError

    def vote_one(self, vote: int) -> None:
        """Count what the record that was just learned has told."""
        if vote and self.n <= RECONSIDERED[-1] and not self.is_given:
            self.votes[vote < 0] += 1

    def vote(self, votes: Votes) -> None:
        """Count what the next records tell, before they are learned; none is asked too late."""
        votes = votes[: max(RECONSIDERED[-1] - self.n, 0)]
        if not self.is_given:
            self.votes[0] += int(np.count_nonzero(votes > 0))
            self.votes[1] += int(np.count_nonzero(votes < 0))

    def combined(
        self, others: Sequence[Any], start: Column | None, base: Column | None, most: int
    ) -> dict[str, Any]:
        every = [self, *others]
        known = {each.format for each in every} - {""}
        if len(known) > 1:
            ways = " and ".join(sorted(known))
            raise ValueError(
                f"models read column {self.name!r:.80} in two ways ({ways}): declare how"
            )
        first, last = (
            each.votes if isinstance(each, Formatted) and each.kind == self.kind else (0, 0)
            for each in (start, base)
        )
        votes = [first[i] + sum(each.votes[i] - last[i] for each in every) for i in (0, 1)]
        out = super().combined(others, start, base, most)
        return {**out, "format": "".join(known), "votes": votes}

    def learn_words(self, words: Iterable[str]) -> None:
        """Count texts that could not be read."""
        for word in words:
            self.words += 1
            if not self.format and self.is_unclear(word):
                self.unclear += 1
                self.example = self.example or word

    def settle(self) -> None:
        """Decide on the format by the votes so far."""
        self.format = elected(self.votes, self.formats) or self.format

    @property
    def unreadable(self) -> int:
        """Cells learned that could not be read by the format as it is now."""
        return self.words - (self.unclear if self.format else 0)

    @property
    def taken_for(self) -> str:
        how = self.in_words.get(self.format, "")
        return f"{self.kind}, {how}" if how else self.kind

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.words = saved_count(state["words"], self.n - self.missing)
        # Older files have no formats.
        self.unclear = saved_count(state.get("unclear", 0), self.words)
        self.is_given = _validate.flag(state.get("is_given", False), "is_given")
        self.format = state.get("format", "")
        if self.format not in ("", *self.formats):
            raise ValueError(f"a saved {self.kind} has a format that is none")
        votes = state.get("votes", [0, 0])
        if not isinstance(votes, list) or len(votes) != 2:
            raise ValueError("saved votes must be two counts")
        self.votes = [saved_count(vote, self.n) for vote in votes]


def saved_count(value: Any, most: int) -> int:
    """A count from a file."""
    return _validate.count(value, "a saved count", least=0, most=most)
