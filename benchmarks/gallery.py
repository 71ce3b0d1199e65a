"""Draw the pictures of docs/gallery.md anew, by the code that stands there.

python -m benchmarks.gallery
"""

from __future__ import annotations

import argparse
import os
import re
import time
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "gallery.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[str]:
    """The code of the page, block by block."""
    return BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def main() -> None:
    """Run it in the folder of pictures."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    import matplotlib

    matplotlib.use("Agg")
    names: dict[str, object] = {}
    os.chdir(PAGE.parent / "img")
    for block in blocks():
        begin = time.perf_counter()
        exec(compile(block, PAGE.name, "exec"), names)
        for picture in re.findall(r'"(gallery-\w+\.\w+)"', block):
            size = Path(picture).stat().st_size // 1000
            print(f"{picture}: {size} kB, {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
