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

# Importing takes a second or more of each command. So a process that has done so begins each one
# as a child of its own, with files for what it says.
BEGINNER = """
import json, os, runpy, sys, traceback
import matplotlib.pyplot, pandas, polars, rich.live, sklearn.kernel_approximation
import mixable.cli.app, mixable.estimators, mixable.events.stream, mixable.plots, mixable.river
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
        for number in (1, 2):
            kind = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            os.dup2(os.open(order["files"][number - 1], kind), number)
        os.environ.update(order["environment"])
        sys.argv = order["arguments"]
        if sys.argv[0] == "mixable":
            main()
        else:
            sys.path[0] = os.path.dirname(sys.argv[0])
            runpy.run_path(sys.argv[0], run_name="__main__")
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


def begun(*arguments, cwd=".", together=False, **environment):
    """`mixable` or a script, begun in a process of its own, and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("out", "out" if together else "err")]
        order = {"folder": os.path.abspath(cwd), "files": files, "environment": environment}
        order["arguments"] = [str(argument) for argument in arguments]
        _beginner().stdin.write(json.dumps(order) + "\n")
        _beginner().stdin.flush()
        status = int(_beginner().stdout.readline())
        out, err = (Path(name).read_text() for name in files)
    return subprocess.CompletedProcess(arguments, status, out, err)


def mixable(*arguments, **options):
    return begun("mixable", *arguments, **options)


def in_process(*arguments):
    """The command in this process, which is quicker."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
