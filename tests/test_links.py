"""Relative links of README, CONTRIBUTING, CHANGELOG and the site lead to a file that is there, and
to a heading that is there.
"""

import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
# [text](target), ![text](target) and [text](target "title").
LINK = re.compile(r"\]\(<?([^()\s<>]+)>?(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")


def links(text):
    """The relative links of a page, without those that are code."""
    return [each for each in LINK.findall(CODE.sub("", text)) if not ELSEWHERE.match(each)]


def anchors(text):
    """The names that MkDocs gives to the headings of a page."""
    fences = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.MULTILINE | re.DOTALL)
    titles = [re.sub(r"\]\([^)]*\)|[`*]", "", title) for title in HEADING.findall(fences)]
    plain = [unicodedata.normalize("NFKD", t).encode("ascii", "ignore").decode() for t in titles]
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", t).strip().lower()) for t in plain}


def broken(page):
    """Links of a page that lead nowhere."""
    found = links(page.read_text(encoding="utf-8"))
    return [link for link in found if not leads_somewhere(page, link)]


def leads_somewhere(page, link):
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return False
    if not anchor or target.suffix != ".md":
        return True
    text = target.read_text(encoding="utf-8")
    # Anchors such as mixable.GAF are made from docstrings when the site is built.
    return anchor in anchors(text) or f"::: {anchor}" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_lead_somewhere(page):
    assert broken(page) == []


def test_links_that_lead_nowhere_are_found(tmp_path):
    page = tmp_path / "page.md"
    (tmp_path / "there.md").write_text("# A title, with `code`\n", encoding="utf-8")
    page.write_text(
        "[a](there.md) [b](there.md#a-title-with-code) ![c](gone.png) [d](there.md#gone)\n"
        "`[e](code.md)` [f](https://example.org/gone)\n\n```\n[h](code.md)\n```\n"
        '[i](also-gone.md "title") [j](#page)\n\n# Page\n',
        encoding="utf-8",
    )
    assert broken(page) == ["gone.png", "there.md#gone", "also-gone.md"]
