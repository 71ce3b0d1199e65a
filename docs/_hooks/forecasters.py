"""The forecasters' pages in the navigation, and their table, from the package's own table."""

import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# The file alone: the package need not be built to build the site.
FORECASTERS = runpy.run_path(str(ROOT / "src/mixable/forecasters/table.py"))["FORECASTERS"]
PLACE = "<!-- the table of forecasters -->"


def on_config(config: Any) -> Any:
    """Add a page for each forecaster to the navigation."""
    pages = next(each["Forecasters"] for each in config.nav if "Forecasters" in each)
    pages += [{entry.name: f"forecasters/{entry.page}.md"} for entry in FORECASTERS]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the table of forecasters where a page asks for it."""
    return markdown.replace(PLACE, "\n".join(_table())) if PLACE in markdown else markdown


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
