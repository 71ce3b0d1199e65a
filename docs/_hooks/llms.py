"""Each page as Markdown beside it, and `llms.txt`, a list of them: for programs that read."""

import re
from pathlib import Path
from typing import Any

MARK = re.compile(r"[*`]|\[([^]]*)\]\([^)]*\)")


def _summary(text: str) -> str:
    """The first paragraph that is a sentence, without its marks."""
    for part in re.split(r"\n\s*\n", text):
        if part[:1].isalpha() or part.startswith(("*", "`", "[")):
            return MARK.sub(r"\1", " ".join(part.split()))[:200]
    return ""


def on_post_build(config: Any) -> None:
    """Write them."""
    source, site = Path(config.docs_dir), Path(config.site_dir)
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for path in sorted(source.rglob("*.md")):
        name = path.relative_to(source)
        text = path.read_text()
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
        title = next((x[2:] for x in text.splitlines() if x.startswith("# ")), name.stem)
        about = _summary(text)
        lines.append(f"- [{title}]({name.as_posix()}){': ' + about if about else ''}")
    (site / "llms.txt").write_text("\n".join(lines) + "\n")
