"""Between a user's record and a forecaster's row: one object that owns the protocol."""

from mixable.learner.columns import label
from mixable.learner.design import Design
from mixable.learner.kernel_inputs import KernelPlan
from mixable.learner.learner import Learner
from mixable.learner.named import NamedLearner

__all__ = ["Design", "KernelPlan", "Learner", "NamedLearner", "label"]
