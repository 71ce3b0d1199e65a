"""The table *numbers*: linear peers on the six streams of numbers."""

from __future__ import annotations

from typing import Any

from river import linear_model, multiclass, naive_bayes, optim
from sklearn.linear_model import SGDClassifier

from benchmarks.peers import mine
from benchmarks.peers.adaptors import river, scikit_learn, vowpal_wabbit, with_constant
from benchmarks.peers.contest import BASELINES, Contestant, Setting

FREQUENCIES = tuple(
    {"optimiser": name, "rate": rate}
    for name, rates in (
        ("SGD", (0.003, 0.03, 0.1, 0.3)),
        ("AdaGrad", (0.1, 0.3, 1, 3)),
        ("Adam", (0.003, 0.01, 0.03)),
    )
    for rate in rates
)
FTRL = tuple(
    {"ftrl_alpha": alpha, "ftrl_beta": beta} for alpha in (0.03, 0.3, 1, 3, 10) for beta in (0.1, 1)
)
SGD = (
    {"alpha": 1e-2},
    {"learning_rate": "constant", "eta0": 0.1},
    {"learning_rate": "constant", "eta0": 0.3},
)


def optimiser(setting: Setting) -> Any:
    """The optimiser of river that a setting names, with its rate; else river's own choice."""
    return getattr(optim, setting["optimiser"])(setting["rate"]) if setting else None


def sgd_classifier(setting: Setting) -> Any:
    """scikit-learn's logistic regression by stochastic gradients."""
    return SGDClassifier(loss="log_loss", random_state=0, **setting)


def softmax(setting: Setting) -> Any:
    """river's softmax regression, which has no intercept."""
    return linear_model.SoftmaxRegression(optimiser(setting))


def one_vs_rest(setting: Setting) -> Any:
    """river's logistic regression, one against the rest."""
    return multiclass.OneVsRestClassifier(linear_model.LogisticRegression(optimiser(setting)))


CONTESTANTS: list[Contestant] = [
    *mine.LINEAR,
    river("Softmax", softmax, FREQUENCIES, inputs=with_constant),
    river("OneVsRest", one_vs_rest, FREQUENCIES),
    river("GaussianNB", lambda _: naive_bayes.GaussianNB()),
    scikit_learn("SGDClassifier", sgd_classifier, SGD),
    vowpal_wabbit("", tuple({"learning_rate": rate} for rate in (0.1, 2, 5, 10, 20, 50))),
    vowpal_wabbit("--coin", tuple({"l2": value} for value in (1e-6, 1e-4, 1e-3))),
    vowpal_wabbit("--ftrl", FTRL),
    *BASELINES,
]
