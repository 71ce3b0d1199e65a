"""Who plays: one row each. To add a peer, add a row to `PEERS`.

A row has a maker: given what is known of the stream and a setting, it returns a step that forecasts
a record, learns its label, and returns the forecast: probabilities of the K classes (an array, or a
dictionary by code), or for numbers the mean, or mean and deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.feature_extraction import FeatureHasher

import mixable as mx
from benchmarks.leaderboard.encode import HASHED, Features, Matrix, Scale, Schema, line, nominal
from benchmarks.leaderboard.streams import Record

Setting = dict[str, Any]
Step = Callable[[Record, Any], Any]
Whole = Callable[[list[Record], Any, Callable[[float], bool]], Any]
"""Forecasts of all rows, or of the first ones if `is_over(factor)`: the time would be over if the
time so far were multiplied by this factor."""
OURS, BASELINE, REFITTED = "mixable", "baseline", "refitted"


class Known(NamedTuple):
    """What is known of a stream in advance: K classes (0: numbers) and the kinds of columns."""

    K: int
    kinds: Schema


@dataclass(frozen=True)
class Peer:
    """Someone who forecasts and learns."""

    name: str
    kind: str  # the maker, for colours
    make: Callable[[Known, Setting], Any]
    grid: tuple[Setting, ...] = ()  # beside the defaults
    whole: bool = False  # takes the stream as a whole: `make` returns a `Whole`
    slow: int = 0  # the slower ones run later


def _scaled(step: Step, known: Known) -> Step:
    """A step on targets standardised by what came so far, for those that need it.

    The forecast is scaled back by what was known before its target.
    """
    if known.K:
        return step
    scale = Scale()

    def scaled(record: Record, y: float) -> float:
        before, unit = scale.moments("y")
        scale.learn("y", y)
        mean, deviation = scale.moments("y")
        return float(step(record, (y - mean) / deviation)) * unit + before

    return scaled


def river_step(model: Any, known: Known, made: Callable[[Record], Any]) -> Step:
    """Forecast and learn with river's interface."""
    forecast = model.predict_proba_one if known.K else model.predict_one

    def step(record: Record, y: Any) -> Any:
        x = made(record)
        p = forecast(x)
        model.learn_one(x, y)
        return p

    return step


def _river(name: str, made: str) -> Callable[[Known, Setting], Step]:
    """A model of river, `module.Name`, with Classifier or Regressor at its end."""

    def make(known: Known, setting: Setting) -> Step:
        import river.ensemble
        import river.forest
        import river.neighbors
        import river.tree

        module, _, start = name.partition(".")
        model = getattr(getattr(river, module), start + ("Classifier" if known.K else "Regressor"))
        own = {} if "KNN" in name else {"seed": 0}
        if made == "nominal" and known.K:  # linear leaves of regression trees take no words
            return river_step(model(**own, **setting), known, lambda x: nominal(x, known.kinds))
        return river_step(model(**own, **setting), known, Features(known.kinds))

    return make


def _linear(known: Known, setting: Setting) -> Step:
    """river's softmax regression, or linear regression of a standardised target."""
    from river import linear_model, optim

    optimiser = getattr(optim, setting["optimiser"])(setting["rate"]) if setting else None
    if known.K:
        model = linear_model.SoftmaxRegression(optimiser)
    else:
        model = linear_model.LinearRegression(optimiser)
    return _scaled(river_step(model, known, Features(known.kinds)), known)


def _vowpal_wabbit(options: str) -> Callable[[Known, Setting], Step]:
    """Vowpal Wabbit, one against all, or squared loss of a standardised target.

    Learning forecasts on its way, before the update: that is the forecast.
    """

    def make(known: Known, setting: Setting) -> Step:
        from vowpalwabbit import LabelType, PredictionType, Workspace

        words = " ".join(f"--{name} {value}" for name, value in setting.items())
        oaa = f"--oaa {known.K} --probabilities --loss_function logistic"
        workspace = Workspace(f"{oaa if known.K else ''} --quiet {options} {words}")
        label_type = LabelType.MULTICLASS if known.K else LabelType.SIMPLE
        answer = PredictionType.SCALARS if known.K else PredictionType.SCALAR
        # The default scales its inputs itself.
        features = Features(known.kinds) if {"--ftrl", "--coin"} & set(options.split()) else None

        def step(record: Record, y: Any) -> Any:
            x = features(record) if features else record
            text = f"{y + 1 if known.K else y} | {line(x, known.kinds)}"
            example = workspace.parse(text, label_type)
            workspace.learn(example)
            p = example.get_prediction(answer)
            workspace.finish_example(example)
            return p

        return _scaled(step, known)

    return make


def _partial_fit(known: Known, setting: Setting) -> Step:
    """scikit-learn's stochastic gradients on hashed features, row by row."""
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    features, hasher = Features(known.kinds), FeatureHasher(HASHED)
    if known.K:
        model = SGDClassifier(loss="log_loss", random_state=0, **setting)
    else:
        model = SGDRegressor(random_state=0, **setting)
    seen = False

    def step(record: Record, y: Any) -> Any:
        nonlocal seen
        x = hasher.transform([features(record)])
        if known.K:
            p = model.predict_proba(x)[0] if seen else np.full(known.K, 1 / known.K)
            model.partial_fit(x, [y], classes=np.arange(known.K))
        else:
            p = float(model.predict(x)[0]) if seen else 0.0
            model.partial_fit(x, [y])
        seen = True
        return p

    return _scaled(step, known)


def _capymoa(name: str) -> Callable[[Known, Setting], Step]:
    """A model of CapyMOA, which needs a Java runtime; a class may have another name for numbers."""

    def make(known: Known, setting: Setting) -> Step:
        import capymoa.classifier
        import capymoa.regressor
        from capymoa.core import LabeledInstance, RegressionInstance
        from capymoa.stream import Schema as Attributes

        matrix = Matrix(known.kinds)
        names = [f"x{i}" for i in range(matrix.width)]
        few = {matrix.place[c]: n for c, n in known.kinds.categories.items() if 1 < n <= 30}
        values = {f"x{i}": [str(v) for v in range(n + 1)] for i, n in few.items()}
        blank = np.zeros(matrix.width)  # SGBT takes no NaN: 0, or a value of its own
        blank[list(few)] = list(few.values())
        values |= {"y": [str(k) for k in range(known.K)]} if known.K else {}
        attributes = Attributes.from_custom([*names, "y"], "y", values)
        classifier, regressor = name.split("/")
        module = capymoa.classifier if known.K else capymoa.regressor
        model = getattr(module, classifier if known.K else regressor)(attributes, **setting)

        def step(record: Record, y: Any) -> Any:
            x = matrix(record)
            x = np.where(np.isnan(x), blank, x)
            if known.K:
                example = LabeledInstance.from_array(attributes, x, int(y))
                p = model.predict_proba(example)
                p = {} if p is None else dict(enumerate(np.asarray(p)[: known.K]))
            else:
                example = RegressionInstance.from_array(attributes, x, float(y))
                p = model.predict(example)
                p = 0.0 if p is None else float(p)
            model.train(example)
            return p

        return _scaled(step, known)

    return make


class Refitted(NamedTuple):
    """A batch model, fitted anew to all rows so far after 100, 200, 400, ... of them.

    Before the first time it says the frequencies of the classes, or the mean.
    """

    fit: Callable[[Known, Matrix, Setting], Any]
    sparse: bool = False
    words: str = ""  # the argument of its `fit` that says which columns are categories

    def __call__(self, known: Known, setting: Setting) -> Whole:
        """What plays a whole stream."""

        def play(records: list[Record], y: Any, is_over: Callable[[float], bool]) -> Any:
            matrix, n, first = Matrix(known.kinds), len(y), min(100, len(y))
            if self.sparse:
                features = Features(known.kinds)
                rows = FeatureHasher(HASHED).transform([features(x) for x in records])
            else:
                rows = np.array([matrix(x) for x in records])
            if known.K:
                p = np.zeros((n, known.K))
                came = np.cumsum(np.eye(known.K)[y[:first]], axis=0)
                p[:first] = 1.0 + np.concatenate([np.zeros((1, known.K)), came[:-1]])
            else:
                p = np.zeros(n)
                p[1:first] = np.cumsum(y[: first - 1]) / np.arange(1, first)
            begin, more = first, {self.words: matrix.categories} if self.words else {}
            while begin < n and not is_over(3.0):  # the next takes at least twice as long
                end = min(2 * begin, n)
                if known.K and len(set(y[:begin])) < 2:
                    p[begin:end, y[0]] = 1.0
                else:
                    model = self.fit(known, matrix, setting)
                    model.fit(rows[:begin], y[:begin], **more)
                    if known.K:
                        p[begin:end, model.classes_] = model.predict_proba(rows[begin:end])
                    else:
                        p[begin:end] = model.predict(rows[begin:end])
                begin = end
            return p[:begin]

        return play


def _lightgbm(known: Known, matrix: Matrix, setting: Setting) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if known.K else lightgbm.LGBMRegressor
    return kind(n_jobs=1, verbose=-1, random_state=0, **setting)


def _forest(known: Known, matrix: Matrix, setting: Setting) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    return (RandomForestClassifier if known.K else RandomForestRegressor)(random_state=0, **setting)


def _histogram(known: Known, matrix: Matrix, setting: Setting) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if known.K else HistGradientBoostingRegressor
    few = [matrix.place[name] for name, n in known.kinds.categories.items() if n < 255]
    return kind(random_state=0, categorical_features=few or None, **setting)


def _regression(known: Known, matrix: Matrix, setting: Setting) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge

    if known.K:
        return LogisticRegression(max_iter=300, C=setting.get("penalty", 1.0) ** -1)
    return Ridge(alpha=setting.get("penalty", 1.0))


def _frequencies(known: Known, setting: Setting) -> Step:
    """Frequencies of the classes, or the mean so far."""
    counts, scale = np.ones(known.K), Scale()

    def step(record: Record, y: Any) -> Any:
        if known.K:
            p = counts / counts.sum()
            counts[y] += 1
            return p
        mean, deviation = scale.moments("y")
        scale.learn("y", y)
        return mean, deviation

    return step


def _last(known: Known, setting: Setting) -> Step:
    """How often the last label has come again, the rest by frequency; or the last number."""
    counts, again, last = np.ones(known.K), [1, 1], None  # again: yes, no

    def step(record: Record, y: Any) -> Any:
        nonlocal last
        before, last = last, y
        if not known.K:
            return 0.0 if before is None else before
        p = counts / counts.sum()
        if before is not None:
            stays = again[0] / sum(again)
            p[before] = 0.0
            p *= (1 - stays) / p.sum()
            p[before] = stays
            again[0 if y == before else 1] += 1
        counts[y] += 1
        return p

    return step


LINEAR: Setting = {"kernel": None}


def _mixable(known: Known, setting: Setting) -> Step:
    """mixable one record at a time, as it is."""
    if known.K:
        labels = [str(code) for code in range(known.K)]
        classifier = mx.events.EventModel(classes=labels, linear=setting == LINEAR)

        def forecast(record: Record, code: int) -> list[float]:
            p = classifier.predict_proba_one(record)
            classifier.learn_one(record, labels[code])
            return [p[label] for label in labels]

        return forecast
    model = mx.river.GAFRegressor(**setting)

    def step(record: Record, y: float) -> tuple[float, float]:
        mean = model.predict_one(record)
        low, high = model.predict_interval_one(record, 0.9)
        model.learn_one(record, y)
        return mean, (high - low) / 2 / 1.6448536269514722

    return step


def _mixable_river(known: Known, setting: Setting) -> Step:
    """mixable for river, which meets the classes as they come."""
    if known.K:
        return river_step(mx.river.GAFClassifier(), known, lambda record: record)
    return _mixable(known, setting)


def _mixable_table(known: Known, setting: Setting) -> Whole:
    """mixable's `prequential` on a table of pandas."""

    def play(records: list[Record], y: Any, is_over: Callable[[float], bool]) -> Any:
        frame = pd.DataFrame(records)
        if not known.K:
            model = mx.GAFRegressor(**setting)
            return np.column_stack(model.prequential(frame, y, return_std=True))
        classifier = mx.GAFClassifier(**setting)
        return classifier.prequential(frame, y, classes=range(known.K))

    return play


def _rates(*rates: float) -> tuple[Setting, ...]:
    return tuple({"learning_rate": rate} for rate in rates)


OPTIMISERS = tuple(
    {"optimiser": name, "rate": rate}
    for name, rate in (("SGD", 0.03), ("SGD", 0.1), ("AdaGrad", 0.3), ("Adam", 0.01))
)
SMALL = {"learning_rate": 0.05, "n_estimators": 50}
CONSTANT = ({"learning_rate": "constant", "eta0": 0.03},)
VW, RIVER, SKLEARN, MOA = "Vowpal Wabbit", "river", "scikit-learn", "CapyMOA"
PEERS = {
    peer.name: peer
    for peer in [
        Peer("mixable", OURS, _mixable),
        Peer("mixable, in tables", OURS, _mixable_table, whole=True),
        Peer("mixable linear", OURS, lambda known, s: _mixable(known, LINEAR)),
        Peer("mixable, classes unknown", OURS, _mixable_river),
        Peer("class frequencies or mean", BASELINE, _frequencies),
        Peer("last label", BASELINE, _last),
        Peer("VW", VW, _vowpal_wabbit(""), _rates(0.1, 2, 10)),
        Peer("VW -q ::", VW, _vowpal_wabbit("-q ::"), _rates(0.1, 2)),
        Peer("VW --ftrl", VW, _vowpal_wabbit("--ftrl"), ({"ftrl_alpha": 0.3}, {"ftrl_alpha": 3})),
        Peer("VW --coin", VW, _vowpal_wabbit("--coin")),
        Peer("river Softmax/Linear", RIVER, _linear, OPTIMISERS),
        Peer("LightGBM, refitted", REFITTED, Refitted(_lightgbm, words="categorical_feature"),
             (SMALL,), whole=True),
        Peer("random forest, refitted", REFITTED, Refitted(_forest), ({"min_samples_leaf": 3},),
             whole=True),
        Peer("regression, refitted", REFITTED, Refitted(_regression, sparse=True),
             ({"penalty": 10.0},), whole=True),
        Peer("hist. boosting, refitted", REFITTED, Refitted(_histogram),
             ({"learning_rate": 0.05, "max_iter": 50},), whole=True, slow=2),
        Peer("SGD, partial_fit", SKLEARN, _partial_fit, CONSTANT, slow=1),
        Peer("river HAT", RIVER, _river("tree.HoeffdingAdaptiveTree", "nominal"),
             ({"grace_period": 50},), slow=1),
        Peer("river ARF", RIVER, _river("forest.ARF", "nominal"), ({"grace_period": 20},), slow=2),
        Peer("river AMF", RIVER, _river("forest.AMF", "features"), ({"n_estimators": 20},),
             slow=1),
        Peer("CapyMOA ARF", MOA,
             _capymoa("AdaptiveRandomForestClassifier/AdaptiveRandomForestRegressor"), slow=3),
        Peer("CapyMOA SGBT", MOA,
             _capymoa("StreamingGradientBoostedTrees/StreamingGradientBoostedRegression"),
             slow=3),
        Peer("CapyMOA SRP/SOKNL", MOA, _capymoa("StreamingRandomPatches/SOKNL"), slow=3),
        Peer("river KNN", RIVER, _river("neighbors.KNN", "features"), ({"n_neighbors": 20},),
             slow=1),
        Peer("river SRP", RIVER, _river("ensemble.SRP", "nominal"), slow=2),
    ]
}  # fmt: skip
