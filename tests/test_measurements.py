r"""Numbers that the documents quote: tables and sentences name their command, and what is marked as
results is what that command printed.

`benchmarks/results/NAME.md` is what a command printed; its first line is the command. A page quotes
lines of it between `<!-- results: NAME -->` and `<!-- /results -->`, each mark on its own line. A
sentence may stand there as well: each of its numbers must have been printed. Constants that nobody
measured are written as code (`0.01`) and are not counted. A page may also only name the file, with
its path, for those who want all of it. To write such a file:

    command='python benchmarks/points.py'
    (echo "\$ $command"; $command) > benchmarks/results/points.md

and to measure all of a page anew: `python -m benchmarks.quote docs/benchmarks/theory.md`.
"""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])
RESULTS = ROOT / "benchmarks" / "results"
MARK = re.compile(r"<!-- results: ([\w-]+) -->\n(.*?)<!-- /results -->", re.DOTALL)
NAMED = re.compile(r"`benchmarks/results/([\w-]+)\.md`")
BOARD = re.compile(r"<!-- board: [^>]+ -->.*?<!-- /board -->", re.DOTALL)
FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^## +(.+)$", re.MULTILINE)
# A command, a script, or a test by its name.
COMMAND = re.compile(
    r"python (?:-m )?(?P<script>(?:benchmarks|examples|tests)[/.][\w/.]+)"
    r"|`(?P<part>(?:benchmarks|examples)/\w+\.py)"
    r"|mixable (?:race|table1|hard-regime|kernels)\b"
    r"|test_\w+\.py"
)
FRACTION = re.compile(r"(?<![\w.,])[-+]?\d*\.\d+(?!\w|\.\w)")

# In sentences: fractions, and whole numbers with a unit of measurements.
MEASURED = re.compile(
    FRACTION.pattern + r"|(?<![\w.,-])\d+(?:,\d+)*(?:%| (?:times|us|ms|MB|MiB|GB|nats)\b)"
)
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d[\d,]*)?\.?\d+")
VERSION = re.compile(r"(?:Python|CC BY|arXiv:|Wabbit|Section|[Vv]ersion) ?[\d.]+")

# Sections whose numbers nobody measured: values of formulas, constants of a rule and limits of a
# program, or what the code beside them prints.
NOT_MEASURED = {
    ("docs/benchmarks/leaderboard.md", "How it was done"),
    ("docs/benchmarks/regression.md", ""),
    ("docs/explanation/comparison.md", ""),
    ("docs/explanation/errata.md", ""),
    ("docs/explanation/no-tuning.md", ""),
    ("docs/explanation/proofs.md", "The largest beta"),
    ("docs/explanation/proofs.md", "The tight constants"),
    ("docs/explanation/theory.md", "The default"),
    ("docs/explanation/theory.md", "The theorem"),
    ("docs/faq.md", "Why is the log loss of a short stream so large?"),
    ("docs/forecasters/generic-gaf.md", ""),
    ("docs/forecasters/sparse-gaf.md", "Memory"),
    ("docs/guides/moving.md", "From Vowpal Wabbit"),
    ("docs/guides/nonlinear.md", "What is in the pool"),
    ("docs/guides/plots.md", "Can its probabilities be believed?"),
    ("docs/guides/plots.md", "Is it learning?"),
    ("docs/guides/records.md", "Memory"),
    ("docs/guides/regression.md", ""),
    ("docs/guides/regression.md", "What to know"),
    ("docs/guides/river.md", "Evaluation"),
    ("docs/guides/scikit-learn.md", "Frames with text and categories"),
    ("docs/guides/scores.md", ""),
    ("docs/guides/sensors.md", "Intervals, and an alarm"),
    ("docs/guides/serve.md", "Calls"),
    ("docs/guides/stream.md", ""),
    ("docs/guides/stream.md", "Answers"),
    ("docs/guides/stream.md", "Bad events"),
    ("docs/guides/stream.md", "Nothing is lost"),
    ("docs/install.md", ""),
    ("docs/reference/glossary.md", ""),
    ("docs/tutorial.md", "First forecasts"),
}


def sections(text):
    """(title, body) of each section of the second level; what is quoted from the leaderboard is
    left out, since tests/test_leaderboard.py compares it.
    """
    parts = SECTION.split(BOARD.sub("", text))
    return [("", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]


def fractions_in_tables(body):
    rows = [line for line in FENCE.sub("", body).splitlines() if line.startswith("|")]
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "", "\n".join(rows))
    return FRACTION.findall(VERSION.sub("", text))


def numbers_in_sentences(body):
    lines = [line for line in FENCE.sub("", body).splitlines() if not line.startswith("|")]
    text = re.sub(r"\$\$.*?\$\$", "", "\n".join(lines), flags=re.DOTALL)
    text = re.sub(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)|<!--.*?-->", "", text)
    return MEASURED.findall(VERSION.sub("", text))


def unnamed(text):
    """Titles of sections with a table or a sentence of measurements, and no command beside it."""
    return [
        title
        for title, body in sections(text)
        if (len(fractions_in_tables(body)) >= 3 or numbers_in_sentences(body))
        and not COMMAND.search(body)
    ]


def value(number):
    """Of ".5", "1,200 us" or "5%"."""
    return float(re.sub(r"[^-\d.]", "", number))


def misquoted(text):
    """Lines of tables that are marked as results, and are not among what the command printed;
    numbers of sentences that it did not print.
    """
    wrong = []
    for name, body in MARK.findall(text):
        command, *printed = (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines()
        if command.removeprefix("$ ") not in text:
            wrong.append(command)
        tables = [line for line in body.splitlines() if line.startswith("|")]
        wrong += [line for line in tables if line not in printed]
        values = {value(number) for number in NUMBER.findall("\n".join(printed))}
        wrong += [number for number in numbers_in_sentences(body) if value(number) not in values]
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_measurements_name_their_command(page):
    name = page.relative_to(ROOT).as_posix()
    found = {(name, title) for title in unnamed(page.read_text(encoding="utf-8"))}
    assert found - NOT_MEASURED == set()


def uncompared(name, text):
    """How many measured numbers of a page no test compares with a file of results."""
    return sum(
        len(fractions_in_tables(body)) + len(numbers_in_sentences(body))
        for title, body in sections(MARK.sub("", text))
        if (name, title) not in NOT_MEASURED
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_measured_number_is_compared(page):
    name = page.relative_to(ROOT).as_posix()
    assert uncompared(name, page.read_text(encoding="utf-8")) == 0, (
        "quote the new numbers from benchmarks/results (see the top of this file)"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_that_are_named_exist(page):
    for found in COMMAND.finditer(page.read_text(encoding="utf-8")):
        script = found["script"] or found["part"]
        if script and not script.endswith(".py"):
            package = ROOT / script.replace(".", "/")
            assert package.with_suffix(".py").exists() or (package / "__main__.py").exists(), script
        elif script:
            assert (ROOT / script).exists(), script


@pytest.mark.parametrize(
    "script", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem
)
def test_benchmarks_find_what_they_import(script, monkeypatch):
    for folder in (ROOT, script.parent):  # some import each other, as scripts or as a package
        monkeypatch.syspath_prepend(str(folder))
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # they set it; this takes it back
    spec = importlib.util.spec_from_file_location(f"benchmark_{script.stem}", script)
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] in ("mixable", "benchmarks"):
            raise
        pytest.skip(f"{error.name} is not installed")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_results_are_quoted_as_they_were_printed(page):
    text = page.read_text(encoding="utf-8")
    assert misquoted(text) == []
    assert (
        text.count("<!-- results: ") == text.count("<!-- /results -->") == len(MARK.findall(text))
    )


def test_results_are_used_somewhere():
    """Quoted by a page, or named by it."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    names = {name for name, _ in MARK.findall(text)} | set(NAMED.findall(text))
    assert names == {path.stem for path in RESULTS.glob("*.md")}


def test_a_page_is_rewritten_by_what_is_printed_now(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))  # benchmarks are no part of what is installed
    from benchmarks.quote import rewritten

    page = "It is:\n<!-- results: a -->\n| x | 1 |\n<!-- /results -->\n| x | 1 |\n"
    before, after = ["| x |", "| x | 1 |"], ["| x |", "| x | 2 |"]
    assert rewritten(page, "a", before, after) == page.replace("| 1 |", "| 2 |", 1)
    assert rewritten(page, "b", before, after) == page
    with pytest.raises(SystemExit, match="quote anew"):
        rewritten(page, "a", before, after[:1])


def test_what_is_wrong_is_found():
    assert uncompared("page", "## A\n\nIt is .5 long, at most .7.\n| a | .25 |\n") == 3
    table = "| a | .1 |\n| b | .2 |\n| c | .3 |\n"
    assert unnamed(f"## Numbers\n\n{table}") == ["Numbers"]
    assert unnamed(f"## Numbers\n\n`python benchmarks/core.py`:\n\n{table}") == []
    for sentence in ("It is 5% larger.", "It takes 1,200 us.", "The loss is .54, or 0.6."):
        assert unnamed(f"## Numbers\n\n{sentence}") == ["Numbers"], sentence
    assert unnamed("## Words\n\nPython 3.10 takes `0.5` of 12 rows.") == []
    path = RESULTS / "kernels.md"
    command, line = path.read_text(encoding="utf-8").splitlines()[::3][:2]
    right = f"`{command[2:]}`\n<!-- results: {path.stem} -->\n{line}\n<!-- /results -->\n"
    assert misquoted(right) == []
    assert misquoted(right.replace("0.", "9.")) != []
    assert misquoted(right.replace("python", "")) == [command]
    printed = line.split("|")[4].strip()
    said = right.replace("<!-- /", f"It is {printed} where x is `.7`.\n<!-- /")
    assert misquoted(said) == []
    assert misquoted(said.replace(f"is {printed} ", "is .98765 ")) == [".98765"]
