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
TUPLES = {"Bin", "Components", "NoiseExpert", "Constants", "Curve", "Expert", "Followed", "Kept"}
TUPLES |= {"Row", "Rung"}


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


def is_truth(node):
    """Whether an expression can only be true or false, or an array of such."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd | ast.BitOr) and is_truth(node.left)
    if isinstance(node, ast.Subscript):
        return is_truth(node.value)
    if isinstance(node, ast.Call):
        called = node.func
        names = ("bool", "isnan", "isinf", "isfinite", "isinstance", "any", "all")
        return getattr(called, "id", getattr(called, "attr", None)) in names
    if isinstance(node, ast.Attribute):
        return node.attr == "awake"
    return isinstance(node, ast.Compare) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def counts_truths(node):
    """Whether an expression computes with truths as if they were numbers."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
        return is_truth(node.left) or is_truth(node.right)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return is_truth(node.value)
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "id", getattr(node.func, "attr", None))
    if name not in ("sum", "mean", "cumsum", "fmean", "prod"):
        return False
    first = [getattr(each, "elt", each) for each in node.args[:1]]
    return any(map(is_truth, [*first, getattr(node.func, "value", None)]))


def test_the_finder_of_counted_truths_finds_them():
    for bad in ("sum(a > b for a in c)", "(x == y).mean()", "n + (a < b)", "f.awake.sum()"):
        assert any(map(counts_truths, ast.walk(ast.parse(bad)))), bad
    for good in ("len([a for a in c if a > b])", "(a < b) & (b < c)", "x[y > 0].sum()"):
        assert not any(map(counts_truths, ast.walk(ast.parse(good)))), good


def is_choice_within_another(node):
    """Whether a conditional expression has one as a part."""
    parts = (node.test, node.body, node.orelse) if isinstance(node, ast.IfExp) else ()
    return any(isinstance(part, ast.IfExp) for part in parts)


def test_the_finder_of_choices_finds_them():
    assert any(map(is_choice_within_another, ast.walk(ast.parse("a if b else c if d else e"))))


def test_truths_are_not_numbers_and_choices_are_not_within_others():
    """`np.count_nonzero`, `len` of a list and `np.where` say what is meant."""
    bad = [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for folder in ("src", "tests", "benchmarks", "examples")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if counts_truths(node) or is_choice_within_another(node)
    ]
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
UNTESTED = {"_types", "__main__", "streaming/errors"}


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
