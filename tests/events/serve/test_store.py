"""The models of a service: names, files, and who is in memory."""

import pytest
from serve_command import served_model

import mixable as mx
from mixable.events.events import RefusedError
from mixable.events.serve.service import Models


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "A", "a.b", "-a", "_a", "a b", "a\n", "é", "\0", "a" * 65, "~"],
)
def test_no_name_can_be_a_path(tmp_path, name):
    (tmp_path / "models").mkdir()
    models = Models(tmp_path / "models", served_model, 2)
    with pytest.raises(RefusedError, match="cannot be a name"):
        models.make(name, "", 0)
    assert [path.name for path in tmp_path.rglob("*")] == ["models"]


def test_models_are_found_by_their_files(tmp_path):
    models = Models(tmp_path, served_model, 2)
    models.make("a-1", "journal", 7)
    for stranger in ("Big.model", "x.txt", ".hidden.model"):
        (tmp_path / stranger).write_text("")
    again = Models(tmp_path, served_model, 2)
    assert again.names == {"a-1"}
    assert (again.read("a-1").journal, again.read("a-1").place) == ("journal", 7)
    with pytest.raises(RefusedError, match="no model is called 'b'"):
        again.check("b")


def test_a_file_of_something_else_is_not_served(tmp_path):
    mx.save(mx.GAF(2, 2), tmp_path / "a.model")
    with pytest.raises(ValueError, match="holds a GAF"):
        Models(tmp_path, served_model, 2).read("a")


def test_who_was_used_last_stays_and_who_is_needed_too(tmp_path):
    models = Models(tmp_path, served_model, 2)
    held = {name: models.hold(name, served_model()) for name in "abcde"}
    held["a"].dirty, held["b"].pins = True, 1
    models.in_memory("c")
    models.let_go()
    assert list(models.loaded) == ["a", "b"]
    assert models.in_memory("c") is None
    held["a"].dirty = False
    models.hold("f", served_model())
    models.let_go()
    assert list(models.loaded) == ["b", "f"]
