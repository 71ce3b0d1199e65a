"""Online probabilistic prediction: one example at a time, probabilities you can bet on, no learning rate, and a bound on the regret."""

from importlib.metadata import version

from mixable import bounds, datasets, integrals, losses, regret
from mixable._config import show_config
from mixable.batch import online_to_batch
from mixable.forecasters import AIOLI, FTRL, GAF, OGD, ONS, SMP, VAW, AutoGAF, AutoRidge, Folklore, Foster
from mixable.mixture import Mixture
from mixable.reference import GenericGAF

__version__ = version("mixable")
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
    "Folklore",
    "Foster",
    "GenericGAF",
    "Mixture",
    "bounds",
    "datasets",
    "integrals",
    "losses",
    "online_to_batch",
    "regret",
    "show_config",
]
