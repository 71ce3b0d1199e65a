"""Between a user's record and a forecaster's row: one object that owns the protocol."""

from mixable.model.columns import label
from mixable.model.design import Design
from mixable.model.kernel_inputs import KernelPlan
from mixable.model.learner import Learner, takes_features
from mixable.model.named import NamedLearner
from mixable.model.pool import RecordPool
from mixable.model.pooled import (
    PooledDesign,
    design_of_classes,
    design_of_numbers,
    design_of_records,
)
from mixable.model.shapes import ShapeDesign, StageDesign
from mixable.model.trees import BayesDesign, RecentDesign, TreeDesign

__all__ = [
    "BayesDesign",
    "Design",
    "KernelPlan",
    "Learner",
    "NamedLearner",
    "PooledDesign",
    "RecentDesign",
    "RecordPool",
    "ShapeDesign",
    "StageDesign",
    "TreeDesign",
    "design_of_classes",
    "design_of_numbers",
    "design_of_records",
    "label",
    "takes_features",
]
