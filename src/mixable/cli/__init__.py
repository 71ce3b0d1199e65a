"""The command line, `mixable`: files, terminals and pictures; no algebra."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line, or say what is missing."""
    if sys.argv[1:2] in (
        ["stream"],
        ["serve"],
    ):  # which promises to end in peace; imports take a while
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end_before_it_began)
    try:
        import typer  # noqa: F401  # only to see whether the extra is installed
    except ModuleNotFoundError:
        sys.exit('mixable: the command line needs more packages: pip install "mixable[cli]"')
    from mixable.cli.app import app

    app(prog_name="mixable")  # also as `python -m mixable`


def _end_before_it_began(number: int, frame: FrameType | None) -> None:
    """Nothing has been read or written yet."""
    os.write(2, b"mixable: stopped before the first event\n")
    os._exit(0)
