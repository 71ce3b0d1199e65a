from mixable.paper.regret import *  # noqa: F403  # for type checkers: see _moved.py
