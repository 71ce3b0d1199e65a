"""After a crash: the models learn what the journal has, and they have not."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mixable import persistence
from mixable.serving import events, journal
from mixable.serving.limits import ModelLimits, RefusedError
from mixable.serving.store import Held, Models


def as_entry(name: str, text: bytes) -> bytes:
    """An event of a model, as the journal has it."""
    return b'["%s",%s]' % (name.encode(), text)


def recover(folder: Path, models: Models, say: Callable[[str], None]) -> tuple[str | None, int]:
    """Go through the journal; return what it is known by, and the number of its next entry."""
    known: str | None = None
    following, learned, strangers = 1, 0, set()
    for part in journal.parts(folder):
        known, limits = part.id, ModelLimits.from_json(part.limits)
        following = journal.number_of(part.path) + len(part.entries)
        for number, line in part.entries:
            name, _, text = line[2:-1].partition(b'",')
            held = _held(models, name.decode())
            if held is None:
                strangers.add(name.decode())
            elif held.model.journal != known or number > held.model.place:
                held.model.journal, held.model.place, held.dirty = known, number, True
                learned += 1
                with suppress(RefusedError):  # as it was at the time
                    held.model.apply(events.read(text, limits), limits)
        journal.cut(part)
        if part.torn:
            say(
                f"cut {part.torn} bytes off the journal: a crash left them, nobody was told of them"
            )
    if learned:
        say(f"took {learned:,} events from the journal")
    if strangers:
        say(f"the journal has events of models that are gone: {', '.join(sorted(strangers))}")
    return known, following


def _held(models: Models, name: str) -> Held | None:
    """The model of that name, in memory; None if there is none."""
    held = models.in_memory(name)
    if held is None and name in models.names:
        held = models.hold(name, models.read(name))
        if models.is_full:  # more than fit are saved at once
            oldest = next(iter(models.loaded.values()))
            models.write(oldest.name, persistence.to_bytes(oldest.model))
            oldest.dirty = False
            models.let_go()
    return held
