"""Losses that the Gaussian Aggregating Forecaster can be run with: Sections 2 and 4 of the paper.

A loss is a function of the linear predictions ``z = Theta x`` (n_outputs,) and of the outcome y. It
brings what the algorithm needs: value, gradient and Hessian in z, the constants of assumptions
(A1)-(A4), and the substitution rule of Eq. (4) that turns a Gaussian over z into a prediction.
`Loss` is the protocol for one of your own.
"""

from mixable.paper.losses.assumptions import Report, Violation, check_assumptions
from mixable.paper.losses.huber import Huber
from mixable.paper.losses.logistic import Logistic, log_loss
from mixable.paper.losses.protocol import KINDS, Constants, Loss
from mixable.paper.losses.squared import Squared

__all__ = [
    "KINDS",
    "Constants",
    "Huber",
    "Logistic",
    "Loss",
    "Report",
    "Squared",
    "Violation",
    "check_assumptions",
    "log_loss",
]
