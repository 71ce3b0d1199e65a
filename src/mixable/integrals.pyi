from mixable.paper.integrals import *  # noqa: F403  # for type checkers: see _moved.py
