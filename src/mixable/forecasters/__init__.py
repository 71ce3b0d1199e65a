"""The forecasters, one file each. All speak the same three verbs: `predict`, `learn`, `run`."""

from mixable.forecasters.aioli import AIOLI
from mixable.forecasters.auto import AutoGAF
from mixable.forecasters.auto_ridge import AutoRidge
from mixable.forecasters.folklore import Folklore
from mixable.forecasters.foster import Foster
from mixable.forecasters.ftrl import FTRL
from mixable.forecasters.gaf import GAF
from mixable.forecasters.ogd import OGD
from mixable.forecasters.ons import ONS
from mixable.forecasters.scale_free import ScaleFree
from mixable.forecasters.smp import SMP
from mixable.forecasters.sparse import SparseGAF
from mixable.forecasters.vaw import VAW

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
    "ScaleFree",
    "SparseGAF",
]
