"""What AutoGAF mixes over by size, and what its weight says in words."""

import itertools
import math

import numpy as np
import pytest
from streams import logistic_stream

from mixable import OGD, AutoGAF, Folklore, bounds, dumps, loads, merge
from mixable.experts import settings
from mixable.experts.settings import (
    AVERAGED,
    AVERAGED_OF_TWO,
    EARLY_FULL,
    FULL,
    GRID,
    LEADERS,
    MOST_FEATURES_SHARED,
    MOST_GUARDED_WEIGHTS,
    SQUASHED,
    Choice,
    Expert,
    checked_choice,
    checked_structures,
    fallback_kind,
    fallback_plan,
    structures,
    verdict,
)


def test_structures_keep_less_as_the_problem_grows():
    order = ("full", "blocks", "shared", "diagonal")
    kept = [[order.index(each) for each in structures(d, 10)] for d in (2, 50, 800, 5000)]
    for smaller, larger in itertools.pairwise(kept):
        assert all(a <= b for a, b in zip(smaller, larger, strict=True))
    assert set(structures(MOST_FEATURES_SHARED + 1, 2)) == {"diagonal"}


def test_only_the_settings_that_need_it_are_full():
    grid = (*GRID, SQUASHED)
    chosen = dict(zip(grid, structures(2, 3, grid), strict=True))
    assert {setting for setting, structure in chosen.items() if structure == "full"} == set(FULL)


def test_what_an_early_file_kept_in_blocks_stays_so_when_it_grows():
    """A block cannot become full; what was full may become a block."""
    f, g = AutoGAF(3, 4), AutoGAF.__new__(AutoGAF)
    g._saved_choice = checked_choice(None)
    g.__init__(3, 4)
    X, y = logistic_stream(200, 3, 4)
    assert [each == "full" for each in g.structures] == [s in EARLY_FULL for s in GRID]
    for model in (f, g):
        model.run(X, y)
        before = model.predict(X[0])
        model.add_class()
        after = model.predict(X[0])[:4]
        np.testing.assert_allclose(after / after.sum(), before, atol=0.05)
        model.run(X, y)
    assert f.structures == structures(3, 5)
    assert g.structures == structures(3, 5, GRID, EARLY_FULL)


def averaged_experts(f):
    """Position and expert, of those that are averaged."""
    return [(i, e) for i, e in enumerate(f.experts) if e.kind == "averaged GAF"]


def test_posteriors_are_averaged_by_default_for_two_classes_and_on_request_for_more():
    def averaged_lam(K, surrogate):
        found = averaged_experts(AutoGAF(3, K, surrogate=surrogate))
        widths = [e[2:] for _, e in found]
        assert widths == [(1.0, 0.0, a) for a in (1.0, 4.0, math.inf)] * (len(found) // 3)
        return {GRID[i // 3]: e.lam for i, e in found}

    assert averaged_lam(2, None) == averaged_lam(2, "averaged") == AVERAGED_OF_TWO
    assert averaged_lam(4, "averaged") == AVERAGED
    assert averaged_lam(4, None) == averaged_lam(2, "tangent") == {}


def test_a_file_from_before_there_were_surrogates_goes_on_without_averages():
    f = AutoGAF(3, 2, surrogate="tangent")
    f.learn([1.0, 0.0, 2.0], 1)
    state = f.__getstate__()
    del state["parameters"]["surrogate"]
    again = AutoGAF.__new__(AutoGAF)
    again.__setstate__(state)
    assert averaged_experts(again) == []
    assert (again.predict([0.0, 1.0, 1.0]) == f.predict([0.0, 1.0, 1.0])).all()


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ((3, 4), {"grid": GRID[1:]}),  # settings of the user's are run as they are
        ((3, 4), {"structure": "blocks"}),
        ((60, 4), {}),
        ((3, 2), {"structure": "diagonal"}),
    ],
)
def test_without_a_full_posterior_or_the_default_grid_none_is_averaged(sizes, options):
    f = AutoGAF(*sizes, surrogate="averaged", **options)
    assert averaged_experts(f) == []
    assert [e.lam for e in f.experts[: 3 * len(f.grid) : 3]] == [lam for lam, _, _ in f.grid]


def test_an_averaged_posterior_that_grows_too_large_goes_on_in_blocks_with_its_own_lam():
    """It had a larger lam: what was learned stays, and its file can be read."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 40)), rng.integers(0, 4, 80)
    f = AutoGAF(40, 4, surrogate="averaged")
    f.run(X, y)
    before = f.predict(X)
    f.add_features(10)
    assert averaged_experts(f) == []
    wide = np.hstack([X, np.zeros((80, 10))])
    assert np.abs(f.predict(wide) - before).max() < 0.2
    assert f._core.state()[f"{len(GRID) - 1}.regulariser"] == pytest.approx(
        GRID[-1][0] * f._core.state()[f"{len(GRID) - 1}.unit"]
    )
    again = loads(dumps(f))
    assert (again.run(wide, y) == f.run(wide, y)).all()


@pytest.mark.parametrize(("surrogate", "averaged"), [(None, {}), ("averaged", AVERAGED)])
def test_two_classes_that_become_three_exchange_who_is_averaged(surrogate, averaged):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    f = AutoGAF(3, 2, surrogate=surrogate)
    f.run(X, y)
    before = f.predict(X)
    f.add_class()
    after = f.predict(X)[:, :2]
    assert np.abs(after / after.sum(axis=1, keepdims=True) - before).max() < 0.1
    assert {GRID[i // 3] for i, _ in averaged_experts(f)} == set(averaged)
    f.learn(X[0], 2)
    again = loads(dumps(f))
    assert (again.run(X, y) == f.run(X, y)).all()


def test_a_surrogate_that_is_not_one_is_refused():
    with pytest.raises(ValueError, match="surrogate must be None or one of"):
        AutoGAF(2, 2, surrogate="secant")


def test_large_blocks_are_for_the_leaders_and_the_others_share_one():
    chosen = dict(zip(GRID, structures(64, 10), strict=True))
    assert {setting for setting, kept in chosen.items() if kept == "blocks"} == set(LEADERS)
    assert {kept for setting, kept in chosen.items() if setting not in LEADERS} == {"shared"}
    assert set(structures(40, 10)) == {"blocks"}


def test_a_file_keeps_what_its_mixture_chose_when_the_limits_change(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 46)), rng.integers(0, 10, 40)
    f = AutoGAF(46, 10)
    f.run(X[:20], y[:20])
    saved, chosen = dumps(f), f.structures
    monkeypatch.setattr(settings, "MOST_ALL_IN_BLOCKS", 10**6)
    assert AutoGAF(46, 10).structures != chosen
    loaded = loads(saved)
    assert (loaded.structures, loaded.fallback_kind) == (chosen, f.fallback_kind)
    assert (loaded.run(X[20:], y[20:]) == f.run(X[20:], y[20:])).all()
    loaded.add_class()  # chooses again
    assert set(loaded.structures) == {"blocks"}
    assert loaded.predict(X[0]).sum() == pytest.approx(1)


def test_a_choice_that_is_not_one_is_refused():
    assert checked_choice(None) == Choice((), None)
    with pytest.raises(TypeError, match="rates must be True or False"):
        checked_choice({"structures": ["full"], "guard": None, "rates": 2})
    with pytest.raises(ValueError, match="fallback must be 'folklore' or 'gradient'"):
        checked_choice({"structures": ["full"], "guard": "dog"})
    with pytest.raises(TypeError, match="structures must be a list"):
        checked_choice({"structures": 3, "guard": None})


def test_a_guard_is_folklore_until_that_is_slow():
    assert fallback_kind(MOST_GUARDED_WEIGHTS, 2) == "folklore"
    assert fallback_kind(MOST_GUARDED_WEIGHTS // 2, 3) == "folklore"
    assert fallback_kind(MOST_GUARDED_WEIGHTS // 2 + 1, 3) == "gradient"


def test_the_guards_constants_are_those_of_theory():
    """Of inputs of mean square 1, thus norm sqrt(d)."""
    d, K, product = 9, 4, 10.0
    kind, lam, beta = fallback_plan("folklore", product, d, K)
    assert (kind, lam) == ("folklore", d)
    assert beta == Folklore.from_theory(d, K, radius=product / 3, bound=3.0).beta
    kind, radius, step = fallback_plan("gradient", product, d, K)
    made = OGD.from_theory(d, K, radius=product / 3, bound=3.0)
    assert (kind, radius, step) == ("gradient", made.radius, pytest.approx(made.step))
    assert fallback_plan(None, product, d, K) == ()
    assert bounds.ogd(100, d, K, radius, 3.0) > 0


def test_structures_that_are_given():
    assert checked_structures("shared", GRID, 2, 3) == ("shared",) * len(GRID)
    assert checked_structures(["full", "blocks"], GRID[:2], 2, 3) == ("full", "blocks")
    with pytest.raises(ValueError, match="one entry for each of the 9 settings"):
        checked_structures(["full"], GRID, 2, 3)
    with pytest.raises(TypeError, match="structure must be a list"):
        settings.as_given(3)
    assert settings.as_given(iter(["full", "blocks"])) == ("full", "blocks")


@pytest.mark.parametrize(
    ("drifting", "words"),
    [(0.05, "is stationary"), (0.5, "is undecided"), (0.95, "behaves as if it changed")],
)
def test_the_verdict_on_a_stream(drifting, words):
    experts = [
        Expert("GAF", 0.1, 1.0, drift=1e-3, alpha=4.0),
        Expert("GAF", 0.1, 1.0, drift=0.0, alpha=math.inf),
        Expert("fallback", 2.0, 0.1, drift=0.0, alpha=math.nan),
    ]
    first, second = verdict(experts, [drifting, 0.98 - drifting, 0.02])
    assert f"{words}" in first
    assert f"{drifting:.0%} of the weight expects drift" in first
    assert (
        f"{0.98 - drifting:.0%} of the weight is in the plain plug-in, 2% in the fallback" in second
    )


def test_a_mixture_that_does_not_count_classes_never_begins_to():
    """Files of earlier versions have no such expert."""
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 3
    f = AutoGAF(3, 3)
    f.run(X[:20], y[:20])
    state = f.__getstate__()
    n, fallback = len(f.grid), len(f.grid) + 1
    known = {k: v for k, v in state["state"].items() if not k.startswith((f"{n}.", f"{fallback}."))}
    known |= {
        k.replace(f"{fallback}.", f"{n}.", 1): v
        for k, v in state["state"].items()
        if k.startswith(f"{fallback}.")
    }
    for name in ("weight", "bayes"):
        weights = np.delete(known[name], -2, axis=1)
        known[name] = weights / weights.sum()
    known["active"] = np.delete(known["active"], -2, axis=1)
    chosen = {name: value for name, value in state["chosen"].items() if name != "rates"}
    earlier = AutoGAF.__new__(AutoGAF)
    earlier.__setstate__({**state, "state": known, "chosen": chosen})
    assert len(earlier.experts) == len(f.experts) - 1
    with pytest.raises(ValueError, match="has no expert for the class frequencies"):
        merge([f, earlier])
    for grow in (earlier.add_class, lambda: earlier.add_features(1)):
        grow()
        assert len(earlier.experts) == len(f.experts) - 1
    assert loads(dumps(earlier)).run(np.ones((9, 4)), [0] * 9).shape == (9, 4)
