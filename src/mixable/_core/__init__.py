"""Picks the build of the compiled core that suits this machine best.

`MIXABLE_ISA=v2|v3|v4` forces one of the x86-64 builds.
"""

import importlib
import importlib.util
import os

from mixable._core import _cpu


def _choose() -> str:
    level = _cpu.x86_level()
    if importlib.util.find_spec("mixable._core._plain") is not None:
        builds, able = ["plain"], ["plain"]
    else:
        builds = ["v2", "v3", "v4"]
        able = [f"v{i}" for i in range(2, level + 1)]
    wanted = os.environ.get("MIXABLE_ISA", "")
    if wanted and wanted not in builds:
        raise ImportError(
            f"MIXABLE_ISA={wanted!r} names no build of mixable; this installation has "
            f"{', '.join(builds)}"
        )
    if wanted and wanted not in able:
        raise ImportError(
            f"MIXABLE_ISA={wanted!r}, but this machine can run only "
            f"{', '.join(able) or 'none of the builds'}"
        )
    if not able:
        raise ImportError("this machine's processor is older than x86-64-v2, which mixable needs")
    return wanted or able[-1]


_module = importlib.import_module(f"mixable._core._{_choose()}")
globals().update(
    {name: getattr(_module, name) for name in dir(_module) if not name.startswith("_")}
)
