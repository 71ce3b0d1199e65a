"""The table of forecasters: whatever lists them reads it.

To add a forecaster, write its file and its page in docs/forecasters, and add a row here.
"""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY, dataclass
from functools import partial
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """What the rest of the package needs to know of a forecaster."""

    name: str
    """Its class."""
    page: str
    """Its page in docs/forecasters, without the ending."""
    _: KW_ONLY
    home: str = "mixable.experts"
    """The module that has the class."""
    forecasts: str = "labels"
    """"labels" (any number of classes), "two labels", "numbers", or "any" (what its loss says)."""
    has_posterior: bool = True
    """Whether it keeps a Gaussian over its weights."""
    short: str | None = None
    """Its name on the command line; None if it cannot be raced."""
    searched: tuple[str, ...] = ()
    """The parameters that the paper's grid goes over in a race."""
    sparse: bool = False
    """Whether its inputs are sparse rows."""
    streams: bool = False
    """Whether `mixable stream --forecaster` offers it."""

    @property
    def kind(self) -> type:
        """The class."""
        kind: type = getattr(import_module(self.home), self.name)
        return kind

    @property
    def parameters(self) -> dict[str, Any]:
        """What its constructor takes: each default by name, `inspect.Parameter.empty` if none."""
        taken = inspect.signature(self.kind).parameters
        return {name: parameter.default for name, parameter in taken.items()}


_baseline = partial(Entry, home="mixable.paper.baselines")
_without = partial(Entry, has_posterior=False)

FORECASTERS = (
    Entry("AutoGAF", "auto-gaf", short="auto", streams=True),
    Entry("GAF", "gaf", short="gaf", searched=("lam", "beta"), streams=True),
    _baseline("Folklore", "folklore", short="folklore", searched=("lam", "beta"), streams=True),
    _baseline("ONS", "ons", short="ons", searched=("lam", "beta"), streams=True),
    _baseline("OGD", "ogd", has_posterior=False, short="ogd", searched=("step",)),
    _baseline("FTRL", "ftrl", has_posterior=False, short="ftrl", searched=("lam",)),
    _baseline("AIOLI", "aioli", forecasts="two labels", short="aioli", searched=("lam",)),
    _baseline("ScaleFree", "scale-free", has_posterior=False),
    _baseline("SMP", "smp", has_posterior=False),
    _baseline("Foster", "foster", has_posterior=False),
    _without("SparseGAF", "sparse-gaf", sparse=True),
    _baseline("VAW", "vaw", forecasts="numbers"),
    Entry("AutoRidge", "auto-ridge", forecasts="numbers"),
    _without("Trees", "trees", forecasts="any"),
    Entry("GenericGAF", "generic-gaf", home="mixable.paper.reference", forecasts="any"),
    _without("KernelGAF", "kernel-gaf", home="mixable.paper.kernel_gaf", forecasts="any"),
    _without("Mixture", "mixture", home="mixable.experts.mixture", forecasts="any"),
    _without("FreshStarts", "fresh-starts", home="mixable.paper.fresh_starts", forecasts="any"),
    _without("Pool", "pool", home="mixable.experts.pool", forecasts="any"),
)

BY_NAME = {entry.name: entry for entry in FORECASTERS}
