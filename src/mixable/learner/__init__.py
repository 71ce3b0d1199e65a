"""Between a user's record and a forecaster's row: one object that owns the protocol."""

from mixable.learner.blend import Blend
from mixable.learner.columns import label
from mixable.learner.design import Design
from mixable.learner.kernel_inputs import KernelPlan
from mixable.learner.learner import Learner, takes_features
from mixable.learner.named import NamedLearner
from mixable.learner.pooled import (
    PooledDesign,
    design_of_classes,
    design_of_numbers,
    design_of_records,
)
from mixable.learner.shapes import ShapeDesign, StageDesign
from mixable.learner.trees import BayesDesign, TreeDesign

__all__ = [
    "BayesDesign",
    "Blend",
    "Design",
    "KernelPlan",
    "Learner",
    "NamedLearner",
    "PooledDesign",
    "ShapeDesign",
    "StageDesign",
    "TreeDesign",
    "design_of_classes",
    "design_of_numbers",
    "design_of_records",
    "label",
    "takes_features",
]
