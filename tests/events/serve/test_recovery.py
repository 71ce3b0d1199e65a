"""After a crash: the journal is learned once, under the limits of its time."""

import json
from dataclasses import asdict

from serve_command import same_models, served_model

from mixable import persistence
from mixable.events.events import Event, ModelLimits
from mixable.events.serve.journal import Journal
from mixable.events.serve.service import Models, recover

LIMITS = ModelLimits(classes=4)


def as_entry(name, text):
    return b'["%s",%s]' % (name.encode(), text)


def texts(n, first=0):
    return [
        json.dumps({"features": {"x": t % 3 + 0.5}, "label": "ab"[t % 2]}).encode()
        for t in range(first, first + n)
    ]


def learned(lines):
    model = served_model()
    for line in lines:
        model.apply(Event(id=None, **json.loads(line)), LIMITS)
    return model


def journal_of(folder, *batches, limits=LIMITS):
    made = Journal(folder, 1, asdict(limits))
    for batch in batches:
        made.append(batch)
    made.close()
    return made


def test_models_learn_what_they_have_not_and_once(tmp_path):
    models, lines, said = Models(tmp_path, served_model, 9), texts(20), []
    models.make("a", "", 0)
    models.make("b", "", 0)
    made = journal_of(tmp_path, [as_entry("ab"[t % 2], line) for t, line in enumerate(lines)])
    assert recover(tmp_path, models, said.append) == (made.id, 21)
    assert said == ["took 20 events from the journal"]
    for which, name in enumerate("ab"):
        held = models.loaded[name]
        assert held.dirty
        assert same_models(held.model, learned(lines[which::2]))
        models.write(name, persistence.to_bytes(held.model))
    again = Models(tmp_path, served_model, 9)
    assert recover(tmp_path, again, said.append) == (made.id, 21)
    assert same_models(again.loaded["a"].model, models.loaded["a"].model)
    assert len(said) == 1


def test_a_model_of_another_journal_learns_all_of_this_one(tmp_path):
    models = Models(tmp_path, served_model, 9)
    models.make("a", "another", 1000)
    journal_of(tmp_path, [as_entry("a", line) for line in texts(5)])
    recover(tmp_path, models, print)
    assert models.loaded["a"].model.counts["learned"] == 5


def test_limits_are_those_of_the_time(tmp_path):
    models = Models(tmp_path, served_model, 9)
    models.make("a", "", 0)
    lines = [json.dumps({"features": {"x": 1.0}, "label": name}).encode() for name in "abcde"]
    few = ModelLimits(classes=3)
    journal_of(tmp_path, [as_entry("a", line) for line in lines], limits=few)
    recover(tmp_path, models, print)
    assert models.loaded["a"].model.learner.labels == ["a", "b", "c"]


def test_a_torn_end_and_models_that_are_gone_are_said(tmp_path):
    models, said = Models(tmp_path, served_model, 9), []
    models.make("a", "", 0)
    made = journal_of(tmp_path, [as_entry("a", texts(1)[0])], [as_entry("gone", texts(1)[0])])
    with open(made.path, "ab") as file:
        file.write(b"mxJ1 torn")
    assert recover(tmp_path, models, said.append)[1] == 3
    assert said == [
        "cut 9 bytes off the journal: a crash left them, nobody was told of them",
        "took 1 events from the journal",
        "the journal has events of models that are gone: gone",
    ]
    assert b"torn" not in made.path.read_bytes()


def test_more_models_than_fit_are_saved_on_the_way(tmp_path):
    models, names = Models(tmp_path, served_model, 2), "abcdef"
    for name in names:
        models.make(name, "", 0)
    entries = [as_entry(name, line) for line in texts(4) for name in names]
    journal_of(tmp_path, entries)
    recover(tmp_path, models, print)
    assert len(models.loaded) <= 2
    for name in names:
        held = models.loaded.get(name)
        model = held.model if held else models.read(name)
        assert same_models(model, learned(texts(4)))
