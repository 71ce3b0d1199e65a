"""Pictures of a run and of a model: loss over time, calibration, trust, probabilities in the plane.

Each function draws into `ax`, or into a new figure, and returns the axes. None of them changes the
model that it is given. They can be told apart in grey. Matplotlib is imported when the first
picture is drawn: `pip install "mixable[cli]"` brings it.
"""

from mixable.plots.curves import learning_curve, reliability
from mixable.plots.surfaces import surface
from mixable.plots.trusted import trust

__all__ = ["learning_curve", "reliability", "surface", "trust"]
