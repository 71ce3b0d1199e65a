"""The way through the paper, README.md: what it names is there, and nothing of the room is left
out.
"""

import re
from functools import reduce
from pathlib import Path

import pytest

import mixable as mx

ROOM = Path(mx.paper.__file__).parent
SOURCES = Path(__file__).parents[2] / "src"
TEXT = (ROOM / "README.md").read_text(encoding="utf-8")
SPANS = sorted(set(re.findall(r"`([^`]+)`", TEXT)))
FILES = [span for span in SPANS if re.fullmatch(r"[\w/]+\.(py|hpp)", span) and "tests" not in span]
NAMES = [
    span
    for span in SPANS
    if re.fullmatch(r"(bounds|integrals|losses|regret|kernels)\.(?!py)\w+", span)
]
CLASSES = [span for span in SPANS if re.fullmatch(r"[A-Z]\w+(\.\w+)?", span)]


@pytest.mark.parametrize("name", FILES)
def test_files_exist(name):
    folder = ROOM.parent if name.startswith("experts/") else ROOM
    assert ((SOURCES / "core" if name.endswith(".hpp") else folder) / name).exists()


@pytest.mark.parametrize("name", [*NAMES, *CLASSES])
def test_names_exist(name):
    if name != "Expectation":  # of the core
        assert reduce(getattr, name.split("."), mx) is not None


def test_no_module_of_the_room_is_left_out():
    modules = {path.relative_to(ROOM).as_posix() for path in ROOM.rglob("*.py")}
    assert {path for path in modules if not path.endswith("__init__.py")} <= set(FILES)


def test_the_table_of_contents_has_every_module():
    named = set(re.findall(r"^`(\w+)`", mx.paper.__doc__, flags=re.MULTILINE))
    assert named == set(mx.paper.__all__) == set(dir(mx.paper))
    assert {path.stem for path in ROOM.iterdir() if path.stem[0].islower()} == named
    assert all(getattr(mx.paper, name).__name__ == f"mixable.paper.{name}" for name in named)
    with pytest.raises(AttributeError, match="no attribute 'race'"):
        _ = mx.paper.race
