"""Online probabilistic prediction: one example at a time, probabilities you can bet on, no learning rate, and a bound on the regret."""

from importlib.metadata import version

from mixable import bounds, datasets, integrals, losses
from mixable._config import show_config
from mixable.forecasters import GAF
from mixable.reference import GenericGAF

__version__ = version("mixable")
__all__ = ["GAF", "GenericGAF", "bounds", "datasets", "integrals", "losses", "show_config"]
