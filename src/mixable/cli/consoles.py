"""Where the commands write, and how: plain text. Nothing in a name is markup."""

from __future__ import annotations

from rich.console import Console


def for_tables() -> Console:
    """Standard output; tables are not folded where there is no terminal."""
    console = Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = 140
    return console


class Messages:
    """Lines on standard error that begin with `mixable: `."""

    def __init__(self) -> None:
        self.console = Console(
            stderr=True, soft_wrap=True, markup=False, emoji=False, highlight=False
        )

    def say(self, message: str) -> None:
        """Say what the user should know."""
        self.console.print(f"mixable: {printable(message)}")

    def fail(self, message: str) -> None:
        """Say what the user has to see to."""
        self.console.print(f"mixable: {printable(message)}", style="red")


def printable(text: str) -> str:
    """Escape what could steer a terminal, break a line, or not be written at all."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
