"""Decisions: contextual bandits without tuning, and the evaluation of policies from logs."""

from mixable.bandits.agent import Agent, Decision
from mixable.bandits.evaluation import Evaluation, Logged, evaluate
from mixable.bandits.logs import read_log, read_open_bandit, read_vw

__all__ = [
    "Agent",
    "Decision",
    "Evaluation",
    "Logged",
    "evaluate",
    "read_log",
    "read_open_bandit",
    "read_vw",
]
