"""Online probabilistic prediction without a learning rate, with a bound on the regret."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mixable import bounds, datasets, integrals, losses, metrics, regret
from mixable._config import __version__ as __version__
from mixable._config import show_config
from mixable._spelling import did_you_mean
from mixable.batch import online_to_batch
from mixable.forecasters import (
    AIOLI,
    FTRL,
    GAF,
    OGD,
    ONS,
    SMP,
    VAW,
    AutoGAF,
    AutoRidge,
    Folklore,
    Foster,
    ScaleFree,
    SparseGAF,
)
from mixable.fresh_starts import FreshStarts
from mixable.mixture import Mixture
from mixable.persistence import dumps, load, loads, save
from mixable.pool import Pool
from mixable.reference import GenericGAF

if TYPE_CHECKING:
    from mixable import engines, events, kernels, merging, plots, records
    from mixable import river as river
    from mixable.bank import Bank
    from mixable.estimators import GAFClassifier, GAFRegressor
    from mixable.kernel_gaf import KernelGAF
    from mixable.merging import merge

__all__ = [
    "AIOLI",
    "FTRL",
    "GAF",
    "OGD",
    "ONS",
    "SMP",
    "VAW",
    "AutoGAF",
    "AutoRidge",
    "Bank",
    "Folklore",
    "Foster",
    "FreshStarts",
    "GAFClassifier",
    "GAFRegressor",
    "GenericGAF",
    "KernelGAF",
    "Mixture",
    "Pool",
    "ScaleFree",
    "SparseGAF",
    "bounds",
    "datasets",
    "dumps",
    "engines",
    "events",
    "integrals",
    "kernels",
    "load",
    "loads",
    "losses",
    "merge",
    "merging",
    "metrics",
    "online_to_batch",
    "plots",
    "records",
    "regret",
    "save",
    "show_config",
]

_LATE = {
    "Bank": "mixable.bank",
    "GAFClassifier": "mixable.estimators",
    "GAFRegressor": "mixable.estimators",
    "KernelGAF": "mixable.kernel_gaf",
    "engines": "mixable.engines",
    "events": "mixable.events",
    "kernels": "mixable.kernels",
    "merge": "mixable.merging",
    "merging": "mixable.merging",
    "plots": "mixable.plots",
    "records": "mixable.records",
    "river": "mixable.river",
    "streaming": "mixable.streaming",
}


if not TYPE_CHECKING:  # for which a name that is not there is an error

    def __getattr__(name: str) -> Any:
        """Import what takes long to import, or needs river, when it is first asked for."""
        if name not in _LATE:
            meant = did_you_mean(name, __all__)
            raise AttributeError(f"module 'mixable' has no attribute {name!r}{meant}")
        module = import_module(_LATE[name])
        return module if module.__name__ == f"mixable.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    """The public names; `river`, which not everybody has, is not imported by `*`."""
    return sorted([*__all__, "river"] if find_spec("river") else __all__)
