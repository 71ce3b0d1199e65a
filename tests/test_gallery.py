"""The gallery: each picture is there and comes from code of the page, which test_documents runs."""

import re
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # benchmarks are no part of what is installed

from benchmarks.gallery import PAGE, blocks  # noqa: E402

TEXT = PAGE.read_text(encoding="utf-8")


def test_each_picture_is_drawn_by_the_code_below_it():
    sections = [part for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:] if "```" in part]
    assert len(sections) >= 7
    for section in sections:
        shown = re.findall(r"!\[[^\]]{20,}\]\(img/(gallery-[\w-]+\.(?:png|gif))\)", section)
        assert len(shown) == 1, section
        assert re.findall(r'\.save(?:fig)?\("([^"]+)"', section) == shown
    assert "".join(blocks()).count("gallery-") == len(sections)


def test_pictures_are_there_and_small():
    pictures = re.findall(r"\(img/(gallery-[\w.-]+)\)", TEXT)
    for name in pictures:
        path = ROOT / "docs" / "img" / name
        with Image.open(path) as picture:
            assert picture.width >= 400
            assert getattr(picture, "n_frames", 1) >= (20 if path.suffix == ".gif" else 1)
        assert 5_000 < path.stat().st_size < 250_000
    kept = {path.name for path in (ROOT / "docs" / "img").glob("gallery-*")}
    assert kept == {name for name in pictures if name.startswith("gallery-")}
