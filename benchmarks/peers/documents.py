"""The documents' share of a race: what stands between `<!-- peers: NAME -->` and `<!-- /peers -->`.

NAME is one of `parts`, or a number as `quotes.py` names it. A test compares what stands there with
the committed results. Do not begin a line with the mark of a number: Markdown takes such a line for
HTML.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.peers import figures, text
from benchmarks.peers.quotes import quotes, times, told, value
from benchmarks.peers.results import Results

ROOT = Path(__file__).parent.parent.parent
MARK = re.compile(r"<!-- peers: ([^>]+?) -->(.*?)<!-- /peers -->", re.DOTALL)


def pages() -> list[Path]:
    """Every document that may quote the race."""
    return sorted([ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")])


def parts(results: Results) -> dict[str, str]:
    """Whole parts of the page about the race, by name."""
    out = {"told": told(results), "times": times(results), "machine": text.about(results)}
    for table in results.tables():
        out[f"losses-{table}"] = text.losses(results, table)
        out[f"summary-{table}"] = text.summary(results, table)
        out[f"details-{table}"] = text.details(results, table)
    return out


def rendered(document: str, results: Results) -> str:
    """A document with all that is quoted from the race as the results have it."""
    if not MARK.search(document):
        return document
    blocks, named = parts(results), quotes(results)

    def quoted(found: re.Match[str]) -> str:
        name = found[1]
        if name in blocks:
            body = f"\n\n{blocks[name]}\n\n"
        elif name in named:
            body = named[name]
        elif name.count("/") >= 3:
            body = value(results, name)
        else:
            raise ValueError(f"the race has no number of the name {name!r}")
        return f"<!-- peers: {name} -->{body}<!-- /peers -->"

    return MARK.sub(quoted, document)


def write(results: Results) -> None:
    """Bring documents and figures up to date."""
    for path in pages():
        old = path.read_text(encoding="utf-8")
        new = rendered(old, results)
        if new != old:
            path.write_text(new, encoding="utf-8")
            print(path.relative_to(ROOT))
    figures.draw_all(results, ROOT / "docs" / "img")
    print("docs/img/peers*.png")
