"""What the server of processes imports once for all runs."""

import benchmarks.peers.run as run
import mixable.cli.app as app

__all__ = ["app", "run"]
for _name in ("vowpalwabbit", "lightgbm", "pandas"):
    try:
        __import__(_name)
    except ImportError:
        continue
