"""Files forged by an enemy are refused, and take little memory."""

import json
import subprocess
import sys

import numpy as np
import pytest
from make_fixtures import FOLDER
from saved_files import rewritten

import mixable as mx
from mixable import persistence


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
    inner = model if isinstance(model, list) else ()
    if isinstance(model, dict):
        inner = model.values()
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


def vanish(model, tensors):
    """Leave next to nothing on the diagonal of A."""
    (name,) = [name for name in tensors if name.endswith("_A")]
    tensors[name][:, :2] = 1e-320
    tensors[name][:2, :2] = [[1e-320, 1.0], [1.0, 1e-320]]


def just_indefinite(_, tensors):
    """Let two weights be a little more than wholly correlated."""
    S = tensors["model.state.S"]
    S[:3] = np.diag(np.diag(S[:3]))
    S[[0, 1], [1, 0]] = 1.01 * np.sqrt(S[0, 0] * S[1, 1])


def negate(ending):
    def change(model, tensors):
        (name,) = [name for name in tensors if name.endswith(ending)]
        tensors[name] = -tensors[name]

    return change


def scaled(ending, factor):
    def change(model, tensors):
        (name,) = [name for name in tensors if name.endswith(ending)]
        tensors[name] *= factor

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
    "an A of 1e308 in one place": ("GAF", set_tensor("state.A", (1, 0), 1e308)),
    "an A^-1 of 1e308 where nobody looks": ("GAF", set_tensor("A_inverse", (0, 3), 1e308)),
    "inputs of A that A^-1 has not seen": ("GAF", set_tensor("curvature_x", (0, 0), 0.3)),
    "an A^-1 of 1e308": ("VAW", huge("A_inverse")),
    "h of 1e308": ("GAF", huge("state.h")),
    "T of 1e308": ("GAF", huge("state.T")),
    "P of 1e308": ("GAF", huge("state.P")),
    "V of 1e308": ("GAF", huge("state.V")),
    "a curvature of 1e308": ("Folklore", huge("curvature_c")),
    "a regulariser that is NaN": ("GAF", set_entry("regulariser", {"float": "nan"})),
    "a negative regulariser": ("GAF", set_entry("regulariser", -1.0)),
    "a regulariser above lam": ("GAF", set_entry("regulariser", 0.11)),
    "2^53 steps": ("GAF", set_entry("steps", {"int": hex(2**53)})),
    "2^53 steps of gradients": ("OGD", set_entry("steps", {"int": hex(2**53)})),
    "2^53 steps of an ensemble": ("AutoGAF", set_entry("steps", {"int": hex(2**53)})),
    "2^53 steps in plain NumPy": ("GenericGAF", set_entry("steps", {"int": hex(2**53)})),
    "2^63 - 1 steps": ("GAF", set_entry("steps", {"int": hex(2**63 - 1)})),
    "2^63 - 1 steps of gradients": ("OGD", set_entry("steps", {"int": hex(2**63 - 1)})),
    "2^63 - 1 steps of an ensemble": ("AutoGAF", set_entry("steps", {"int": hex(2**63 - 1)})),
    "-2^63 steps that are pending": ("GAF", set_entry("pending", {"int": hex(-(2**63))})),
    "-2^63 steps of blocks": ("GAF-blocks", set_entry("pending", {"int": hex(-(2**63))})),
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
    "weights of 1e308": ("FTRL", huge("_V")),
    "particles outside the ball": ("Foster", huge("_V")),
    "a loss for no classes": ("GenericGAF", set_entry("n_classes", -2)),
    "a theta that is not finite": ("GenericGAF", set_tensor("_theta", 0, np.nan)),
    "an indefinite A in plain NumPy": ("GenericGAF", negate("_A")),
    "an A beyond the range of numbers": ("GenericGAF", vanish),
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


X = np.random.default_rng(0).normal(size=(20, 3))
MADE = {  # the same of models that no fixture has
    "weights of experts that sum to 1.1": (mx.AutoGAF, {}, scaled("state.weight", 1.1)),
    "Bayes' weights that sum to 1.1": (mx.AutoGAF, {}, scaled("state.bayes", 1.1)),
    "Bayes' weights that sum to 0.9": (mx.AutoGAF, {}, scaled("state.bayes", 0.9)),
    "a regulariser above lam": (mx.GAF, {}, set_entry("regulariser", 0.11)),
    "a regulariser of blocks above lam": (
        mx.GAF,
        {"structure": "blocks"},
        set_entry("regulariser", 0.11),
    ),
    "no regulariser of blocks": (mx.GAF, {"structure": "blocks"}, set_entry("regulariser", 0.0)),
    "a regulariser with drift": (
        mx.GAF,
        {"structure": "shared", "drift": 0.1},
        set_entry("regulariser", 0.1),
    ),
    # What was learned then makes the diagonal small, and the model could not be saved.
    "a block that is not symmetric, with drift": (
        mx.GAF,
        {"structure": "blocks", "drift": 0.01},
        lambda _, tensors: tensors["model.state.S"].__setitem__((0, [0, 1]), [2.0**31, 0.0]),
    ),
}


@pytest.mark.parametrize("what", MADE)
def test_a_forged_model_is_refused(what):
    make, parameters, change = MADE[what]
    model = make(3, 3, **parameters)
    model.run(X, np.arange(20) % 3)
    data = persistence.to_bytes(model)
    persistence.from_bytes(forge(data, lambda model, tensors: None))
    with pytest.raises(persistence.DamagedFileError):
        persistence.from_bytes(forge(data, change))


@pytest.mark.parametrize("structure", ["full", "blocks", "shared", "diagonal"])
def test_a_forged_mean_is_refused_also_where_inputs_must_be_tiny(structure):
    """Found by tests/fuzz_files.py: the mean times the largest input was compared with the limit,
    and a sum over the classes overflowed.
    """
    model = mx.Folklore(3, 3, lam=1e-150, structure=structure)
    model.run(1e-70 * X, np.arange(20) % 3)
    data = persistence.to_bytes(model)
    assert np.isfinite(persistence.from_bytes(data).coef).all()
    with pytest.raises(persistence.DamagedFileError):
        persistence.from_bytes(forge(data, set_tensor("state.V", (slice(None), 0), 1e308)))


def test_a_forged_precision_whose_product_with_its_inverse_overflows_is_refused():
    """Found by tests/fuzz_files.py: infinity is not above infinity."""
    data = persistence.to_bytes(mx.Folklore(2, 3, lam=0.01))
    with pytest.raises(persistence.DamagedFileError):
        persistence.from_bytes(forge(data, set_tensor("state.A", (3, 3), 1e308)))


def test_what_drifts_must_be_definite():
    """Found by tests/fuzz_files.py: having learned, it could not be loaded."""
    model = mx.GAF(3, 3, structure="blocks", drift=0.01)
    model.run(X[:16], np.arange(16) % 3)
    data = persistence.to_bytes(model)
    assert model._core.state()["pending"] == 0
    with pytest.raises(persistence.DamagedFileError):
        persistence.from_bytes(forge(data, just_indefinite))


def test_a_forged_ridge_of_negative_width_learns_and_is_saved():
    """Found by tests/fuzz_files.py: the weight became NaN. What is pending here takes a thousandth
    too much from A^-1, as rounding might.
    """
    model = mx.AutoRidge(3, grid=[(0.1, 0.0)], noises=[1.0], scale=1.0)
    model.run(0.1 * X[:18], X[:18, 0])
    model.learn(10 * X[18], 1.0)
    assert model._core.state()["0.pending"] == 1
    twin = persistence.from_bytes(forge(persistence.to_bytes(model), scaled("state.0.P", 1.001)))
    twin.learn(1e3 * X[18], 1.0)
    assert np.isfinite(persistence.from_bytes(persistence.to_bytes(twin)).predict(X[18]))


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


LIMITED = """
import os, resource, sys
from mixable import persistence
import mixable.events, mixable.river, safetensors.numpy, scipy.linalg.cython_lapack, sklearn
for line in sys.stdin:
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        print("end", flush=True)
        continue
    data = bytes.fromhex(line)
    sizes = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSize")]
    now = 1024 * int(sizes[0])
    resource.setrlimit(resource.RLIMIT_AS, (now + 600 * 2**20,) * 2)
    try:
        persistence.from_bytes(data)
    except persistence.DamagedFileError as error:
        print("refused", repr(str(error)))
    except BaseException as error:
        print(repr(error))
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.fixture(scope="module")
def limited():
    """A process that loads files, each in a child that could have 600 MB more: a file that would
    take gigabytes fails there with another error.
    """
    with subprocess.Popen(
        [sys.executable, "-c", LIMITED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.stdin.close()


@pytest.mark.xdist_group("small files")
@pytest.mark.parametrize("what", SMALL)
def test_small_files_do_not_take_much_memory(limited, what):
    name, change = SMALL[what]
    data = forge((FOLDER / f"{name}.safetensors").read_bytes(), change)
    limited.stdin.write(data.hex() + "\n")
    limited.stdin.flush()
    said = [*iter(limited.stdout.readline, "end\n")]
    assert len(said) == 1
    assert said[0].startswith("refused"), said


def test_integrators_are_bounded():
    for make in (mx.integrals.MonteCarlo, mx.integrals.Sobol):
        make(2**16)
        with pytest.raises(ValueError, match="m must be at most 65536"):
            make(300_000_000)
