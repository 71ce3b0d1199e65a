"""The forecasters, one file each. All speak the same three verbs: `predict`, `learn`, `run`."""

from mixable.forecasters.gaf import GAF

__all__ = ["GAF"]
