"""What pages take from elsewhere: table of forecasters, way through the paper, changelog, and large
tables of the leaderboard (a link to a heading of their file becomes what stands below it).

The forecasters' pages are added to the navigation.
"""

import re
import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# The file alone: the package need not be built to build the site.
FORECASTERS = runpy.run_path(str(ROOT / "src/mixable/experts/table.py"))["FORECASTERS"]
PLACE = "<!-- the table of forecasters -->"
PAPER = "<!-- the paper, section by section -->"
CHANGES = "<!-- the changelog -->"
BOARD = ROOT / "benchmarks" / "leaderboard" / "tables.md"
LINK = re.compile(r"^\[table: [^]]*\]\([^)]*/tables\.md#([\w-]+)\)$", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Add a page for each forecaster to the navigation."""
    reference = next(each["Reference"] for each in config.nav if "Reference" in each)
    pages = next(each["Forecasters"] for each in reference if "Forecasters" in each)
    pages += [{entry.name: f"forecasters/{entry.page}.md"} for entry in FORECASTERS]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table, the way through the paper and the changelog where a page asks for them."""
    markdown = markdown.replace(PLACE, "\n".join(_table())) if PLACE in markdown else markdown
    markdown = markdown.replace(PAPER, _sections()) if PAPER in markdown else markdown
    markdown = markdown.replace(CHANGES, _changes()) if CHANGES in markdown else markdown
    return LINK.sub(lambda found: _board()[found[1]], markdown)


def _board() -> dict[str, str]:
    """The leaderboard's tables, by the anchors of their headings."""
    sections = BOARD.read_text(encoding="utf-8").split("\n## ")[1:]
    titled = (section.partition("\n") for section in sections)
    return {re.sub(r"\W+", "-", title.lower()): body.strip() for title, _, body in titled}


def _changes() -> str:
    """CHANGELOG.md without its title: its links as the site has them, its groups as headings."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n")[2]
    text = re.sub(r"^([A-Z][^\n]*)\n(?=- )", r"**\1**\n\n", text, flags=re.MULTILINE)
    return re.sub(r"\]\((?:docs/|(?=[a-z]+:))", "](", text)


def _sections() -> str:
    """The README of the paper's room without its introduction, a level deeper."""
    text = (ROOT / "src/mixable/paper/README.md").read_text(encoding="utf-8")
    return text[text.index("\n## ") :].replace("\n## ", "\n### ")


def _table() -> list[str]:
    return [
        "| forecaster | forecasts | keeps a posterior | `mixable race` | `mixable stream` |",
        "|---|---|---|---|---|",
        *(
            f"| [`{entry.name}`]({entry.page}.md) | {entry.forecasts} "
            f"| {'yes' if entry.has_posterior else 'no'} "
            f"| {f'`{entry.short}`' if entry.short else ''} | {'yes' if entry.streams else ''} |"
            for entry in FORECASTERS
        ),
    ]
