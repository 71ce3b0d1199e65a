"""The forecasters of the product, one file each, with three verbs: `predict`, `learn`, `run`.

Those that the paper compares itself with are in `mixable.paper.baselines`.
"""

from typing import Any

from mixable.experts.auto import AutoGAF
from mixable.experts.auto_ridge import AutoRidge
from mixable.experts.gaf import GAF
from mixable.experts.naive_bayes import NaiveBayes
from mixable.experts.recent_labels import RecentLabels
from mixable.experts.sparse import SparseGAF
from mixable.experts.table import BY_NAME
from mixable.experts.trees import Trees

__all__ = ["GAF", "AutoGAF", "AutoRidge", "NaiveBayes", "RecentLabels", "SparseGAF", "Trees"]


def __getattr__(name: str) -> Any:
    """The forecasters that were here up to version 0.2."""
    if name not in BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return BY_NAME[name].kind
