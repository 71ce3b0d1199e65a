"""Files are short enough to be read."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MOST = 500  # lines


@pytest.mark.parametrize(("folder", "kind"), [("src/mixable", "*.py"), ("src", "*.[ch]pp")])
def test_files_are_short_enough_to_be_read(folder, kind):
    sizes = {
        path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines())
        for path in (ROOT / folder).rglob(kind)
    }
    assert sizes
    assert not {path: lines for path, lines in sizes.items() if lines > MOST}
