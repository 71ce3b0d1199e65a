"""Writes tests/fixtures: tiny models of each class that can be saved, and what they forecast. A
name is a class, or class-variant.

Run it only for classes that have none yet:

    python tests/make_fixtures.py

A file once committed stays as it is: persistence/test_fixtures.py loads it with every later
version.
"""

import json
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

import mixable as mx
from mixable.events.applying import Applier
from mixable.events.decisions import AgentOptions, Decisions
from mixable.events.events import Event
from mixable.events.model import EventModel
from mixable.events.saving import Waiting
from mixable.losses import Logistic
from mixable.model import Design
from mixable.records import Columns, Encoder

FOLDER = Path(__file__).parent / "fixtures"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(13, 2))
Y = RNG.integers(0, 2, 13)
X3, Y3 = RNG.normal(size=(9, 2)), RNG.integers(0, 3, 9)
LONG = np.random.default_rng(1).normal(size=(30, 2))
LONG_Y = np.digitize(LONG[:, 0], [-0.5, 0.5])


def learned(model, X=X, y=Y):
    model.run(X, y)
    return model


def classifier(**parameters):
    return mx.GAFClassifier(**parameters).partial_fit(X3, np.array(["a", "b", "c"])[Y3])


def dictionaries(model, labels):
    for x, y in zip(X, labels, strict=True):
        model.learn_one({"one": x[0], "two": x[1]}, y)
    return model


def records(model, targets):
    """A model that has learned categories and text beside numbers."""
    for i, (x, y) in enumerate(zip(X, targets, strict=True)):
        words = {"who": "ab"[i % 2], "said": f"word {i % 3} here"}
        model.learn_one({"one": x[0], "two": x[1], **words}, y)
    return model


def counted():
    scores = mx.metrics.Scores(bins=3)
    scores.update([0.25, 0.75], 1)
    return scores


def formatted():
    """An encoder whose columns have told how they are written, and one that has not."""
    encoder = Encoder(Columns(month_first=["at"]))
    for i in range(18):
        encoder.learn({"one": f"{i},5", "at": f"1/{i + 10}/2024", "who": "1,234"})
    return encoder


def encoded():
    """An encoder that has met something of each kind, and a value that has a place."""
    columns = {"number": ["one"], "category": ["who"], "text": ["said"], "tags": ["tags"]}
    encoder = Encoder(Columns(time=["at"], cross=[("who", "tags")], **columns))
    for i in range(65):
        record = {
            "one": i / 4 if i % 9 else "none",
            "who": "ab"[i % 2],
            "tags": ["x", "y"][: i % 3],
        }
        encoder.learn({**record, "said": f"word {i % 5}", "at": f"2024-01-01T{i % 24:02d}:30"})
    return encoder


def streamed():
    """A model of `mixable stream` with events that wait for their label."""
    model = dictionaries(
        EventModel(design=Design.for_classes(mx.GAF, {"lam": 0.1, "beta": 1.0})),
        ["yes" if y else "no" for y in Y],
    )
    model.counts["learned"] = len(Y)
    kept = model.learner.kept(np.array([1.0, np.nan]))
    model.waiting["7"] = Waiting(kept, np.array([0.25, 0.75]), (2.0, 1.0))
    model.place = {
        "input": {"position": 7, "line": 2, "torn": None, "prints": ["", ""]},
        "out": [3, ""],
        "rejects": None,
        "headed": 2,
    }
    return model


def served():
    """A model of `mixable serve` with forecasts that wait for their label."""
    model = EventModel(design=Design.for_classes(mx.GAF, {"lam": 0.1, "beta": 1.0}))
    applier = Applier(model)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        features = {"one": float(x[0]), "two": float(x[1])}
        applier.one(Event(id=str(t), features=features, label="yes" if y else "no"))
    applier.one(Event(id="late", features={"one": 1.0, "two": None}, label=None))
    return model


def served_numbers():
    """The same of numbers, with words."""
    model = EventModel(regression=True, linear=True)
    applier = Applier(model)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        features = {"one": float(x[0]), "two": "ab"[int(y)]}
        applier.one(Event(id=str(t), features=features, label=str(x[1])))
    applier.one(Event(id="late", features={"one": 1.0, "two": None}, label=None))
    return model


def measured():
    scores = mx.metrics.NumberScores(0.8)
    for x in X.tolist():
        scores.update(x[0], 1.5, x[1])
    return scores


MODELS = {
    "AIOLI": lambda: learned(mx.AIOLI(2)),
    "FTRL": lambda: learned(mx.FTRL(2, 2)),
    "Folklore": lambda: learned(mx.Folklore(2, 3), X3, Y3),
    "Foster": lambda: learned(mx.Foster(2, 2, m=5)),
    "GAF": lambda: learned(mx.GAF(2, 3, alpha=4.0, integrator=mx.integrals.Sobol(16)), X3, Y3),
    **{
        f"GAF-{structure}": lambda structure=structure: learned(
            mx.GAF(2, 3, structure=structure, drift=0.01 if structure == "shared" else 0.0), X3, Y3
        )
        for structure in ("blocks", "shared", "diagonal")
    },
    "Folklore-blocks": lambda: learned(mx.Folklore(2, 3, structure="blocks"), X3, Y3),
    "AutoGAF-structures": lambda: learned(mx.AutoGAF(2, 3), X3, Y3),
    "GAFClassifier-low": lambda: classifier(effort="low"),
    "GenericGAF": lambda: learned(mx.GenericGAF(Logistic(2), 2)),
    "KernelGAF": lambda: learned(mx.KernelGAF(Logistic(2), 2)),
    # Since November 2026 they know the largest norm and weight
    "GAF-met": lambda: learned(mx.GAF(2, 2, lam=2.0, beta=0.4)),
    "GenericGAF-met": lambda: learned(mx.GenericGAF(Logistic(2), 2)),
    "OGD": lambda: learned(mx.OGD(2, 2)),
    "ONS": lambda: learned(mx.ONS(2, 2)),
    "ScaleFree": lambda: learned(mx.ScaleFree(2, 3), X3, Y3),
    "FreshStarts": lambda: learned(mx.FreshStarts(mx.Folklore(2, 3)), X3, Y3),
    "SMP": lambda: learned(mx.SMP(2, 2)),
    "SparseGAF": lambda: learned(mx.SparseGAF(3), [{0: 1.0, 1 + t % 4: 1.0} for t in range(9)], Y3),
    "VAW": lambda: learned(mx.VAW(2), X, X[:, 0]),
    "AutoGAF": lambda: learned(mx.AutoGAF(2, 2, grid=[(0.1, 1.0, 0.0), (0.1, 1.0, 0.01)])),
    "AutoRidge": lambda: learned(
        mx.AutoRidge(2, grid=[(0.1, 0.0)], noises=[0.01, 1.0]), X, X[:, 0]
    ),
    # In the middle of a build: the files have trees, and one that grows
    "Trees": lambda: learned(mx.Trees(2, 3, categories=[1]), np.round(LONG), LONG_Y),
    "Trees-numbers": lambda: learned(mx.Trees(2), LONG, LONG[:, 0]),
    "Mixture": lambda: learned(mx.Mixture([mx.GAF(2, 2), mx.OGD(2, 2)], share=0.01, history=True)),
    "Pool": lambda: learned(mx.Pool([mx.GAF(2, 2), mx.OGD(2, 2)])),
    "GAFClassifier": lambda: classifier(kernel=None),
    "GAFClassifier-auto": lambda: classifier(kernel=mx.kernels.Auto(2)),
    "GAFClassifier-fallback": lambda: classifier(kernel=mx.kernels.Auto(2)),
    "GAFClassifier-fourier": lambda: classifier(kernel=mx.kernels.RBF(2), lam=0.1),
    "GAFClassifier-nystroem": lambda: classifier(
        kernel=mx.kernels.RBF(2, method="nystroem"), lam=0.1
    ),
    "GAFRegressor": lambda: mx.GAFRegressor(lam=0.1).fit(X, X[:, 0]),
    "GAFRegressor-sparse": lambda: mx.GAFRegressor().fit(csr_array(X), X[:, 0]),
    # Since November 2026 there are trees, naive Bayes, columns of categories and memory
    "GAFClassifier-experts": lambda: classifier(kernel=mx.kernels.Auto(2)),
    "GAFRegressor-experts": lambda: mx.GAFRegressor(kernel=mx.kernels.Auto(2)).fit(X, X[:, 0]),
    "river.GAFClassifier-experts": lambda: records(
        mx.river.GAFClassifier(kernel=mx.kernels.Auto(2)), [bool(y) for y in Y]
    ),
    "Encoder": encoded,
    "Encoder-formats": formatted,
    "Scores": counted,
    "Scores-classes": counted,
    "StreamModel": streamed,
    "StreamModel-kept": streamed,
    "ServedModel": served,
    "EventModel": served,
    "EventModel-numbers": served_numbers,
    "NumberScores": measured,
    "river.GAFClassifier": lambda: dictionaries(
        mx.river.GAFClassifier(lam=0.1), [bool(y) for y in Y]
    ),
    "river.GAFClassifier-records": lambda: records(
        mx.river.GAFClassifier(kernel=mx.kernels.Auto(2)), [bool(y) for y in Y]
    ),
    "river.GAFRegressor": lambda: dictionaries(mx.river.GAFRegressor(lam=0.1), X[:, 0].tolist()),
    "river.GAFRegressor-records": lambda: records(
        mx.river.GAFRegressor(kernel=mx.kernels.Auto(2)), X[:, 0].tolist()
    ),
    "Decisions": lambda: decided(Decisions(AgentOptions(["a", "b"], floor=0.1))),
    "Agent": lambda: waiting(
        mx.bandits.Agent({"a": {"price": 2.0}, "b": None}, reward="unit", floor=0.1)
    ),
}


def decided(model):
    """An agent of a service, some of whose decisions have their reward."""
    for t in range(6):
        event = {"context": {"one": t / 3, "who": "ab"[t % 2]}}
        model.one(Event(id=str(t), features=event, label=None, number=t + 1))
        if t < 3:
            model.one(Event(id=str(t), features=None, label="1", number=t + 10))
    return model


def waiting(agent):
    """An agent whose decisions wait for their rewards: the posteriors of actions are large."""
    for t, (one, two) in enumerate(X.tolist()):
        agent.choose({"one": one, "two": two, "who": "ab"[t % 2]})
    return agent


def forecast(model):
    """Numbers that tell whether a model is the one it was."""
    model = model.agent if isinstance(model, Decisions) else model
    if isinstance(model, mx.bandits.Agent):
        rewards = mx.loads(mx.dumps(model))
        for id in rewards.waiting[:3]:
            rewards.learn(id, 0.3 if rewards.reward == "unit" else 1)
        context = {"one": 0.3, "two": -0.2, "who": "b"}
        found = rewards.expected(context), rewards.propensities(context)
        return [value for each in found for value in each.values()]
    if isinstance(model, mx.metrics.Scores):
        return [model.log_loss, model.brier, model.accuracy, model.calibration_error]
    if isinstance(model, Encoder):
        record = {"one": 2, "who": "a", "said": "a Word", "at": "2024-02-02", "tags": ["x"]}
        row = model.encode(record)
        keys = np.concatenate([row.keys, row.cross_keys]).tolist()
        return [*row.dense.tolist(), *row.values.tolist(), *(key / 2**64 for key in keys)]
    if isinstance(model, mx.metrics.NumberScores):
        return [model.rmse, model.mae, model.crps, model.coverage]
    if isinstance(model, EventModel) and model.options.regression:
        answer = model.forecast({"one": 0.3, "two": "a"})
        return [answer["mean"], answer["std"], *answer["interval"]]
    if hasattr(model, "learn_one"):
        out = (
            model.predict_proba_one({"one": 0.3, "two": -0.2})
            if hasattr(model, "predict_proba_one")
            else model.predict_one({"one": 0.3})
        )
        return list(out.values()) if isinstance(out, dict) else [out]
    if isinstance(model, mx.SparseGAF):
        return model.predict({0: 1.0, 2: 1.0, 9: 1.0}).tolist()
    row = [[0.3, -0.2]] if hasattr(model, "partial_fit") else [0.3, -0.2]
    return np.atleast_1d(getattr(model, "predict_proba", model.predict)(row)).ravel().tolist()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    book = FOLDER / "forecasts.json"
    forecasts = json.loads(book.read_text()) if book.exists() else {}
    for name, make in MODELS.items():
        path = FOLDER / f"{name}.safetensors"
        if not path.exists():
            model = make()
            mx.save(model, path)
            forecasts[name] = forecast(model)
    book.write_text(json.dumps(forecasts, indent=1) + "\n")
