"""Natural parameters: states read and written, coordinates changed, differences added."""

from dataclasses import replace

import numpy as np
import pytest
from shards import MODELS, PARTS, X, Y, shards, taught

from mixable import GAF, _natural, merge
from mixable._natural import Change
from mixable.experts.structure import gaussian, saved
from mixable.integrals import helmert

GAFS = [name for name in MODELS if name.startswith("GAF ")]


def known(model):
    return model._gaussian()


@pytest.mark.parametrize("name", GAFS)
def test_what_is_read_is_what_the_core_says(name):
    model = taught(MODELS[name](), name, slice(0, 101))  # some steps are pending
    assert any(value for key, value in model._core.state().items() if key == "pending") or (
        "diagonal" in name
    )
    read = known(model)
    S = np.linalg.inv(read.A).reshape(-1, read.A.shape[-1])
    kept = model._core.covariance().reshape(S.shape)
    np.testing.assert_allclose(S, kept, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(read.mean.reshape(read.sizes), model._core.mean(), atol=1e-12)


@pytest.mark.parametrize("name", GAFS)
def test_what_is_written_is_read_again(name):
    read = known(taught(MODELS[name](), name, slice(0, 101)))
    again = MODELS[name]()
    again._core.restore(saved(read))
    np.testing.assert_allclose(known(again).A, read.A, rtol=1e-9, atol=1e-9)
    assert again.steps == 101


@pytest.mark.parametrize("structure", ["full", "blocks", "shared", "diagonal"])
def test_merged_posteriors_are_the_formula(structure):
    """A = lam I + sum of what each added, and A theta likewise: Section 17 of the theory."""
    models = shards(f"GAF {structure} 0.0")
    merged = merge(models)
    A = sum(model.precision() for model in models)
    prior = models[0].lam * (np.ones(A.shape) if structure == "diagonal" else np.eye(A.shape[-1]))
    A = A - 2 * prior
    np.testing.assert_allclose(merged.precision(), A, rtol=1e-9, atol=1e-9)

    def times(A, V):
        if structure == "full":
            return (A @ V.ravel()).reshape(V.shape)
        if structure == "diagonal":
            return A * V
        return np.einsum("...ij,...j->...i", A, V)

    def mean(model):
        return model.coef if structure == "full" else model._core.mean()

    linear = sum(times(model.precision(), mean(model)) for model in models)
    np.testing.assert_allclose(times(A, mean(merged)), linear, rtol=1e-9, atol=1e-9)


def test_rows_that_say_nothing_of_a_drifting_posterior_add_nothing():
    """What is left of the base after n steps is not counted as learned."""
    model = taught(GAF(4, 3, drift=0.01), "GAF full 0.01", PARTS[0])
    begin = known(model)
    later = begin.after(50)
    idle = replace(later, steps=200)
    one = _natural.combine(begin, [idle], begin, [Change()])
    np.testing.assert_allclose(one.A, later.A, rtol=1e-10)
    both = _natural.combine(begin, [idle, idle], begin, [Change(), Change()])
    np.testing.assert_allclose(both.A, begin.after(100).A, rtol=1e-10)


@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_what_was_learned_is_never_negative(drift):
    base = taught(GAF(4, 3, drift=drift), "GAF full", PARTS[0])
    begin, (model, _) = known(base), shards("GAF full", base, PARTS[1:])
    learned = known(model).A - begin.after(200).A
    assert np.linalg.eigvalsh(learned).min() > -1e-9


@pytest.mark.parametrize("structure", ["full", "blocks", "shared"])
def test_a_change_of_rows_and_classes_keeps_the_forecasts(structure):
    """What was learned of z, moved by z -> N z and classes c -> order[c], is the same knowledge."""
    rng = np.random.default_rng(0)
    N, order = np.eye(4) + 0.3 * rng.normal(size=(4, 4)), [2, 0, 1]
    C = np.eye(3)[:, np.argsort(order)].T[:, :]
    model = GAF(4, 3, structure=structure, lam=1e-6)  # hardly a prior, which is not moved
    model.run(X, Y)
    own = known(model)
    merged = _natural.combine(None, [own], None, [Change(rows=N, classes=C)])
    moved = GAF(4, 3, structure=structure, lam=1e-6)
    moved._core.restore(saved(merged))
    classes = C.argmax(axis=0)
    p, q = model.predict(X[:20]), moved.predict(np.ascontiguousarray(X[:20] @ N.T))
    np.testing.assert_allclose(q[:, classes], p, atol=2e-4)


def test_a_shift_of_targets_moves_the_constant():
    """VAW on y - 10 with a constant feature, shifted by 10, is VAW on y."""
    from mixable import VAW

    rows = np.column_stack([np.ones(100), X[:100]])
    y = rows @ [3.0, 1.0, 0.0, -1.0, 0.5]
    near, far = VAW(5), VAW(5)
    near.run(rows, y - 10)
    far.run(rows, y)
    constant = np.eye(5)[0]
    own = gaussian(near._core.state(), 1.0, 0.0)
    moved = _natural.combine(None, [own], None, [Change(shift=10.0, constant=constant)])
    wanted = gaussian(far._core.state(), 1.0, 0.0)
    np.testing.assert_allclose(moved.mean, wanted.mean, rtol=1e-9)


def test_classes_of_a_full_posterior_are_in_one_coordinate_less():
    assert helmert(3).shape == (3, 2)
