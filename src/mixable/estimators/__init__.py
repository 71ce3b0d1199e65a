"""Estimators for scikit-learn; importing this imports scikit-learn."""

from mixable.estimators.classifier import GAFClassifier
from mixable.estimators.regressor import GAFRegressor

__all__ = ["GAFClassifier", "GAFRegressor"]
