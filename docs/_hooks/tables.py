"""What pages take from the package: the table of forecasters, and the way through the paper.

The forecasters' pages are added to the navigation.
"""

import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# The file alone: the package need not be built to build the site.
FORECASTERS = runpy.run_path(str(ROOT / "src/mixable/experts/table.py"))["FORECASTERS"]
PLACE = "<!-- the table of forecasters -->"
PAPER = "<!-- the paper, section by section -->"


def on_config(config: Any) -> Any:
    """Add a page for each forecaster to the navigation."""
    pages = next(each["Forecasters"] for each in config.nav if "Forecasters" in each)
    pages += [{entry.name: f"forecasters/{entry.page}.md"} for entry in FORECASTERS]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table of forecasters, and the way through the paper, where a page asks for them."""
    markdown = markdown.replace(PLACE, "\n".join(_table())) if PLACE in markdown else markdown
    return markdown.replace(PAPER, _sections()) if PAPER in markdown else markdown


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
