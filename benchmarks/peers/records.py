"""The table *records*: those that take words and text, by hashing or by name."""

from __future__ import annotations

from typing import Any

from river import preprocessing

from benchmarks.peers import encoding, mine
from benchmarks.peers.adaptors import river, scikit_learn, vowpal_wabbit
from benchmarks.peers.contest import BASELINES, Contestant, Setting
from benchmarks.peers.curves import TREES, adaptive_tree
from benchmarks.peers.numbers import FREQUENCIES, FTRL, SGD, one_vs_rest, sgd_classifier, softmax


def _hashing(setting: Setting) -> Any:
    return preprocessing.FeatureHasher(n_features=encoding.HASHED, seed=0) | one_vs_rest(setting)


_RATES = tuple({"learning_rate": rate} for rate in (0.1, 2, 5, 10))

CONTESTANTS: list[Contestant] = [
    *mine.RECORDS,
    vowpal_wabbit("", _RATES, inputs=encoding.lines),
    vowpal_wabbit("-q ::", _RATES, inputs=encoding.lines),
    vowpal_wabbit("--coin", ({"l2": 1e-6}, {"l2": 1e-4}), inputs=encoding.lines),
    vowpal_wabbit("--ftrl", FTRL, inputs=encoding.lines),
    river("Softmax, one-hot", softmax, FREQUENCIES, inputs=encoding.one_hot),
    river("OneVsRest, hashed", _hashing, FREQUENCIES, inputs=encoding.one_hot),
    river("HAT, one-hot", adaptive_tree, TREES[:2], inputs=encoding.nominal),
    scikit_learn("SGDClassifier, hashed", sgd_classifier, SGD, inputs=encoding.hashed),
    *BASELINES,
]
