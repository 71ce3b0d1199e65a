"""Online probabilistic prediction without a learning rate, with a bound on the regret."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mixable import _moved as _moved  # modules by their old names
from mixable import datasets, metrics
from mixable._config import __version__ as __version__
from mixable._config import show_config
from mixable._spelling import did_you_mean
from mixable.forecasters import GAF, AutoGAF, AutoRidge, SparseGAF
from mixable.mixture import Mixture
from mixable.paper import bounds, integrals, losses, regret
from mixable.paper.baselines import AIOLI, FTRL, OGD, ONS, SMP, VAW, Folklore, Foster, ScaleFree
from mixable.paper.batch import online_to_batch
from mixable.paper.fresh_starts import FreshStarts
from mixable.paper.reference import GenericGAF
from mixable.persistence import dumps, load, loads, save
from mixable.pool import Pool

if TYPE_CHECKING:
    from mixable import engines, kernels, merging, paper, plots, records, streaming
    from mixable import river as river
    from mixable.bank import Bank
    from mixable.estimators import GAFClassifier, GAFRegressor
    from mixable.merging import merge
    from mixable.paper.kernel_gaf import KernelGAF

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
    "integrals",
    "kernels",
    "load",
    "loads",
    "losses",
    "merge",
    "merging",
    "metrics",
    "online_to_batch",
    "paper",
    "plots",
    "records",
    "regret",
    "save",
    "show_config",
    "streaming",
]

_LATE = {
    "Bank": "mixable.bank",
    "GAFClassifier": "mixable.estimators",
    "GAFRegressor": "mixable.estimators",
    "KernelGAF": "mixable.paper.kernel_gaf",
    "engines": "mixable.engines",
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
