"""Pictures of a run and a model: loss over time, calibration, coverage, weights, surfaces.

Each function draws into `ax`, or into a new figure, and returns the axes. None of them changes the
model that it is given. They can be told apart in grey. Matplotlib is imported when the first
picture is drawn: `pip install "mixable[cli]"` brings it.
"""

from mixable import _renamed
from mixable.plots.curves import coverage, learning_curve, reliability
from mixable.plots.posterior import posterior
from mixable.plots.surfaces import surface
from mixable.plots.weights import expert_weights

__all__ = ["coverage", "expert_weights", "learning_curve", "posterior", "reliability", "surface"]

__getattr__ = _renamed.names(__name__, trust="expert_weights")
