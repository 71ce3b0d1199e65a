"""Formulas as MathML, made when the site is built: pages need no script and no network for them.

`pymdownx.arithmatex` has marked the formulas; browsers show MathML by themselves.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>([.,;:)]*)', re.DOTALL
)
# latex2mathml leaves no space around the names of functions: "k ln N" would be "klnN".
FUNCTION = re.compile(r"(<mi>(?:ln|log|exp)</mi>)(<mo)?")
# Nor does it say that bars and strokes are no operators: "|x|/2" would be "| x | / 2".
TIGHT = re.compile(r"<mo( stretchy=\"false\")?>(?=&#x0007C;|&#x0002F;)")
LONG = 60  # characters of LaTeX: an inline formula of more can be wider than a phone


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page. Those that may be wide get a box that scrolls."""

    def mathml(found: re.Match[str]) -> str:
        latex = html.unescape(found.group(3)).strip()
        after = found.group(4)
        if found.group(2) == "[":
            return f'<div class="formula">{_spaced(convert(latex, display="block"))}</div>{after}'
        formula = _spaced(convert(latex, display="inline"))
        if len(latex) > LONG:
            return f'<span class="long">{formula}{after}</span>'
        # A comma stays on the line of its formula.
        return f'<span class="whole">{formula}{after}</span>' if after else formula

    return FORMULA.sub(mathml, content)


def _spaced(formula: str) -> str:
    thin = '<mspace width="0.17em"/>'
    formula = TIGHT.sub(r'<mo\1 lspace="0" rspace="0">', formula)
    formula = formula.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")
    return FUNCTION.sub(lambda f: thin + f[1] + (f[2] or thin), formula)
