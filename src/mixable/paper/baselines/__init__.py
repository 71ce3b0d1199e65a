"""The forecasters that the paper compares itself with, and one that knows no norm: a file each."""

from mixable.paper.baselines.aioli import AIOLI
from mixable.paper.baselines.folklore import Folklore
from mixable.paper.baselines.foster import Foster
from mixable.paper.baselines.ftrl import FTRL, SMP
from mixable.paper.baselines.ogd import OGD
from mixable.paper.baselines.ons import ONS
from mixable.paper.baselines.scale_free import ScaleFree
from mixable.paper.baselines.vaw import VAW

__all__ = ["AIOLI", "FTRL", "OGD", "ONS", "SMP", "VAW", "Folklore", "Foster", "ScaleFree"]
