"""The table of forecasters: whatever lists them reads it.

To add a forecaster, write its file and its page in docs/forecasters, and add a row here.
"""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY, dataclass
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


BASELINES = "mixable.paper.baselines"

FORECASTERS = (
    Entry("AutoGAF", "auto-gaf", short="auto", streams=True),
    Entry("GAF", "gaf", short="gaf", searched=("lam", "beta"), streams=True),
    Entry(
        "Folklore",
        "folklore",
        home=BASELINES,
        short="folklore",
        searched=("lam", "beta"),
        streams=True,
    ),
    Entry("ONS", "ons", home=BASELINES, short="ons", searched=("lam", "beta"), streams=True),
    Entry("OGD", "ogd", home=BASELINES, has_posterior=False, short="ogd", searched=("step",)),
    Entry("FTRL", "ftrl", home=BASELINES, has_posterior=False, short="ftrl", searched=("lam",)),
    Entry(
        "AIOLI", "aioli", home=BASELINES, forecasts="two labels", short="aioli", searched=("lam",)
    ),
    Entry("ScaleFree", "scale-free", home=BASELINES, has_posterior=False),
    Entry("SMP", "smp", home=BASELINES, has_posterior=False),
    Entry("Foster", "foster", home=BASELINES, has_posterior=False),
    Entry("SparseGAF", "sparse-gaf", has_posterior=False, sparse=True),
    Entry("VAW", "vaw", home=BASELINES, forecasts="numbers"),
    Entry("AutoRidge", "auto-ridge", forecasts="numbers"),
    Entry("Trees", "trees", forecasts="any", has_posterior=False),
    Entry("GenericGAF", "generic-gaf", home="mixable.paper.reference", forecasts="any"),
    Entry(
        "KernelGAF",
        "kernel-gaf",
        home="mixable.paper.kernel_gaf",
        forecasts="any",
        has_posterior=False,
    ),
    Entry(
        "Mixture", "mixture", home="mixable.experts.mixture", forecasts="any", has_posterior=False
    ),
    Entry(
        "FreshStarts",
        "fresh-starts",
        home="mixable.paper.fresh_starts",
        forecasts="any",
        has_posterior=False,
    ),
    Entry("Pool", "pool", home="mixable.experts.pool", forecasts="any", has_posterior=False),
)

BY_NAME = {entry.name: entry for entry in FORECASTERS}
