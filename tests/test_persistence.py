"""save and load: every class, damaged files, crashes, and files written long ago."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from make_fixtures import FOLDER, MODELS, X3, Y3, X, Y, classifier, forecast

import mixable as mx
from mixable import persistence

FORECASTS = json.loads((FOLDER / "forecasts.json").read_text())


def test_every_class_that_can_be_saved_has_a_fixture():
    savable = {name for name, home in persistence.HOMES.items() if name not in persistence.PARTS}
    assert set(MODELS) == set(FORECASTS)
    assert {name.partition("-")[0] for name in MODELS} == savable


@pytest.mark.parametrize("name", MODELS)
def test_files_written_long_ago_load_and_forecast_the_same(name):
    model = mx.load(FOLDER / f"{name}.safetensors")
    assert type(model).__name__ == name.removeprefix("river.").partition("-")[0]
    np.testing.assert_allclose(forecast(model), FORECASTS[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_saved_and_loaded_it_goes_on_with_the_same_bits(name, tmp_path):
    model = MODELS[name]()
    before = pickle.dumps(model)
    mx.save(model, tmp_path / "m.safetensors")
    assert pickle.dumps(model) == before  # saving changes nothing
    twin = mx.load(tmp_path / "m.safetensors")
    mx.save(twin, tmp_path / "twin.safetensors")
    assert (tmp_path / "twin.safetensors").read_bytes() == (tmp_path / "m.safetensors").read_bytes()
    assert forecast(twin) == forecast(model)
    for f in (model, twin):
        if hasattr(f, "learn_one"):
            f.learn_one(
                {"three": 1.0, "one": 2.0},
                {"river.GAFClassifier": True, "StreamModel": "yes"}.get(name, 1.0),
            )
        elif hasattr(f, "partial_fit"):
            f.partial_fit(
                X3,
                np.array(["a", "b", "new"])[Y3] if name.startswith("GAFClassifier") else X3[:, 1],
            )
        elif hasattr(f, "learn"):
            f.learn(X[0], 0.5 if name in ("VAW", "AutoRidge") else 1)
        else:
            f.update([0.5, 0.5], 0)
    assert forecast(twin) == forecast(model)


def test_equal_models_give_equal_files_in_every_process(tmp_path):
    script = "import sys, mixable as mx; mx.save(mx.load(sys.argv[1]), sys.argv[2])"
    for number in range(3):
        subprocess.run(
            [sys.executable, "-c", script, FOLDER / "Mixture.safetensors", tmp_path / str(number)],
            check=True,
        )
    assert len({(tmp_path / str(number)).read_bytes() for number in range(3)}) == 1


def test_what_waits_in_a_stream_comes_back(tmp_path):
    model = MODELS["StreamModel"]()
    mx.save(model, tmp_path / "m")
    twin = mx.load(tmp_path / "m")
    assert (twin.counts, twin.place, list(twin.waiting)) == (model.counts, model.place, ["7"])
    for got, wanted in zip(twin.waiting["7"], model.waiting["7"], strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_parameters_of_every_kind_come_back(tmp_path):
    for model in (
        mx.GAF(2, 3, alpha=np.inf, integrator=mx.integrals.MonteCarlo(7), seed=2**60),
        mx.GAF(2, 3, integrator="ladder"),
        mx.AutoGAF(2, 3, guard=None, alphas=[1.0, np.inf]),
        mx.ONS(2, 3, radius=2.0),
    ):
        mx.save(model, tmp_path / "m")
        assert repr(mx.load(tmp_path / "m")) == repr(model)
    mx.save(mx.GenericGAF(mx.losses.Huber(delta=2.0), 2, lam=3.0), tmp_path / "m")
    assert mx.load(tmp_path / "m").loss == mx.losses.Huber(delta=2.0)
    estimator = mx.GAFClassifier(lam=np.float64(0.5), forecaster=mx.ONS, standardize=False).fit(
        X, Y
    )
    mx.save(estimator, tmp_path / "m")
    assert mx.load(tmp_path / "m").get_params() == estimator.get_params()
    import pandas as pd

    named = mx.GAFClassifier().fit(
        pd.DataFrame(X, columns=["left", "right"]), np.where(Y, "yes", "no")
    )
    mx.save(named, tmp_path / "m")
    twin = mx.load(tmp_path / "m")
    assert twin.feature_names_in_.tolist() == ["left", "right"]
    assert twin.classes_.tolist() == ["no", "yes"]


def test_loading_in_another_process_goes_on_with_the_same_bits(tmp_path):
    model = mx.AutoGAF(2, 2)
    rng = np.random.default_rng(1)
    more, labels = rng.normal(size=(800, 2)), rng.integers(0, 2, 800)
    model.run(more, labels)
    mx.save(model, tmp_path / "m.safetensors")
    script = f"""
import numpy as np, mixable as mx
rng = np.random.default_rng(2)
f = mx.load({str(tmp_path / "m.safetensors")!r})
print(f.run(rng.normal(size=(50, 2)), rng.integers(0, 2, 50)).tobytes().hex())
"""
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.strip()
    rng = np.random.default_rng(2)
    assert model.run(rng.normal(size=(50, 2)), rng.integers(0, 2, 50)).tobytes().hex() == out


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model.safetensors"
    mx.save(classifier(), path)
    return path


def test_a_file_cut_short(saved):
    data = saved.read_bytes()
    for length in (0, 5, 8, 9, 100, len(data) // 2, len(data) - 1):
        saved.write_bytes(data[:length])
        with pytest.raises(persistence.DamagedFileError, match=r"cut short|does not begin"):
            mx.load(saved)


def test_any_flipped_bit_is_noticed(saved):
    data = saved.read_bytes()
    rng = np.random.default_rng(0)
    for position in {*range(0, 400), *rng.integers(0, len(data), 300).tolist()}:
        changed = bytearray(data)
        changed[position] ^= 1 << int(rng.integers(8))
        saved.write_bytes(bytes(changed))
        with pytest.raises(
            ValueError, match=r"damaged|cut short|does not begin|not one that mixable|has format"
        ):
            mx.load(saved)


def test_a_pickle_in_disguise_is_not_opened(saved, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    for protocol in (2, 4, 5):
        saved.write_bytes(pickle.dumps(Bomb(), protocol=protocol))
        with pytest.raises(persistence.DamagedFileError, match="is a pickle"):
            mx.load(saved)
    assert not (tmp_path / "exploded").exists()


def test_other_files(saved, tmp_path):
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(persistence.DamagedFileError, match="not one that mixable wrote"):
        mx.load(tmp_path / "other.safetensors")
    saved.write_text("model: yes\nclasses: 3\n")
    with pytest.raises(persistence.DamagedFileError, match="does not begin like"):
        mx.load(saved)
    with pytest.raises(FileNotFoundError):
        mx.load(tmp_path / "missing")


def rewritten(data, **changes):
    """The same file with other metadata and a checksum that fits."""
    from safetensors.numpy import load, save

    tensors = load(data)
    size = int.from_bytes(data[:8], "little")
    metadata = {**json.loads(data[8 : 8 + size])["__metadata__"], **changes}
    metadata["checksum"] = persistence._checksum(metadata, tensors)
    return save(tensors, metadata)


def test_a_later_format_and_unknown_classes(saved):
    data = saved.read_bytes()
    saved.write_bytes(rewritten(data, format="2", library="9.0"))
    with pytest.raises(
        persistence.UnknownFormatError, match=r"has format 2.*reads up to 1.*version 9\.0"
    ):
        mx.load(saved)
    saved.write_bytes(rewritten(data, model='{"object": "os.system", "state": {"dict": []}}'))
    with pytest.raises(persistence.DamagedFileError, match=r"holds a 'os\.system'"):
        mx.load(saved)


def test_what_cannot_be_saved_is_refused_and_leaves_the_old_file(saved):
    before = saved.read_bytes()

    class Own(mx.losses.Squared):
        pass

    for thing in (object(), {"a": 1}, mx.losses.Squared(), mx.GenericGAF(Own(), 2)):
        with pytest.raises(TypeError, match="cannot be saved"):
            mx.save(thing, saved)
    assert saved.read_bytes() == before


@pytest.mark.parametrize("step", ["fsync", "replace", "fdopen"])
def test_a_failure_at_any_step_leaves_the_old_file_and_nothing_else(saved, monkeypatch, step):
    before = saved.read_bytes()

    def fail(*_, **__):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="no space"):
        mx.save(mx.GAF(2, 2), saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_killing_the_writer_leaves_a_whole_file(tmp_path):
    path = tmp_path / "m.safetensors"
    mx.save(mx.GAF(2, 3), path)
    script = f"""
import mixable as mx
models = [mx.GAF(60, 4), mx.GAF(50, 4)]
print("ready", flush=True)
while True:
    for model in models:
        mx.save(model, {str(path)!r})
"""
    for wait in (0.0, 0.02, 0.05, 0.11):
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert mx.load(path).n_features in (2, 50, 60)


def test_files_get_the_usual_permissions(saved):
    (saved.parent / "plain").write_text("")
    assert saved.stat().st_mode == (saved.parent / "plain").stat().st_mode


@pytest.mark.parametrize(
    "name", ["GAFClassifier", "GAFRegressor", "river.GAFClassifier", "river.GAFRegressor"]
)
def test_files_written_long_ago_go_on_learning(name):
    """Some were saved before the scaler kept the first entries of each feature."""
    model = mx.load(FOLDER / f"{name}.safetensors")
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(60, 2))
    for x in rows:
        y = (
            ("b" if x[0] > 0 else "a")
            if name == "GAFClassifier"
            else bool(x[0] > 0)
            if name == "river.GAFClassifier"
            else x[0]
        )
        if "river" in name:
            model.learn_one({"one": x[0], "two": x[1]}, y)
        else:
            model.partial_fit(x[None, :], [y])
    learner = model._learner if "river" in name else model.learner_
    mean, sd = learner.inputs.moments()
    assert np.abs(mean).max() < 0.5
    assert np.abs(sd - 1).max() < 0.3
    high = {"one": 1.5, "two": 0.0}
    forecast = (
        model.predict_proba([[1.5, 0.0]])[0][1]
        if name == "GAFClassifier"
        else model.predict([[1.5, 0.0]])[0] - 0.5
        if name == "GAFRegressor"
        else model.predict_proba_one(high)[True]
        if name == "river.GAFClassifier"
        else model.predict_one(high) - 0.5
    )
    assert 0.7 < forecast < 1.3


def test_links_stay_links_and_files_keep_their_permissions(saved):
    link = saved.parent / "link"
    link.symlink_to(saved)
    saved.chmod(0o600)
    mx.save(mx.GAF(2, 2), link)
    assert link.is_symlink()
    assert mx.load(saved).n_classes == 2
    assert saved.stat().st_mode & 0o777 == 0o600
    long = saved.parent / ("x" * 250)
    mx.save(mx.GAF(2, 2), long)
    assert mx.load(long).n_classes == 2


def test_labels_and_names_of_all_kinds(tmp_path):
    model = mx.river.GAFClassifier()
    for label in (10**5000, np.int8(3), 2**60, "text", -(10**40)):
        model.learn_one({1: 0.5, "1": -0.5, ("a", 2): 1.0}, label)
    mx.save(model, tmp_path / "m")
    twin = mx.load(tmp_path / "m")
    assert list(twin._learner.labels) == [10**5000, 3, 2**60, "text", -(10**40)]
    assert twin.predict_proba_one({1: 1.0, "1": 2.0}) == model.predict_proba_one({1: 1.0, "1": 2.0})
    model.learn_one({}, np.longdouble(1.5))
    with pytest.raises(TypeError, match="cannot be saved"):
        mx.save(model, tmp_path / "m")


def test_tensors_of_the_same_name_and_of_no_dimension(saved):
    tensors = {}
    value = {"1": np.array(7.0), 1: np.arange(3.0), "1~": np.arange(2)}
    text = json.dumps(persistence._encode(value, tensors, "m"))
    assert len(tensors) == 3
    back = persistence._decode(json.loads(text), tensors)
    assert back["1"].shape == ()
    assert all(np.array_equal(back[key], value[key]) for key in value)


@pytest.mark.parametrize("name", ["GAF", "OGD", "VAW", "AutoGAF", "GAFClassifier"])
def test_contents_that_no_model_can_have_are_refused(name):
    from safetensors.numpy import load, save

    data = (FOLDER / f"{name}.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    refused = 0
    for tensor in load(data):
        tensors = load(data)
        if tensors[tensor].dtype != np.float64 or not tensors[tensor].size:
            continue
        tensors[tensor].flat[0] = np.nan
        metadata["checksum"] = persistence._checksum(metadata, tensors)
        with pytest.raises(persistence.DamagedFileError):
            persistence.from_bytes(save(tensors, metadata))
        refused += 1
    assert refused > 0


def test_a_scaler_that_cannot_be(saved):
    from safetensors.numpy import load, save

    data = saved.read_bytes()
    size = int.from_bytes(data[:8], "little")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    for tensor, value in (
        ("count", -5.0),
        ("count", 2.5),
        ("count", 1e300),
        ("early", [np.nan] + [0.0] * 15),
        ("square", np.nan),
    ):
        tensors = load(data)
        (name,) = [name for name in tensors if name.endswith(f"scaler.{tensor}")]
        tensors[name][:] = value
        metadata["checksum"] = persistence._checksum(metadata, tensors)
        with pytest.raises(persistence.DamagedFileError, match="statistics"):
            persistence.from_bytes(save(tensors, metadata))


def test_a_header_nested_too_deeply():
    header = b'{"__metadata__":' + b"[" * 200_000
    with pytest.raises(persistence.DamagedFileError):
        persistence.from_bytes(len(header).to_bytes(8, "little") + header)


def test_labels_that_do_not_go_with_the_forecaster(saved):
    data = saved.read_bytes()
    size = int.from_bytes(data[:8], "little")
    described = json.loads(data[8 : 8 + size])["__metadata__"]["model"]
    (labels,) = re.findall(r'\["labels", (\[[^\]]*\])\]', described)
    one, two, three = json.loads(labels)
    for new in ([one, two, three, "d"], [two, one, three], [one, two], None):
        saved.write_bytes(
            rewritten(
                data,
                model=described.replace(f'["labels", {labels}]', f'["labels", {json.dumps(new)}]'),
            )
        )
        with pytest.raises(persistence.DamagedFileError, match="do not go together"):
            mx.load(saved)


def test_metadata_that_are_missing_or_absurd(saved):
    data = saved.read_bytes()
    for format_ in ("9" * 5000, "0", "", "1.0"):
        saved.write_bytes(rewritten(data, format=format_))
        with pytest.raises(persistence.UnknownFormatError):
            mx.load(saved)
    saved.write_bytes(rewritten(data, **{"class": "GAF"}))
    with pytest.raises(persistence.DamagedFileError, match="should hold a GAF"):
        mx.load(saved)


def test_only_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="is not a file"):
            mx.save(mx.GAF(2, 2), path)
    assert (tmp_path / "pipe").is_fifo()


def forge(data, change):
    """The same file with its description or tensors changed, and a checksum that fits."""
    from safetensors.numpy import load, save

    size = int.from_bytes(data[:8], "little")
    metadata, tensors = (
        json.loads(data[8 : 8 + size])["__metadata__"],
        {name: values.copy() for name, values in load(data).items()},
    )
    model = json.loads(metadata["model"])
    model = change(model, tensors) or model
    metadata["model"] = json.dumps(model)
    metadata["checksum"] = persistence._checksum(metadata, tensors)
    return save(tensors, metadata)


def entry(model, name):
    """The [name, value] of a description that is called so."""
    if isinstance(model, list) and len(model) == 2 and model[0] == name:
        return model
    inner = model.values() if isinstance(model, dict) else model if isinstance(model, list) else ()
    return next(filter(None, (entry(item, name) for item in inner)), None)


def set_entry(name, value):
    def change(model, tensors):
        entry(model, name)[1] = value

    return change


def set_tensor(ending, position, value):
    def change(model, tensors):
        (name,) = [name for name in tensors if name.endswith(ending)]
        tensors[name][position] = value

    return change


def negate(ending):
    def change(model, tensors):
        (name,) = [name for name in tensors if name.endswith(ending)]
        tensors[name] = -tensors[name]

    return change


def huge(ending):
    return set_tensor(ending, ..., 1e308)


FORGED = {
    "a kept row with a label beyond K": ("AutoGAF", set_tensor(".kept", (0, 2), 1e6)),
    "a kept row with a label below 0": ("AutoGAF", set_tensor(".kept", (0, 2), -1.0)),
    "a kept row with half a label": ("AutoGAF", set_tensor(".kept", (0, 2), 0.5)),
    "a kept row of huge weight": ("AutoGAF", set_tensor(".kept", (0, 3), 1e300)),
    "a kept row of no weight": ("AutoGAF", set_tensor(".kept", (0, 3), -1.0)),
    "a kept row of another size": ("AutoGAF", set_tensor(".kept", (0, 4), 1e9)),
    "a kept row of a classifier": ("GAFClassifier", set_tensor(".kept", (0, -3), 1e9)),
    "a kept target of 1e300": ("AutoRidge", set_tensor(".kept", (0, 2), 1e300)),
    "a negated A": ("GAF", negate("state.A")),
    "a negated A^-1": ("GAF", negate("A_inverse")),
    "an indefinite A": ("GAF", set_tensor("state.A", (1, 0), 1e6)),
    "an A that is not the inverse of A^-1": ("GAF", set_tensor("state.A", ..., np.eye(4) * 1e12)),
    "an A^-1 of 1e308": ("VAW", huge("A_inverse")),
    "h of 1e308": ("GAF", huge("state.h")),
    "T of 1e308": ("GAF", huge("state.T")),
    "P of 1e308": ("GAF", huge("state.P")),
    "V of 1e308": ("GAF", huge("state.V")),
    "a curvature of 1e308": ("Folklore", huge("curvature_c")),
    "a regulariser that is NaN": ("GAF", set_entry("regulariser", {"float": "nan"})),
    "a negative regulariser": ("GAF", set_entry("regulariser", -1.0)),
    "2^63 - 1 steps": ("GAF", set_entry("steps", {"int": hex(2**63 - 1)})),
    "2^63 - 1 steps of gradients": ("OGD", set_entry("steps", {"int": hex(2**63 - 1)})),
    "2^63 - 1 steps of an ensemble": ("AutoGAF", set_entry("steps", {"int": hex(2**63 - 1)})),
    "2^63 - 1 inputs": ("AutoGAF", set_entry("inputs", {"int": hex(2**63 - 1)})),
    "2^63 - 1 steps to wait": ("AutoGAF", set_entry("muster", {"int": hex(2**63 - 1)})),
    "a size of misses of 1e308": ("AutoRidge", set_entry("0.memory1", 1e308)),
    "2^63 - 1 forecasts": ("Scores", set_entry("n", {"int": hex(2**63 - 1)})),
    "bins that are not there": ("Scores", set_entry("bins", 10**9)),
    "an empty mixture": ("Mixture", set_entry("experts", [])),
    "a mixture of none": ("Mixture", set_entry("experts", [1, 2])),
    "a mixture's weights": ("Mixture", huge("_log_weights")),
    "a label that is kept": ("FTRL", set_tensor("_y", 0, 7)),
    "a weight that is kept": ("FTRL", set_tensor("_w", 0, -1.0)),
    "particles outside the ball": ("Foster", huge("_V")),
    "a loss for no classes": ("GenericGAF", set_entry("n_classes", -2)),
    "a theta that is not finite": ("GenericGAF", set_tensor("_theta", 0, np.nan)),
    "an indefinite A in plain NumPy": ("GenericGAF", negate("_A")),
    "a factor of something else": ("KernelGAF", set_tensor("_L", (0, 0), -1.0)),
    "a design for another forecaster": ("GAFClassifier", set_entry("kind", {"class": "Scores"})),
    "a number of features": ("GAFClassifier", set_entry("n_features_in_", 3)),
    "a column that is not there": ("river.GAFClassifier", set_entry("two", 7)),
    "a number of events": ("StreamModel", set_entry("learned", -1)),
    "a position in a file": ("StreamModel", set_entry("position", -1)),
    "lengths that go beyond": ("StreamModel", set_tensor("X.lengths", 0, 2**62)),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_file_is_refused(what):
    name, change = FORGED[what]
    data = (FOLDER / f"{name}.safetensors").read_bytes()
    persistence.from_bytes(
        forge(data, lambda model, tensors: None)
    )  # it is the change that is refused
    with pytest.raises(persistence.DamagedFileError):
        persistence.from_bytes(forge(data, change))


def test_parts_of_models_are_no_models():
    data = (FOLDER / "GAFClassifier.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    model = json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["model"])
    for part in ("Design", "Learner"):
        alone = entry(model, {"Design": "design", "Learner": "engine_"}[part])[1]
        with pytest.raises(persistence.DamagedFileError, match=f"holds a {part}, which is a part"):
            persistence.from_bytes(rewritten(data, model=json.dumps(alone), **{"class": part}))


def a_tensor_that_is_named_often(model, tensors):
    name = next(name for name in tensors if name.endswith("_X"))
    tensors[name] = np.zeros((2**17, 1))
    entry(model, "_y")[1] = [{"tensor": name}] * 2000


SMALL = {  # files of at most a few megabytes, which took gigabytes
    "a scalar": ("GAF", set_entry("lam", {"scalar": 3_000_000_000, "dtype": "S1"})),
    "one long text among short ones": (
        "GAFClassifier",
        set_entry("labels", {"array": ["x" * 200_000] + ["y"] * 5000, "dtype": "<U1"}),
    ),
    "one long object among short ones": (
        "GAF",
        set_entry("integrator", {"array": ["x" * 200_000] + ["y"] * 5000, "dtype": "<U1"}),
    ),
    "random points": (
        "GAF",
        set_entry("integrator", {"object": "MonteCarlo", "state": {"dict": [["m", 300_000_000]]}}),
    ),
    "features": ("GAF", set_entry("n_features", 12_000)),
    "features of gradients": ("OGD", set_entry("n_features", 200_000_000)),
    "features of an ensemble": ("AutoGAF", set_entry("n_features", 12_000)),
    "features of an estimator": ("GAFClassifier", set_entry("n_features", 200_000_000)),
    "classes": ("Folklore", set_entry("n_classes", 8_000)),
    "views": ("AutoGAF", set_entry("views", {"tuple": [0, 50_000_000]})),
    "kernel features": (
        "GAFClassifier-fourier",
        lambda model, _: set_entry("n_components", 300_000_000)(entry(model, "design"), _),
    ),
    "particles": ("Foster", set_entry("m", 1_000_000)),
    "a tensor that is named often": ("FTRL", a_tensor_that_is_named_often),
}


@pytest.mark.parametrize("what", SMALL)
def test_small_files_do_not_take_much_memory(what):
    """In a process that could have 600 MB more: a file that would take gigabytes fails there with
    another error.
    """
    name, change = SMALL[what]
    data = forge((FOLDER / f"{name}.safetensors").read_bytes(), change)
    script = """
import resource, sys
from mixable import persistence
import mixable.river, mixable.streaming, safetensors.numpy, scipy.linalg.cython_lapack, sklearn
data = sys.stdin.buffer.read()
now = 1024 * int([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSize")][0])
resource.setrlimit(resource.RLIMIT_AS, (now + 600 * 2**20,) * 2)
try:
    persistence.from_bytes(data)
except persistence.DamagedFileError as error:
    print("refused", error)
"""
    out = subprocess.run(
        [sys.executable, "-c", script], input=data, capture_output=True, check=False
    )
    assert out.stdout.startswith(b"refused"), out.stderr.decode()[-500:]


def test_integrators_are_bounded():
    for make in (mx.integrals.MonteCarlo, mx.integrals.Sobol):
        make(2**16)
        with pytest.raises(ValueError, match="m must be at most 65536"):
            make(300_000_000)


def test_models_of_every_size_are_loaded():
    """What a file may ask for is in proportion to its length: true of every model, also one of
    which most sleeps.
    """
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(700, 3)), rng.integers(0, 3, 700)
    many = [(10.0**-e, 1.0, drift) for e in range(6) for drift in (0.0, 1e-3)]
    models = [
        mx.GAF(400, 2),
        mx.GAF(1, 400),
        mx.OGD(10**5, 3),
        mx.FTRL(2000, 4),
        mx.AutoGAF(150, 2),
        mx.AutoGAF(1, 60, integrator="ladder"),
        mx.AutoRidge(300),
        mx.GAF(2, 3, integrator=mx.integrals.MonteCarlo(2**16)),
        mx.AutoGAF(3, 3, integrator=mx.integrals.MonteCarlo(2**14), grid=many),
        mx.GAFClassifier(kernel="rbf", n_components=100, method="nystroem").fit(X[:50], y[:50]),
    ]
    asleep = mx.AutoGAF(3, 3, grid=many)
    asleep.run(X, y)
    assert asleep.awake.mean() < 0.5
    for model in (*models, asleep):
        assert type(persistence.from_bytes(persistence.to_bytes(model))) is type(model)


def test_only_files_are_loaded(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(OSError, match=r"is not a file|Is a directory"):
            mx.load(path)
