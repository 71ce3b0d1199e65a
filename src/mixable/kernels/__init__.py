"""Beyond linear: feature maps that work online, and the exact kernel forecaster that they approximate."""

from mixable.kernels.exact import KernelGAF, effective_dimension
from mixable.kernels.fourier import Fourier
from mixable.kernels.nystroem import Nystroem, rbf
from mixable.kernels.views import KernelPlan, KernelScaler

__all__ = ["Fourier", "KernelGAF", "KernelPlan", "KernelScaler", "Nystroem", "effective_dimension", "rbf"]
