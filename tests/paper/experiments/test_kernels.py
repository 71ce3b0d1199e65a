"""What approximating a kernel costs: the command's picture, and races with kernels."""

import numpy as np
import pytest
from command_line import mixable
from kernel_data import rings, small

import mixable as mx
from mixable.losses import log_loss
from mixable.model import Design, KernelPlan, Learner
from mixable.paper.experiments import kernels, race, sources


def test_kernels_draws_what_it_measured(tmp_path):
    done = mixable("kernels", "--out", tmp_path, "--largest", 25, "--n", 60, "--seeds", 1)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kernels.png").stat().st_size > 10_000
    assert "effective dimension" in done.stdout
    references = {
        each.stream: each
        for name in kernels.STREAMS
        for each in kernels.measure(name, [25], 60, 1)
        if hasattr(each, "exact")
    }
    for name, reference in references.items():
        assert f"{name}: loss {reference.exact:.4f} exactly" in done.stdout
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = mixable("kernels", "--out", blocked, "--largest", 10, "--n", 50, "--seeds", 1)
    assert done.returncode == 2
    assert "cannot write" in done.stderr


def test_a_race_runs_what_the_estimator_runs():
    layout = sources.survey("vehicle", None)
    X, y, _ = mx.datasets.load_vehicle()
    order = np.random.default_rng(3).permutation(len(y))
    for name, method in (("kernel", "fourier"), ("nystroem", "nystroem")):
        result = race.run(
            race.Task(
                data="vehicle",
                layout=layout,
                forecaster=name,
                setting=(("n_components", 10.0),),
                seed=3,
                scale="causal",
            )
        )
        p = small(method).prequential(X[order], y[order], classes=range(4))
        assert result["log_loss"] == pytest.approx(log_loss(p, y[order]).mean(), abs=1e-9)
    for value in (0.0, 20.9, np.inf, np.nan):
        with pytest.raises(sources.BadDataError, match="n_components must be"):
            race.Task(
                data="vehicle",
                layout=layout,
                forecaster="kernel",
                setting=(("n_components", value),),
                seed=3,
                scale="causal",
            ).make()
    for name, parameter in (("nystroem", "method"), ("kernel", "standardize")):
        with pytest.raises(
            sources.BadDataError, match=f"no parameter '{parameter}'; there are n_components, gamma"
        ):
            race.Task(
                data="vehicle",
                layout=layout,
                forecaster=name,
                setting=((parameter, 0.0),),
                seed=3,
                scale="causal",
            ).make()


@pytest.mark.parametrize("seed", [None, 3])
def test_a_race_with_missing_entries_too(seed, tmp_path, rng):
    X, y = rings(200)
    X[rng.random(X.shape) < 0.4] = np.nan
    cells = [
        [*("" if np.isnan(value) else repr(float(value)) for value in row), str(label)]
        for row, label in zip(X, y, strict=True)
    ]
    (tmp_path / "some.csv").write_text(
        "\n".join(",".join(row) for row in [["a", "b", "y"], *cells]) + "\n"
    )
    layout = sources.survey(str(tmp_path / "some.csv"), None)
    X, y = sources.table(layout)
    order = np.arange(200) if seed is None else np.random.default_rng(seed).permutation(200)
    for name, method in (("kernel", "fourier"), ("nystroem", "nystroem")):
        result = race.run(
            race.Task(
                data="some",
                layout=layout,
                forecaster=name,
                setting=(("n_components", 10.0),),
                seed=seed,
                scale="causal",
            )
        )
        kernel = KernelPlan.of("rbf", 10, None, method)
        learner = Learner(Design.for_classes(None, {"lam": None}, kernel=kernel), 2, range(2))
        p = learner.run(X[order], y[order].tolist(), None)
        assert result["log_loss"] == pytest.approx(log_loss(p, y[order]).mean(), abs=1e-9)
