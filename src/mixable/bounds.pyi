from mixable.paper.bounds import *  # noqa: F403  # for type checkers: see _moved.py
