"""Habits of the code that its readers rely on: read from the package and from the sources."""

import ast
import enum
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import mixable

ROOT = Path(__file__).parent.parent
MOST = 3  # arguments without their names

# Results that are also tuples, since their readers unpack them; they are made by name.
TUPLES = {"Bin", "Components", "NoiseExpert", "Constants", "Curve", "Expert", "Followed"}
TUPLES |= {"Remembered", "Row", "Rung"}


def classes():
    """All classes of the package, compiled ones apart."""
    for module in pkgutil.walk_packages(mixable.__path__, "mixable."):
        if not module.name.startswith("mixable._core.") and module.name != "mixable.__main__":
            for kind in vars(importlib.import_module(module.name)).values():
                if isinstance(kind, type) and kind.__module__ == module.name:
                    yield kind


def unnamed_arguments(kind):
    """How many arguments of a constructor may come without their names."""
    if issubclass(kind, (enum.Enum, Exception, dict)):
        return 0
    parameters = inspect.signature(kind).parameters.values()
    return len(
        [
            each
            for each in parameters
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
    )


def test_constructors_take_more_than_three_arguments_by_name_only():
    many = {kind.__name__ for kind in classes() if unnamed_arguments(kind) > MOST}
    assert many == TUPLES


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks"])
def test_tuples_are_made_by_name(folder):
    bad = []
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) in TUPLES:
                unnamed = [each for each in node.args if not isinstance(each, ast.Starred)]
                if len(unnamed) > MOST:
                    bad.append(f"{path}:{node.lineno}")
    assert not bad


def test_names_of_types_are_used_where_there_is_one():
    named = ("NDArray[np.float64]", "NDArray[np.bool_]")
    spelled = [
        path
        for path in (ROOT / "src").rglob("*.py")
        if path.name != "_types.py" and any(each in path.read_text() for each in named)
    ]
    assert not spelled


# Without behaviour of their own: names of types and of errors, and what starts the command.
UNTESTED = {"_types", "__main__", "streaming"}


def test_every_module_has_tests_of_its_name():
    """`tests/folder/test_module.py`, or a folder of tests for one module."""
    package, tests = ROOT / "src" / "mixable", ROOT / "tests"
    missing = set()
    for path in package.rglob("*.py"):
        module = path.relative_to(package).with_suffix("")
        own = tests / module.parent / module.name.lstrip("_")
        has_tests = own.is_dir() or own.with_name(f"test_{own.name}.py").exists()
        if path.name != "__init__.py" and not has_tests:
            missing.add(module.as_posix())
    assert missing == UNTESTED


def test_no_file_of_tests_is_longer_than_400_lines():
    sizes = {path: len(path.read_text().splitlines()) for path in (ROOT / "tests").rglob("*.py")}
    assert not [path for path, lines in sizes.items() if lines > 400]


@pytest.mark.parametrize(
    ("folder", "kind", "most"), [("src/mixable", "*.py", 500), ("src", "*.[ch]pp", 500)]
)
def test_files_are_short_enough_to_be_read(folder, kind, most):
    sizes = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for path in (ROOT / folder).rglob(kind)
    }
    assert sizes
    assert not {path: lines for path, lines in sizes.items() if lines > most}
