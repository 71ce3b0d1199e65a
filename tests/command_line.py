"""The command line in tests: the real command, as a user meets it."""

import atexit
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path

from typer.testing import CliRunner

from mixable.cli.app import app

MIXABLE = str(Path(sysconfig.get_path("scripts")) / "mixable")

# Importing takes a second of each command. So a process that has done so begins each one as a
# child of its own, with files for what it says.
BEGINNER = """
import json, os, sys, traceback
import mixable.experiments, mixable.plots, mixable.streaming
import mixable.cli.app, mixable.cli.race, mixable.cli.stream
import matplotlib.pyplot, polars, rich.live, sklearn.kernel_approximation
from mixable.cli import main

for line in sys.stdin:
    order = json.loads(line)
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    status = 1
    try:
        os.chdir(order["folder"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, name in ((1, "out"), (2, "err")):
            path = os.path.join(order["files"], name)
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
        sys.argv = ["mixable", *map(str, order["arguments"])]
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
"""


@cache
def _beginner():
    process = subprocess.Popen(
        [sys.executable, "-c", BEGINNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)
    return process


def mixable(*arguments, cwd="."):
    """The command in a process of its own, and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        order = {"folder": os.path.abspath(cwd), "files": folder, "arguments": arguments}
        _beginner().stdin.write(json.dumps(order, default=str) + "\n")
        _beginner().stdin.flush()
        status = int(_beginner().stdout.readline())
        out, err = ((Path(folder) / name).read_text() for name in ("out", "err"))
    return subprocess.CompletedProcess(arguments, status, out, err)


def in_process(*arguments):
    """The command in this process, which is quicker."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
