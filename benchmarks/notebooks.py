"""Run the notebooks of examples/notebooks, and store what they print.

python -m benchmarks.notebooks

Pictures and counts of runs are not stored, since they change at each run. Cells are executed one
after the other with shared names, as Jupyter would; so Jupyter is not needed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BOOKS = sorted((Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"))


def executed(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last line if that is an expression."""
    tree, shown = ast.parse(source), io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(shown):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return shown.getvalue(), value


def run(book: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """Each cell of code with what it prints and its value."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            yield cell, *executed("".join(cell["source"]), names)


def main() -> None:
    """Write the outputs into the notebooks."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    import matplotlib

    matplotlib.use("Agg")
    for path in BOOKS:
        book = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for cell, text, _ in run(book):
                lines = text.splitlines(keepends=True)
                stream = {"name": "stdout", "output_type": "stream", "text": lines}
                cell.update(execution_count=None, outputs=[stream] if text else [])
            os.chdir(path.parent)
        path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(path.name)


if __name__ == "__main__":
    main()
