"""Each page as Markdown beside it, and `llms.txt`, a list of them: for programs that read."""

import re
from pathlib import Path
from typing import Any

MARK = re.compile(r"[*`]|\[([^]]*)\]\([^)]*\)")
PAGES: dict[str, str] = {}


def _summary(text: str) -> str:
    """The first paragraph that is a sentence, without its marks."""
    for part in re.split(r"\n\s*\n", text):
        if part[:1].isalpha() or part.startswith(("*", "`", "[")):
            return MARK.sub(r"\1", " ".join(part.split()))[:200]
    return ""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Keep a page as it is once other hooks have filled it (docs/_hooks/tables.py)."""
    PAGES[page.file.src_uri] = markdown


def on_post_build(config: Any) -> None:
    """Write them."""
    site = Path(config.site_dir)
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for name, text in sorted(PAGES.items()):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, encoding="utf-8")
        title = next((x[2:] for x in text.splitlines() if x.startswith("# ")), Path(name).stem)
        about = _summary(text)
        lines.append(f"- [{title}]({name}){': ' + about if about else ''}")
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
