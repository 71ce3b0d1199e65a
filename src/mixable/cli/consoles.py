"""Where the commands write, and how: plain text. Nothing in a name is markup."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Iterator
from typing import TypeVar

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

T = TypeVar("T")


def for_tables() -> Console:
    """Standard output; tables are not folded where there is no terminal."""
    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = 140
    return console


def new_table(
    title: str, headings: Iterable[str], left: Container[str], caption: str | None = None
) -> Table:
    """A table without rows; what stands below the headings in `left` is text, the rest numbers."""
    table = Table(title=title, caption=caption)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right")
    return table


def tracked(items: Iterable[T], what: str, total: int | None = None) -> Iterable[T]:
    """The items, with a bar on standard error if that is a terminal."""
    console = Console(stderr=True)
    return track(items, what, total, console=console, disable=not console.is_terminal)


class Messages:
    """Lines on standard error that begin with `mixable: `."""

    def __init__(self) -> None:
        self.console = Console(
            stderr=True, soft_wrap=True, markup=False, emoji=False, highlight=False
        )

    def say(self, message: str, style: str | None = None) -> None:
        """Say what the user should know."""
        self.console.print(f"mixable: {printable(message)}", style=style)

    def fail(self, message: str) -> None:
        """Say what the user has to see to."""
        self.say(message, style="red")

    @contextlib.contextmanager
    def failing(self, *kinds: type[Exception], where: object) -> Iterator[None]:
        """End the command with exit code 2 and the reason if an error of such a kind is raised.

        So do errors of files; `where` is what they are about if they do not say so.
        """
        try:
            yield
        except OSError as error:
            reason = f"{error.filename or where}: {error.strerror or error}"
        except kinds as error:
            reason = str(error)
        else:
            return
        self.fail(reason)
        raise typer.Exit(2)


def printable(text: str) -> str:
    """Escape what could steer a terminal, break a line, or not be written at all."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
