"""Options of a model: the same on the command line, in the body of PUT, and in Python."""

import inspect
import json

import pytest
from command_line import in_process
from serve_command import saved

import mixable as mx
from mixable.cli import serve
from mixable.cli.log import run_replay
from mixable.cli.serve import run_serve
from mixable.cli.stream import run_stream
from mixable.events import EventModel, ModelOptions
from mixable.events.options import SENTENCES, told

GIVEN = {
    "classes": ["no", "yes"],
    "category": ["user", "zip"],
    "cross": ["user*zip"],
    "remember": 7,
    "effort": "low",
    "lam": 0.5,
}


def test_each_command_has_each_option_with_its_sentence():
    assert list(SENTENCES) == [each.name for each in told()]
    for command in (run_stream, run_serve, run_replay):
        parameters = inspect.signature(command).parameters
        for each in told():
            assert parameters[each.name].default is None
            (option,) = parameters[each.name].annotation.__metadata__
            assert option.help.startswith(each.sentence[:-1])


def test_a_model_has_the_same_options_wherever_they_are_given(tmp_path, start_in, monkeypatch):
    expected = ModelOptions.from_json(GIVEN)
    assert EventModel(**GIVEN).options == expected
    assert mx.loads(mx.dumps(EventModel(**GIVEN))).options == expected
    arguments = []
    for name, value in GIVEN.items():
        text = ",".join(value) if isinstance(value, list) else value
        arguments += [f"--{name.replace('_', '-')}", text]
    (tmp_path / "in.csv").write_text("user,zip,y\na,1,no\n")
    done = in_process(
        *("stream", tmp_path / "in.csv", "--model", tmp_path / "model", "--target", "y"), *arguments
    )
    assert done.exit_code == 0, done.stderr
    assert mx.load(tmp_path / "model").options == expected
    _, call = start_in(tmp_path / "put")
    assert call("PUT", "/models/shop", {**GIVEN, "linear": False})[0] == 201
    assert saved(tmp_path / "put", "shop")[0].options == expected
    monkeypatch.setattr(serve, "_run", lambda app, service, sock: service._lock.release())
    done = in_process("serve", tmp_path / "serve", "--port", "0", *arguments)
    assert saved(tmp_path / "serve")[0].options == expected


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"classes": ["a"]}, "^classes must be two or more"),
        ({"classes": "a,a"}, "^classes must be different names"),
        ({"classes": [1, 2]}, "^classes must be different names"),
        ({"regression": True, "classes": "a,b"}, "^classes are for labels, not for regression"),
        ({"regression": True, "beta": 1.0}, "^beta is for labels"),
        ({"regression": 1}, "regression"),
        ({"effort": "most"}, "effort must be one of low, auto, high"),
        ({"forecaster": "tree"}, "forecaster must be one of auto"),
        ({"forecaster": "ons", "alpha": 1.0}, "^forecaster ons"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"lam": "x"}, "lam"),
        ({"remember": -1}, "remember"),
        ({"number": "a", "text": "a"}, "both"),
        ({"clases": "a,b"}, "did you mean 'classes'"),
        ({"kinds": {"a": "word"}}, "cannot be 'word'"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_a_sentence(given, reason):
    with pytest.raises(ValueError, match=reason):
        ModelOptions.from_json(given)


def test_options_come_back_from_json_and_have_a_schema():
    options = ModelOptions.from_json({"kinds": {"a": "text", "b": "text"}, "number": ["c"]})
    assert (options.text, options.number) == (("a", "b"), ("c",))
    text = json.dumps(options.to_json())
    assert ModelOptions.from_json(json.loads(text)) == options
    assert set(ModelOptions.schema()) == {"kinds", *SENTENCES}


def test_a_saved_model_keeps_its_level_and_can_have_more_classes(tmp_path):
    (tmp_path / "in.csv").write_text("a,y\n" + "".join(f"{t},{t % 5}\n" for t in range(40)))

    def run(model, *options):
        source = ("stream", tmp_path / "in.csv", "--from-start", "--target", "y")
        out = ("--out", tmp_path / f"{model}.csv", "--model", tmp_path / model)
        return in_process(*source, *out, *options)

    assert run("numbers", "--regression", "--level", "0.8").exit_code == 0
    refused = run("numbers", "--level", "0.5")
    assert refused.exit_code == 2
    assert "was made with other --level: 0.8" in refused.stderr
    few = run("labels", "--linear", "--most-classes", "3")
    assert "'3' would be class number 4" in few.stderr
    rejected = mx.load(tmp_path / "labels").counts["rejected"]
    assert run("labels", "--most-classes", "5").exit_code == 0
    more = mx.load(tmp_path / "labels")
    assert (more.counts["rejected"], more.labels) == (rejected, [*"01234"])
