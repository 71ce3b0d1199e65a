"""Files, and the pages of the site together, are short enough to be read."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST = 500  # lines
MOST_WORDS = 30_000  # of all pages, with the tables that are put into them
WORD = re.compile(r"\S*[^\W_]\S*")  # it has a letter or a digit: the bars of a table are no words


@pytest.mark.parametrize(("folder", "kind"), [("src/mixable", "*.py"), ("src", "*.[ch]pp")])
def test_files_are_short_enough_to_be_read(folder, kind):
    sizes = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for path in (ROOT / folder).rglob(kind)
    }
    assert sizes
    assert not {path: lines for path, lines in sizes.items() if lines > MOST}


def test_the_site_is_short_enough_to_be_read():
    """Code, tables and formulas count. To say more on one page, say less on another."""
    pages = [*(ROOT / "docs").glob("**/*.md"), ROOT / "benchmarks" / "leaderboard" / "tables.md"]
    words = {
        page.relative_to(ROOT).as_posix(): len(WORD.findall(page.read_text(encoding="utf-8")))
        for page in pages
    }
    assert len(words) > 70
    assert sum(words.values()) <= MOST_WORDS
