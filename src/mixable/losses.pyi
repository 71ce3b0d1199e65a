from mixable.paper.losses import *  # noqa: F403  # for type checkers: see _moved.py
