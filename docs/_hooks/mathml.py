"""Formulas as MathML, made when the site is built: pages need no script and no network for them.

`pymdownx.arithmatex` has marked the formulas; browsers show MathML by themselves.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
# latex2mathml leaves no space around the names of functions: "k ln N" would be "klnN".
FUNCTION = re.compile(r"(<mi>(?:ln|log|exp)</mi>)(<mo)?")
LONG = 70  # characters of LaTeX: an inline formula of more can be wider than a phone


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page. Those that may be wide get a box that scrolls."""

    def mathml(found: re.Match[str]) -> str:
        latex = html.unescape(found.group(3)).strip()
        if found.group(2) == "[":
            return f'<div class="formula">{_spaced(convert(latex, display="block"))}</div>'
        formula = _spaced(convert(latex, display="inline"))
        return f'<span class="long">{formula}</span>' if len(latex) > LONG else formula

    return FORMULA.sub(mathml, content)


def _spaced(formula: str) -> str:
    thin = '<mspace width="0.17em"/>'
    return FUNCTION.sub(lambda f: thin + f[1] + (f[2] or thin), formula)
