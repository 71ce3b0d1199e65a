"""Online probabilistic prediction without a learning rate, with a bound on the regret."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from mixable import _moved as _moved  # modules by their old names
from mixable._config import __version__ as __version__
from mixable._config import show_config

if TYPE_CHECKING:  # the same as in `_HOMES`, for those who read types
    from mixable import _core as _core
    from mixable import bandits, datasets, engines, events, kernels, metrics, paper, plots, records
    from mixable import duckdb as duckdb
    from mixable import merging as merging
    from mixable import mlflow as mlflow
    from mixable import river as river
    from mixable import streaming as streaming
    from mixable.bank import Bank
    from mixable.estimators import GAFClassifier, GAFRegressor
    from mixable.experts import GAF, AutoGAF, AutoRidge
    from mixable.experts import SparseGAF as SparseGAF
    from mixable.experts import Trees as Trees
    from mixable.experts.mixture import Mixture
    from mixable.experts.pool import Pool
    from mixable.merging import merge
    from mixable.paper import bounds, integrals, losses, regret
    from mixable.paper.baselines import *  # noqa: F403
    from mixable.paper.batch import online_to_batch
    from mixable.paper.fresh_starts import FreshStarts as FreshStarts
    from mixable.paper.kernel_gaf import KernelGAF as KernelGAF
    from mixable.paper.reference import GenericGAF as GenericGAF
    from mixable.persistence import dumps as dumps
    from mixable.persistence import load, save
    from mixable.persistence import loads as loads

# What most users need; `_HOMES` has the rest.
__all__ = [
    "GAF",
    "AutoGAF",
    "AutoRidge",
    "Bank",
    "GAFClassifier",
    "GAFRegressor",
    "Mixture",
    "Pool",
    "bandits",
    "bounds",
    "datasets",
    "engines",
    "events",
    "integrals",
    "kernels",
    "load",
    "losses",
    "merge",
    "metrics",
    "online_to_batch",
    "paper",
    "plots",
    "records",
    "regret",
    "save",
    "show_config",
]

# Where each name is. It is imported when it is first asked for.
_HOMES = {
    "_core": "mixable._core",
    "AIOLI": "mixable.paper.baselines",
    "AutoGAF": "mixable.experts",
    "AutoRidge": "mixable.experts",
    "Bank": "mixable.bank",
    "FTRL": "mixable.paper.baselines",
    "Folklore": "mixable.paper.baselines",
    "Foster": "mixable.paper.baselines",
    "FreshStarts": "mixable.paper.fresh_starts",
    "GAF": "mixable.experts",
    "GAFClassifier": "mixable.estimators",
    "GAFRegressor": "mixable.estimators",
    "GenericGAF": "mixable.paper.reference",
    "KernelGAF": "mixable.paper.kernel_gaf",
    "Mixture": "mixable.experts.mixture",
    "OGD": "mixable.paper.baselines",
    "ONS": "mixable.paper.baselines",
    "Pool": "mixable.experts.pool",
    "SMP": "mixable.paper.baselines",
    "ScaleFree": "mixable.paper.baselines",
    "SparseGAF": "mixable.experts",
    "Trees": "mixable.experts",
    "VAW": "mixable.paper.baselines",
    "bandits": "mixable.bandits",
    "bounds": "mixable.paper.bounds",
    "datasets": "mixable.datasets",
    "duckdb": "mixable.duckdb",
    "dumps": "mixable.persistence",
    "engines": "mixable.engines",
    "events": "mixable.events",
    "integrals": "mixable.paper.integrals",
    "kernels": "mixable.kernels",
    "load": "mixable.persistence",
    "loads": "mixable.persistence",
    "losses": "mixable.paper.losses",
    "merge": "mixable.merging",
    "merging": "mixable.merging",
    "metrics": "mixable.metrics",
    "mlflow": "mixable.mlflow",
    "online_to_batch": "mixable.paper.batch",
    "paper": "mixable.paper",
    "plots": "mixable.plots",
    "records": "mixable.records",
    "regret": "mixable.paper.regret",
    "river": "mixable.river",
    "save": "mixable.persistence",
    "streaming": "mixable.streaming",
}


if not TYPE_CHECKING:  # for which a name that is not there is an error

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first asked for, and keep it."""
        if name not in _HOMES:
            from mixable._spelling import did_you_mean

            meant = "" if name.startswith("_") else did_you_mean(name, _HOMES)
            raise AttributeError(f"module 'mixable' has no attribute {name!r}{meant}")
        module = import_module(_HOMES[name])
        is_module = module.__name__.rpartition(".")[2] == name
        found = module if is_module else getattr(module, name)
        return globals().setdefault(name, found)


def __dir__() -> list[str]:
    """What most users need; `river`, which not everybody has, is not imported by `*`."""
    return sorted([*__all__, "river"] if find_spec("river") else __all__)
