"""What the site does with tables and formulas (docs/_hooks)."""

import re
import runpy
from pathlib import Path

import pytest

HOOKS = Path(__file__).parent.parent / "docs" / "_hooks"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("1.37 (1.19 to 1.59)", True),
        ("25 of 39 (48% to 77%)", True),
        ("18 / 20 / 1", True),
        ("-2.2", True),
        ("2,494", True),
        ("VW --ftrl", False),
        ("-2.2, clearly", False),
        ("1.34 (+5.1) VW --ftrl", False),
        ("", False),
    ],
)
def test_figures_stay_on_one_line(text, whole):
    shown = runpy.run_path(str(HOOKS / "cells.py"))["on_page_content"](f"<td>{text}</td>")
    assert shown == (f'<td class="figures">{text}</td>' if whole else f"<td>{text}</td>")


def test_names_in_tables_may_break_and_read_as_before():
    cell = "<td><code>mx.bounds.class_frequencies(n, K)</code> of x_1</td>"
    shown = runpy.run_path(str(HOOKS / "cells.py"))["on_page_content"](cell)
    assert "<code>mx.<wbr>bounds.<wbr>class_<wbr>frequencies(<wbr>n, K)</code> of x_1" in shown
    assert re.sub("<wbr>", "", shown) == cell


@pytest.mark.parametrize("latex", ["x", r"\sum_{t=1}^n " + " + ".join(f"x_{k}" for k in range(20))])
def test_a_full_stop_stays_with_its_formula(latex):
    pytest.importorskip("latex2mathml")
    told = runpy.run_path(str(HOOKS / "mathml.py"))["on_page_content"]
    shown = told(rf'<span class="arithmatex">\({latex}\)</span>. Next')
    assert shown.endswith(".</span> Next")
