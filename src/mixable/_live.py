"""The models of a bank that are in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from mixable import _core
from mixable._verbs import row_by_row

Key = str | int


class Entry:
    """A model in memory, its prior's number, whether it is to be saved, and what learns `rows`."""

    __slots__ = ("is_changed", "model", "prior", "rows")

    def __init__(self, model: Any, prior: int) -> None:
        self.model, self.prior, self.is_changed = model, prior, False
        self.rows = row_by_row(model)


class Live:
    """Models by key. Those not used lately come first.

    Those that are old go in turn, unless they are used before: then they are young. `age` lets all
    be old. To move a key at each use would take as long as a step.

    Young ones whose steps are all compiled are on the `shelf`, too, which finds them sooner. What
    they learn there is noted in their entries when somebody wants to know.
    """

    def __init__(self) -> None:
        self.young: dict[Key, Entry] = {}
        self.old: dict[Key, Entry] = {}
        self.shelf = _core.Shelf()

    def __len__(self) -> int:
        return len(self.young) + len(self.old)

    def __contains__(self, key: Key) -> bool:
        return key in self.young or key in self.old

    def __iter__(self) -> Iterator[Key]:
        yield from self.old
        yield from self.young

    def __getitem__(self, key: Key) -> Entry:
        return self.young.get(key) or self.old[key]

    def keep(self, key: Key, entry: Entry) -> None:
        """Let a model be young."""
        self.young[key] = entry
        if isinstance(entry.rows, _core.LabelModel):
            self.shelf.put(key, entry.rows)

    def hand_out(self, key: Key) -> Any:
        """The model of a young key: from now on others may change it, so all goes through it."""
        entry = self.young[key]
        plain = str(key) if isinstance(key, str) else int(key)  # the shelf knows no subclasses
        entry.is_changed |= self.shelf.drop(plain)
        entry.rows = row_by_row(entry.model, compiled=False)
        return entry.model

    def age(self) -> None:
        """Let all be old."""
        self._note()
        self.shelf.clear()
        self.old.update(self.young)
        self.young = {}

    def oldest(self, number: int) -> list[Key]:
        """Some keys that are old, those first that were not used for longest."""
        return list(islice(self.old, number))

    def changed(self) -> list[Key]:
        """The keys that are to be saved."""
        self._note()
        return [key for key in self if self[key].is_changed]

    def _note(self) -> None:
        for key in self.shelf.changed():
            self.young[key].is_changed = True
