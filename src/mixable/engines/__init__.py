"""Models from more rows than one machine can read, on engines that exist: Dask and Spark.

Each worker begins a round with the merged model, learns some rows of its partitions, and sends what
it has become; the models are merged in groups, and the groups again. See docs/guides/scale.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixable.engines import dask as dask
    from mixable.engines import spark as spark

__all__ = ["dask", "spark"]


def __getattr__(name: str) -> Any:
    """Import an engine when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'mixable.engines' has no attribute {name!r}")
    return import_module(f"mixable.engines.{name}")
