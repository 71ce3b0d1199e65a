"""Every code block of README, CONTRIBUTING and the site is executed: page by page, block after
block, in an empty folder.

| block | what is done with it |
|---|---|
| `python` with `>>>` | a doctest; all of a page share their names |
| `python` without | executed, with the same names |
| any language with `title="name"` | written to a file of that name |
| `console` | lines that begin with `$ ` are given to bash; what follows is what they print |
| `text` | shown, not run |

In what is printed `...` stands for anything. Commands that install are not run, since tests don't
use the network. Of benchmarks, and of commands with a comment such as `# 8 minutes`, only the
options are checked.
"""

import doctest
import inspect
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import textwrap
from functools import cache
from pathlib import Path

import pytest
from command_line import begun

import mixable as mx

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("**/*.md")])
FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
TEST = re.compile(r"`(?:tests/)?((?:\w+/)*test_\w+)(\.py)?`")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
INSTALLS = ("pip install", "python -m venv", "git clone", ". .venv", "cd mixable")


def same(expected, got):
    return doctest.OutputChecker().check_output(expected, got, FLAGS)


def run_python(text, where, names):
    test = doctest.DocTestParser().get_doctest(text, names, where, where, 0)
    if test.examples:
        test.globs = names
        assert doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False).failed == 0, (
            where
        )
    else:
        exec(compile(text, where, "exec"), names)


def run_console(text, where):
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        length = next(i for i, line in enumerate(lines, 1) if not line.rstrip().endswith("\\"))
        command, expected = "".join(lines[:length]).strip(), "".join(lines[length:])
        if command.startswith(INSTALLS):
            continue
        benchmark = command.startswith("python -m benchmarks.")
        if benchmark or re.search(r"# .*minutes", command):
            program = " ".join(command.split()[: 3 if benchmark else 2])
            known = shell(f"{program} --help", COLUMNS="200", PYTHONPATH=str(ROOT)).stdout
            missing = [
                option for option in re.findall(r"(?<= )--[a-z-]+", command) if option not in known
            ]
            assert not missing, f"{where}: {command}: {missing}"
            continue
        done = shell(command)
        assert done.returncode == 0, f"{where}: {command}\n{done.stdout}"
        assert not expected or same(expected, done.stdout), (
            f"{where}: {command}\nexpected:\n{expected}\ngot:\n{done.stdout}"
        )


def shell(command, **environment):
    """What a terminal would show of a command, standard error included."""
    if command.startswith("mixable ") and not re.search("[|&;<>$`]", command):
        words = shlex.split(command.replace("\\\n", " "))
        return begun(*words, together=True, **environment)
    path = os.pathsep.join(
        [sysconfig.get_path("scripts"), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_code_blocks(document, tmp_path, monkeypatch, servers_end):
    monkeypatch.chdir(tmp_path)
    names, text = {"__name__": "__main__"}, document.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        _, language, info, block = fence.groups()
        block = textwrap.dedent(block)
        where = f"{document.name}, line {text[: fence.start()].count(chr(10)) + 1}"
        title = re.search(r'title="([^"]+)"', info)
        if title:
            Path(title.group(1)).write_text(block, encoding="utf-8")
        elif language == "python":
            run_python(block, where, names)
        elif language == "console":
            run_console(block, where)
        else:
            assert language == "text", f"{where}: no rule for blocks of {language!r}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_example_prints_a_bare_truth_value(document):
    """A number or a word shows more than True."""
    bare = re.findall(r"^(?:True|False)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    assert not bare


@cache
def files_and_tests():
    files = {path.relative_to(ROOT / "tests").as_posix() for path in ROOT.glob("tests/**/*.py")}
    functions = {
        name
        for path in ROOT.glob("tests/**/test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    return files, functions


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_tests_that_are_named_are_there(document):
    files, functions = files_and_tests()
    named = {name + suffix for name, suffix in TEST.findall(document.read_text(encoding="utf-8"))}
    assert not {name for name in named if not name.endswith(".py")} - functions
    assert not {
        name
        for name in named
        if name.endswith(".py") and not any(f"/{file}".endswith(f"/{name}") for file in files)
    }


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem
)
def test_examples_print_what_they_say(example, tmp_path, monkeypatch):
    """The comment at the end of an example is its output."""
    monkeypatch.chdir(tmp_path)
    lines = example.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 85
    expected = "".join(line[2:] + "\n" for line in lines[lines.index("# Output:") + 1 :])
    done = begun(example, together=True)
    assert done.returncode == 0, done.stdout
    assert same(expected, done.stdout), done.stdout


def test_the_pages_count_the_experts_as_they_are():
    """No tuning: 29 of AutoGAF, 38 of the estimators, 858 of AutoRidge."""
    page = (ROOT / "docs" / "explanation" / "no-tuning.md").read_text()
    linear = mx.GAFClassifier(kernel=None).partial_fit([[0.0], [1.0]], [0, 1])
    for model in (mx.AutoGAF(2, 3), linear.forecaster_, mx.AutoRidge(2)):
        assert str(len(model.experts)) in page
    assumed = inspect.signature(mx.bounds.auto_gaf).parameters["experts"].default
    assert len(mx.AutoGAF(2, 3).experts) == assumed
