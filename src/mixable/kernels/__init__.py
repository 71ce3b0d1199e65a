"""Beyond linear: feature maps that learn online, and the exact kernel forecaster."""

from mixable.kernels.exact import KernelGAF, effective_dimension
from mixable.kernels.fourier import Fourier
from mixable.kernels.nystroem import Nystroem, rbf

__all__ = ["Fourier", "KernelGAF", "Nystroem", "effective_dimension", "rbf"]
