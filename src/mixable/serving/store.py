"""The models of a service: a folder with a file for each, some of them in memory."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path

from mixable import persistence
from mixable._files import sync_folder, write_whole
from mixable.records import Columns
from mixable.serving.events import Features
from mixable.serving.importance import Importance
from mixable.serving.limits import RefusedError
from mixable.serving.model import ServedModel

# No name can be a path, and names that differ are files that differ, on every system.
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
SUFFIX = ".model"
DEFAULT = "default"
RECENT = 4


# A new model, with what a client declares of its columns.
Make = Callable[[Columns | None], ServedModel]


class Held:
    """A model in memory."""

    def __init__(self, name: str, model: ServedModel) -> None:
        self.name, self.model = name, model
        self.pins = 0  # what needs it in memory: events on their way to the disk, a checkpoint
        self.dirty = False  # whether it has learned something that its file has not
        # Records that came last, for those who watch.
        self.recent: deque[Features] = deque(maxlen=RECENT)
        self.importance = Importance()


class Models:
    """Models by name. Those used last are in memory; `make` makes a new one."""

    def __init__(self, folder: Path, make: Make, in_memory: int) -> None:
        self._folder, self._make, self._in_memory = folder, make, in_memory
        found = (path for path in folder.iterdir() if path.suffix == SUFFIX)
        self.names = {path.stem for path in found if NAME.fullmatch(path.stem)}
        self.loaded: OrderedDict[str, Held] = OrderedDict()

    def check(self, name: str) -> None:
        """Refuse a name that no model has."""
        if name not in self.names:
            raise RefusedError(404, f"no model is called {name!r:.80}; PUT /models/NAME makes one")

    def make(self, name: str, journal: str, place: int, columns: Columns | None = None) -> None:
        """Make a model and its file; entries of the journal up to `place` are not for it."""
        if NAME.fullmatch(name) is None:
            rule = "up to 64 of a-z, 0-9, - and _, a letter or digit first"
            raise RefusedError(422, f"{name!r:.80} cannot be a name: {rule}")
        model = self._make(columns)
        model.journal, model.place = journal, place
        self.write(name, persistence.to_bytes(model))
        self.names.add(name)

    def in_memory(self, name: str) -> Held | None:
        """A model that need not be read, as the one used last."""
        held = self.loaded.get(name)
        if held is not None:
            self.loaded.move_to_end(name)
        return held

    def read(self, name: str) -> ServedModel:
        """Read a model from its file."""
        model = persistence.load(self._folder / f"{name}{SUFFIX}")
        if not isinstance(model, ServedModel):
            kind = type(model).__name__
            raise ValueError(f"{name}{SUFFIX} holds a {kind}, not a model of mixable serve")
        return model

    def hold(self, name: str, model: ServedModel) -> Held:
        """Keep a model in memory."""
        return self.loaded.setdefault(name, Held(name, model))

    def write(self, name: str, data: bytes) -> None:
        """Write a model to its file, all or nothing."""
        write_whole(self._folder / f"{name}{SUFFIX}", data)

    def remove(self, name: str) -> None:
        """Remove the file of a model."""
        path = self._folder / f"{name}{SUFFIX}"
        path.unlink(missing_ok=True)
        sync_folder(path)

    @property
    def is_full(self) -> bool:
        """Whether more models are in memory than should be, and must be saved to go."""
        return len(self.loaded) > self._in_memory

    def let_go(self) -> None:
        """Forget models that were not used lately, if their files have all they have learned."""
        for held in list(self.loaded.values()):
            if not self.is_full:
                return
            if not held.dirty and not held.pins:
                del self.loaded[held.name]
