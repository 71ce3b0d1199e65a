"""Beyond linear: feature maps that learn online, and the exact kernel forecaster."""

from mixable.kernels.dimension import effective_dimension
from mixable.kernels.fourier import Fourier
from mixable.kernels.nystroem import Nystroem, rbf

__all__ = ["Fourier", "Nystroem", "effective_dimension", "rbf"]
