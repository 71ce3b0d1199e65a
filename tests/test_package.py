"""The package as installed: quick and lean to import, typed, its builds selectable, its documents
and style in order.
"""

import ast
import doctest
import importlib
import os
import pkgutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from conftest import runnable_builds
from make_stub import stub

import mixable
from mixable import _core

ROOT = Path(__file__).parent.parent


OPTIONAL = ("duckdb", "mlflow")  # modules that are named after what they need


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


APP = "from mixable.cli.app import app; app({!r}, standalone_mode=False)"
STREAM = ["stream", "events.csv", "--model", "model", "--target", "y"]
HEAVY = {"sklearn", "pandas", "polars", "pyarrow", "matplotlib", "river", "joblib", "asyncio"}
LATE = {  # what must not be imported when this is done: each costs processor time at the start
    "import mixable": HEAVY | {"numpy", "scipy", "typer", "rich", "mixable._core"},
    "import mixable; mixable.AutoGAF(2, 2)": HEAVY | {"scipy.linalg", "typer", "rich"},
    APP.format(["--help"]): HEAVY | {"numpy", "scipy"},
    APP.format(STREAM): HEAVY | {"scipy.linalg", "mixable.events.serve", "sqlite3"},
}


@pytest.mark.parametrize("code", LATE)
def test_what_a_start_does_not_need_is_not_imported(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("events.csv").write_text("a,b,y\n1,2,x\n")
    loaded = python(f"import sys\n{code}\nprint(); print(*sys.modules)").stdout.splitlines()[-1]
    assert {"mixable", "sys"} <= set(loaded.split())
    assert not LATE[code] & set(loaded.split())
    assert Path("model").exists() == ("stream" in code)


def test_builds_can_be_forced():
    for build in runnable_builds():
        if build != "plain":
            assert (
                python("import mixable; print(mixable._core.isa)", MIXABLE_ISA=build).stdout
                == f"{build}\n"
            )
    assert "names no build" in python("import mixable; mixable.GAF", MIXABLE_ISA="v9").stderr
    assert _core.isa == os.environ.get("MIXABLE_ISA", runnable_builds()[-1])


def test_a_build_that_the_machine_lacks_is_refused(monkeypatch):
    if _core.isa == "plain":
        return
    from mixable._core import _cpu

    monkeypatch.setattr(_cpu, "x86_level", lambda: 2)
    monkeypatch.setattr(_core, "_has", lambda build: build != "plain")
    monkeypatch.delenv("MIXABLE_ISA", raising=False)
    assert _core._choose() == "v2"
    monkeypatch.setenv("MIXABLE_ISA", "v4")
    with pytest.raises(ImportError, match="this machine can run only v2"):
        _core._choose()


@pytest.mark.parametrize(
    ("installed", "level", "chosen"),
    [
        (("v2", "v3"), 4, "v3"),
        (("v2", "v3"), 2, "v2"),
        (("v2", "v4"), 3, "v2"),
        (("v2", "v4"), 4, "v4"),
        (("v3",), 4, "v3"),
        (("v2", "v3", "v4"), 3, "v3"),
        (("plain",), 0, "plain"),
    ],
)
def test_the_best_of_the_installed_builds_is_chosen(monkeypatch, installed, level, chosen):
    monkeypatch.setattr(_core._cpu, "x86_level", lambda: level)
    monkeypatch.setattr(_core, "_has", lambda build: build in installed)
    monkeypatch.delenv("MIXABLE_ISA", raising=False)
    assert _core._choose() == chosen


def test_a_build_that_is_not_installed_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(_core._cpu, "x86_level", lambda: 4)
    monkeypatch.setattr(_core, "_has", lambda build: build in ("v2", "v3"))
    monkeypatch.setenv("MIXABLE_ISA", "v4")
    with pytest.raises(ImportError, match=r"has v2, v3; with MIXABLE_LEVELS=all"):
        _core._choose()


def test_a_machine_below_all_builds_is_told_so(monkeypatch):
    monkeypatch.setattr(_core._cpu, "x86_level", lambda: 2)
    monkeypatch.setattr(_core, "_has", lambda build: build == "v3")
    monkeypatch.delenv("MIXABLE_ISA", raising=False)
    with pytest.raises(ImportError, match=r"compiled for x86-64-v3 here.*at most v2"):
        _core._choose()


def test_dir_shows_the_public_names_and_each_is_there():
    assert dir(mixable) == sorted([*mixable.__all__, "river"])
    assert all(getattr(mixable, name) is not None for name in dir(mixable))
    assert "ONS" not in dir(mixable)


def test_each_name_is_reached_with_no_warning_and_others_are_guessed():
    """Also those that `dir` does not show; mypy finds each in the same place."""
    assert set(mixable.__all__) - {"show_config"} <= mixable._HOMES.keys()
    types = next(
        node for node in ast.parse(Path(mixable.__file__).read_text()).body if type(node) is ast.If
    )
    typed = {}
    for node in types.body:
        for each in node.names:
            whole = importlib.import_module(node.module)
            names = whole.__all__ if each.name == "*" else [each.name]
            typed |= dict.fromkeys(names, node.module)
    for name, home in mixable._HOMES.items():
        if name in OPTIONAL and find_spec(name) is None:
            continue
        found = getattr(mixable, name)  # a warning would be an error
        package, _, last = home.rpartition(".")
        is_module = last == name
        assert found is (
            importlib.import_module(home) if is_module else vars(sys.modules[home])[name]
        )
        assert typed[name] == (package if is_module else home)
    with pytest.raises(AttributeError, match=r"no attribute 'Foklore'; did you mean 'Folklore'\?"):
        mixable.Foklore  # noqa: B018


def test_the_package_can_be_read_without_river():
    code = """
import sys
sys.modules['river'] = None
from mixable import *
import pydoc
pydoc.render_doc('mixable')
"""
    assert not python(code).stderr


def test_modules_that_import_late_are_attributes():
    code = """
import sys, mixable
names = ("events", "kernels", "plots", "river")
assert not [name for name in names if f"mixable.{name}" in sys.modules]
print(*(getattr(mixable, name).__name__ for name in names))
"""
    assert python(code).stdout == "mixable.events mixable.kernels mixable.plots mixable.river\n"


def test_river_is_asked_for_by_name_of_the_extra(tmp_path):
    (tmp_path / "river.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'river'\", name='river')"
    )
    for code in ("import mixable.river", "import mixable; mixable.river"):
        last = python(code, PYTHONPATH=str(tmp_path)).stderr.splitlines()[-1]
        assert (
            last == 'ModuleNotFoundError: mixable.river needs river: pip install "mixable[river]"'
        )


def test_a_module_that_river_itself_lacks_is_named(tmp_path):
    (tmp_path / "river.py").write_text("import not_installed")
    assert (
        "No module named 'not_installed'"
        in python("import mixable.river", PYTHONPATH=str(tmp_path)).stderr.splitlines()[-1]
    )


def test_show_config_prints_what_a_bug_report_needs(capsys):
    mixable.show_config()
    out = capsys.readouterr().out
    for word in (
        f"mixable {mixable.__version__}",
        f"{_core.isa} build",
        "BLAS of",
        "threads",
        f"numpy {np.__version__}",
    ):
        assert word in out


def test_core_stub_is_in_step():
    """The stub is what nanobind's stubgen makes of the compiled core."""
    written = (Path(_core.__file__).parent / "__init__.pyi").read_text()
    assert written == stub(), "run python tests/make_stub.py"


MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(mixable.__path__, "mixable.")
    if "_core._" not in name and not name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_doctests_of_modules(name):
    if (library := name.removeprefix("mixable.")) in OPTIONAL:
        pytest.importorskip(library)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        [
            "clang-format",
            "--dry-run",
            "--Werror",
            *(str(path) for path in sorted((ROOT / "src").glob("**/*.[ch]pp"))),
        ],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_style(command):
    command = [str(Path(sysconfig.get_path("scripts")) / command[0]), *command[1:]]
    tool = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert tool.returncode == 0, tool.stdout + tool.stderr
