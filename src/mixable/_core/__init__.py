"""Picks the build of the compiled core that suits this machine best.

`MIXABLE_ISA=v2|v3|v4` forces one of the x86-64 builds.
"""

import importlib
import importlib.util
import os

from mixable._core import _cpu

ALL_BUILDS = "with MIXABLE_LEVELS=all in the environment, pip compiles v2, v3 and v4"


def _has(build: str) -> bool:
    return importlib.util.find_spec(f"mixable._core._{build}") is not None


def _choose() -> str:
    level = _cpu.x86_level()
    if _has("plain"):
        builds, able = ["plain"], ["plain"]
    else:
        builds = [build for build in ("v2", "v3", "v4") if _has(build)]
        able = [build for build in builds if int(build[1:]) <= level]
    wanted = os.environ.get("MIXABLE_ISA", "")
    if wanted and wanted not in builds:
        hint = f"; {ALL_BUILDS}" if wanted in ("v2", "v3", "v4") and "plain" not in builds else ""
        raise ImportError(
            f"MIXABLE_ISA={wanted!r} names no build of mixable; this installation has "
            f"{', '.join(builds)}{hint}"
        )
    if wanted and wanted not in able:
        raise ImportError(
            f"MIXABLE_ISA={wanted!r}, but this machine can run only "
            f"{', '.join(able) or 'none of the builds'}"
        )
    if not able:
        raise ImportError(
            f"mixable was compiled for x86-64-{', '.join(builds) or 'no level'} here, and this "
            f"machine's processor has at most v{level}; compile it anew here, for v2 or later"
        )
    return wanted or able[-1]


def missing_build() -> str:
    """A faster build that this machine could run, and this installation lacks; or nothing."""
    best = f"v{_cpu.x86_level()}"
    lacks = not _has("plain") and best in ("v3", "v4") and not _has(best)
    return best if lacks else ""


_module = importlib.import_module(f"mixable._core._{_choose()}")
globals().update(
    {name: getattr(_module, name) for name in dir(_module) if not name.startswith("_")}
)
