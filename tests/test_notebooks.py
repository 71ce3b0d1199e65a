"""The notebooks of examples/notebooks: their code runs, and what they show is what it prints.

Their cells are executed by benchmarks/notebooks.py, cell after cell with shared names, as Jupyter
would. That needs no Jupyter.
"""

import json
import sys
from pathlib import Path

import matplotlib
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks are no part of what is installed

from benchmarks.notebooks import BOOKS, run  # noqa: E402

matplotlib.use("Agg")
each = pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)


def test_there_are_notebooks():
    assert len(BOOKS) >= 3


@each
def test_a_notebook_shows_what_its_code_prints(path, tmp_path, monkeypatch, servers_end):
    """If this fails: python -m benchmarks.notebooks"""
    monkeypatch.chdir(tmp_path)
    for cell, printed, value in run(json.loads(path.read_text(encoding="utf-8"))):
        stored = "".join("".join(output["text"]) for output in cell["outputs"])
        assert printed == stored
        assert not {"True", "False"} & set(printed.splitlines())
        assert value is None or hasattr(value, "figure")  # numbers are printed, and compared
    matplotlib.pyplot.close("all")


@each
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
