"""The command line in tests: the real command, as a user meets it."""

import subprocess
import sysconfig
from pathlib import Path

from typer.testing import CliRunner

from mixable.cli.app import app

MIXABLE = str(Path(sysconfig.get_path("scripts")) / "mixable")


def mixable(*arguments, **options):
    return subprocess.run(
        [MIXABLE, *map(str, arguments)], capture_output=True, text=True, **options
    )


def in_process(*arguments):
    """The command in this process, which is quicker."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
