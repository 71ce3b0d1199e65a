"""Every public name has an entry in the reference."""

import inspect
import re
from pathlib import Path

import pytest

import mixable as mx

ROOT = Path(__file__).parent.parent
ENTRIES = {
    entry
    for page in (ROOT / "docs").glob("**/*.md")
    for entry in re.findall(
        r"^::: (mixable[\w.]*)$", page.read_text(encoding="utf-8"), re.MULTILINE
    )
}
OLD = {"streaming"}  # the name that `events` had


def public(module):
    """The functions and classes that a module offers: `__all__`, or what is written in it."""
    names = getattr(module, "__all__", None) or [
        name for name, each in vars(module).items()
        if not name.startswith("_") and getattr(each, "__module__", None) == module.__name__
    ]  # fmt: skip
    found = {name: getattr(module, name) for name in names}
    return {
        n: each for n, each in found.items() if inspect.isclass(each) or inspect.isroutine(each)
    }


def has_entry(thing):
    """By itself, or within that of a module or package that it is in."""
    parts = thing.__module__.split(".")
    homes = {".".join(parts[: k + 1]) for k in range(len(parts))}
    return bool({*homes, *(f"{home}.{thing.__name__}" for home in homes)} & ENTRIES)


@pytest.mark.parametrize("name", sorted(n for n in set(mx._HOMES) - OLD if n[0] != "_"))
def test_public_names_are_in_the_reference(name):
    try:
        thing = getattr(mx, name)
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    if not inspect.ismodule(thing):
        assert has_entry(thing)
        return
    assert [own for own, each in public(thing).items() if not has_entry(each)] == []


def test_entries_are_of_public_modules_only():
    parts = {part for entry in ENTRIES for part in entry.split(".")}
    assert not [part for part in parts if part.startswith("_")]
