"""Formulas as MathML, made when the site is built: pages need no script and no network for them.

`pymdownx.arithmatex` has marked the formulas; browsers show MathML by themselves.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page."""

    def mathml(found: re.Match[str]) -> str:
        shown = found.group(2) == "["
        return convert(
            html.unescape(found.group(3)).strip(), display="block" if shown else "inline"
        )

    return FORMULA.sub(mathml, content)
