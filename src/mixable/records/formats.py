"""Columns whose texts can be read in two ways: which decimal mark, day or month first?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mixable import _core, _validate
from mixable.records.cells import UNCLEAR, saved_count
from mixable.records.column import RECONSIDERED, Column, Limits

Votes = NDArray[Any]  # +1, -1 or 0 for each row


class Formatted(Column):
    """A column that has a format, once its values have told, or the user has.

    A value such as 1,5 or 31/12/2024 can be read in one way only. It is read so, and votes. What
    can be read in two ways, such as 1,234 or 01/02/2024, goes by the format of the column. While
    that is unknown, it is a word. Votes are counted when kinds are guessed again.
    """

    formats: ClassVar[tuple[str, str]]  # what a vote of +1 and of -1 is for
    in_words: ClassVar[dict[str, str]]
    either: ClassVar[str]  # what is unclear may be this or that
    remedy: ClassVar[str]  # what to declare then

    def __init__(self, name: Any, *, guessed: bool = False) -> None:
        super().__init__(name, guessed=guessed)
        self.format = ""  # "": unknown
        self.is_given = False  # declared
        self.votes = (0, 0)
        self.words = 0  # cells learned that could not be read
        self.unclear = 0  # of those, by the format only
        self.example = ""  # of what is unclear; not saved

    @property
    def may_change(self) -> bool:
        return not self.is_given

    def is_unclear(self, word: str) -> bool:
        """Whether a text that could not be read could be with another format."""
        raise NotImplementedError

    def vote_one(self, vote: int) -> None:
        """Count what the record that was just learned has told."""
        if vote and self.n <= RECONSIDERED[-1] and not self.is_given:
            first, second = self.votes
            self.votes = (first + 1, second) if vote > 0 else (first, second + 1)

    def vote(self, votes: Votes) -> None:
        """Count what the next records tell, before they are learned; none is asked too late."""
        votes = votes[: max(RECONSIDERED[-1] - self.n, 0)]
        if len(votes) and not self.is_given:
            self.votes = (
                self.votes[0] + int(np.count_nonzero(votes > 0)),
                self.votes[1] + int(np.count_nonzero(votes < 0)),
            )

    def combined(
        self, others: Sequence[Any], start: Column | None, base: Column | None, limits: Limits
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
        out = super().combined(others, start, base, limits)
        return {**out, "format": "".join(known), "votes": votes}

    def learn_word(self, word: str) -> None:
        """Count a text that could not be read."""
        self.words += 1
        if self.is_unclear(word):
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

    def state(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("format", "is_given", "words", "unclear")}
        return {**super().state(), **own, "votes": list(self.votes)}

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
        self.votes = saved_count(votes[0], self.n), saved_count(votes[1], self.n)


def elected(votes: tuple[int, int], formats: tuple[str, str]) -> str:
    """The format that has more votes; "" if there is none."""
    if votes[0] == votes[1]:
        return ""
    return formats[0] if votes[0] > votes[1] else formats[1]


def votes_of(texts: Sequence[str], counts: Iterable[int] | None = None) -> dict[str, Any]:
    """What some texts tell: votes by kind, of numbers for "." and of times for "day"."""
    weight = np.ones(len(texts)) if counts is None else np.array(list(counts), np.float64)
    found: dict[str, Votes] = {
        "number": _core.read_numbers(list(texts), "")[2],
        "time": _core.read_times(list(texts), "")[:, 2],
    }
    return {
        kind: (int(weight[votes > 0].sum()), int(weight[votes < 0].sum()))
        for kind, votes in found.items()
    }


def is_unclear_number(text: str) -> bool:
    """Whether only the mark of its column tells which number a text is."""
    return _core.read_number(text, "")[1] == UNCLEAR


def is_unclear_time(text: str) -> bool:
    """Whether only the order of its column tells which day a text is."""
    moment = _core.read_time(text, "")
    return moment is not None and moment[0] != moment[0]
