"""Asks `mixable serve` all that its schema of OpenAPI allows, and much that it does not.

    python tests/fuzz_serve.py [--cases 50] [--seed 0]      (pip install schemathesis)

Schemathesis makes the requests: `--cases` of each kind for each route. No answer may be a 5xx, and
each must be as the schema says. At the end the service stops, and every model must be what its
log makes of a new one. Exits with 1 if something was found.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from serve_command import Server, same_models, saved

from mixable._config import one_blas_thread
from mixable.events import EventModel
from mixable.events.applying import Applier
from mixable.events.store import Store

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)


if __name__ == "fuzz_serve":  # Schemathesis imports this to learn what JSON lines are
    import schemathesis

    @schemathesis.serializer("application/x-ndjson")
    def _lines(_, value):
        return f"{json.dumps(value)}\n".encode() * 2


def ask(port, cases, seed):
    """Let Schemathesis ask; whether it has found anything."""
    here = {"SCHEMATHESIS_HOOKS": "fuzz_serve", "PYTHONPATH": str(Path(__file__).parent)}
    statuses = []
    for which, path, checks in (
        ("--exclude-path-regex", "/(live|events)$", CHECKS),  # /live goes on for ever
        ("--include-path-regex", "/events$", CHECKS[:-2]),  # bad lines have errors of their own
    ):
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run"),
            *(f"http://127.0.0.1:{port}/openapi.json", which, path),
            *("--checks", ",".join(checks), "--phases", "examples,coverage,fuzzing"),
            *("--max-examples", str(cases), "--seed", str(seed), "--request-timeout", "30"),
            *("--generation-database", "none", "--suppress-health-check", "all"),
            *("--continue-on-failure", "--no-color"),
        ]
        statuses.append(subprocess.run(command, check=False, env=os.environ | here).returncode)
    return any(statuses)


def disturbed(folder):
    """The models that are not what their log makes of a new one."""
    store = Store(folder, read_only=True)
    out = []
    for name, key in store.models().items():
        model, rest = saved(folder, name)
        fresh = EventModel(store.options(name))
        with one_blas_thread():
            Applier(model).all(rest)
            Applier(fresh).all(store.since(key))
        # Those that were rolled back know less than the log.
        if not store.saved(key)[0] and not same_models(model, fresh):
            out.append(name)
    store.close()
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        server = Server(folder / "models", "--linear", "--seconds", 1)
        status = ask(server.port, options.cases, options.seed)
        assert server.end() == 0, server.said
        wrong = disturbed(folder / "models")
        trouble = "Traceback" in server.said
        print(server.said if trouble else "", f"models that differ from their log: {len(wrong)}")
    finally:
        shutil.rmtree(folder)
    sys.exit(bool(status or wrong or trouble))


if __name__ == "__main__":
    main()
