"""The notebooks of examples/notebooks: their code runs, and what they show is what it prints.

Their cells are executed here, cell after cell with shared names, as Jupyter would: that needs no
Jupyter. A cell's last expression is printed, and compared with the output that is stored.
"""

import ast
import contextlib
import io
import json
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"))


def executed(source, names):
    """What a cell prints, and the value of its last line if it is an expression."""
    tree, shown = ast.parse(source), io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(shown):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    return shown.getvalue(), value


def stored(cell):
    """The text of a cell's output."""
    return "".join("".join(output["text"]) for output in cell["outputs"])


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_code_prints(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for place, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            printed, value = executed("".join(cell["source"]), names)
            assert printed == stored(cell), f"cell {place}"
            assert value is None or hasattr(value, "figure"), f"cell {place}: print it"
    assert "mx" in names
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one_that_jupyter_reads(path):
    """Version 4.5 of the format, without pictures and counts that would change at each run."""
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert book["cells"][0]["cell_type"] == "markdown"
    for cell in book["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert cell["execution_count"] is None
            assert all(output["output_type"] == "stream" for output in cell["outputs"])
    assert any(cell["cell_type"] == "code" and cell["outputs"] for cell in book["cells"])
