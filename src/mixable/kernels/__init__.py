"""Beyond linear: what `kernel=` may be, and feature maps that learn online."""

from mixable.kernels.choice import RBF, Auto
from mixable.kernels.fourier import Fourier
from mixable.kernels.nystroem import Nystroem, effective_dimension, rbf

__all__ = ["RBF", "Auto", "Fourier", "Nystroem", "effective_dimension", "rbf"]
