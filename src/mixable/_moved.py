"""Modules by the names that they had up to version 0.2, for programs and pickles that use these.

`mixable.bounds` is `mixable.paper.bounds`: the same object, imported when it is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

BASELINES = ["aioli", "folklore", "foster", "ftrl", "ogd", "ons", "scale_free", "vaw"]
ROOM = ["batch", "bounds", "fresh_starts", "integrals", "kernel_gaf", "losses", "reference"]
ROOM += ["regret", "structured", "surrogates"]

MOVED = {f"mixable.{name}": f"mixable.paper.{name}" for name in ROOM}
MOVED |= {f"mixable.forecasters.{name}": f"mixable.paper.baselines.{name}" for name in BASELINES}
MOVED["mixable.forecasters.smp"] = "mixable.paper.baselines.ftrl"
MOVED |= {f"mixable.{name}": f"mixable.experts.{name}" for name in ("mixture", "pool")}
FOLDERS = {"mixable.forecasters": "mixable.experts", "mixable.learner": "mixable.model"}
MERGED = {"mixable.integrals.envelope": "mixable.paper.integrals.certified"}


def new_name(old: str) -> str | None:
    """What a module is called now; None if it has not moved."""
    folder, _, name = old.rpartition(".")
    if old in MOVED or old in FOLDERS:
        return MOVED.get(old) or FOLDERS[old]
    return f"{FOLDERS[folder]}.{name}" if folder in FOLDERS else None


class Moved(MetaPathFinder, Loader):
    """Finds a module by its old name."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for each module that has moved."""
        return ModuleSpec(name, self) if new_name(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module by its new name."""
        module = import_module(str(new_name(spec.name)))
        self._specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, and its submodules their old names.

        Python would bind a submodule that it imports to its package, where a function may have
        the same name (`bounds.default`); what is in `sys.modules` it takes as it is.
        """
        old = module.__spec__.name if module.__spec__ else ""
        module.__spec__ = self._specs.pop(old)
        inner = f"{new_name(old)}."
        for name in [name for name in sys.modules if name.startswith(inner)]:
            sys.modules.setdefault(f"{old}.{name.removeprefix(inner)}", sys.modules[name])
        for name, new in MERGED.items():
            if name.startswith(f"{old}."):
                sys.modules.setdefault(name, import_module(new))


sys.meta_path.append(Moved())
