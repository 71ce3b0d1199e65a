"""The table *curves*: peers with nonlinear boundaries on the six streams of numbers."""

from __future__ import annotations

from typing import Any

from river import ensemble, forest, neighbors, tree
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks.peers import mine
from benchmarks.peers.adaptors import refitted, river, scikit_learn, vowpal_wabbit
from benchmarks.peers.contest import BASELINES, Contestant, Setting


def light_gbm(setting: Setting) -> Any:
    """LightGBM on one thread."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0, **setting)


def adaptive_tree(setting: Setting) -> Any:
    """river's adaptive Hoeffding tree."""
    return tree.HoeffdingAdaptiveTreeClassifier(seed=0, **setting)


TREES = ({"grace_period": 50}, {"grace_period": 50, "delta": 1e-3}, {"leaf_prediction": "mc"})
CONTESTANTS: list[Contestant] = [
    *mine.CURVED,
    *mine.LINEAR,
    river("SRP", lambda s: ensemble.SRPClassifier(seed=0, **s)),
    river(
        "ARF",
        lambda s: forest.ARFClassifier(seed=0, **s),
        ({"grace_period": 20}, {"grace_period": 10}),
    ),
    river("AMF", lambda s: forest.AMFClassifier(seed=0, **s), ({"n_estimators": 20},)),
    river(
        "KNN", lambda s: neighbors.KNNClassifier(**s), ({"n_neighbors": 10}, {"n_neighbors": 20})
    ),
    river("HAT", adaptive_tree, TREES),
    scikit_learn(
        "MLPClassifier",
        lambda s: MLPClassifier(random_state=0, **s),
        ({"learning_rate_init": 0.003}, {"learning_rate_init": 0.01}),
    ),
    vowpal_wabbit("-q ::", tuple({"learning_rate": rate} for rate in (0.1, 2, 5))),
    refitted(
        "random forest",
        "scikit-learn",
        lambda s: RandomForestClassifier(random_state=0, **s),
        ({"min_samples_leaf": 3},),
    ),
    refitted("LightGBM", "lightgbm", light_gbm, ({"learning_rate": 0.05, "n_estimators": 50},)),
    *BASELINES,
]
