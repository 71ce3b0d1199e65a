"""Cells of tables on narrow screens: figures stay on one line, names in code may break."""

import re
from typing import Any

CELL = re.compile(r"<td>(.*?)</td>", re.DOTALL)
FIGURES = re.compile(r"[-+]?\d[\d.,%]*(?:\s(?:to|of|/|\(?[-+]?[\d.,%]+\)?))*")
CODE = re.compile(r"(<code>)(.*?)(</code>)", re.DOTALL)
# After these a name may break: mixable.bounds.class_frequencies(n, K).
BREAK = re.compile(r"(?<=\w)([._(=/]|::)(?=\w)")


def on_page_content(content: str, **_: Any) -> str:
    """Mark both."""
    return CELL.sub(lambda found: _cell(found[1]), content)


def _cell(text: str) -> str:
    if FIGURES.fullmatch(text):
        return f'<td class="figures">{text}</td>'
    return f"<td>{CODE.sub(_breaks, text)}</td>"


def _breaks(code: re.Match[str]) -> str:
    return code[1] + BREAK.sub(r"\1<wbr>", code[2]) + code[3]
