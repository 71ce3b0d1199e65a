"""The command line, `mixable`: files, terminals and pictures; no algebra."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what is missing."""
    try:
        import typer  # noqa: F401  # only to see whether the extra is installed
    except ModuleNotFoundError:
        sys.exit('mixable: the command line needs more packages: pip install "mixable[cli]"')
    from mixable.cli.app import app

    app()
