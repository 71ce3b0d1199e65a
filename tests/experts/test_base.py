"""Parameters: checked, kept and fixed; from theory, bad ones, too large ones."""

import numpy as np
import pytest

from mixable import AIOLI, FTRL, OGD, ONS, SMP, VAW, Folklore, Foster, _validate
from mixable.experts.base import Forecaster, Parameter, each


class Toy(Forecaster):
    """A forecaster of two parameters, one of them as it comes."""

    m = Parameter(_validate.count, most=9)
    tag = Parameter[object]()

    def __init__(self, n_features, *, m=3, tag=None, other=None):
        self._keep(locals())


def test_a_parameter_is_checked_kept_and_fixed():
    f = Toy(np.int64(2), m=np.int8(4), tag="x", other="not kept")
    assert f._parameters == {"n_features": 2, "m": 4, "tag": "x"}
    assert [type(f.n_features), type(f.m)] == [int, int]
    assert repr(f) == "Toy(n_features=2, m=4, tag='x')"
    with pytest.raises(AttributeError, match="m is fixed when the forecaster is made"):
        f.m = 5
    with pytest.raises(ValueError, match="m must be at most 9, got 10"):
        Toy(2, m=10)
    with pytest.raises(ValueError, match="n_features must be at least 1"):
        Toy(0)
    assert isinstance(Toy.m, Parameter)


def test_each_row_of_a_table_is_forecast_by_itself():
    rows = np.arange(6.0).reshape(3, 2)
    assert np.array_equal(each(lambda x: x[::-1], rows), rows[:, ::-1])
    assert np.array_equal(each(lambda x: x[::-1], rows[0]), rows[0, ::-1])


def test_constants_of_from_theory():
    assert OGD.from_theory(3, 4, radius=2.0, bound=3.0).step == pytest.approx(2 / (np.sqrt(2) * 3))
    ons = ONS.from_theory(3, 4, radius=2.0, bound=0.5)
    assert ons.beta == pytest.approx(
        min(1 / (4 * np.sqrt(2) * 0.5 * 4), np.exp(-np.sqrt(2)) / 3) / 2
    )
    assert ons.lam == pytest.approx(1 / (ons.beta * 4) ** 2)
    assert AIOLI.from_theory(3, radius=2.0, bound=3.0).scale == 7.0
    assert Folklore.from_theory(3, 4, radius=2.0, bound=3.0).beta == pytest.approx(
        1 / (np.log(4) / 2 + 7)
    )
    assert FTRL.from_theory(3, 4, bound=3.0).lam == SMP.from_theory(3, 4, bound=3.0).lam == 9.0
    assert Foster.from_theory(1, 2, radius=2.0, horizon=100).mu == 0.01
    assert VAW.from_theory(5, radius=2.0, bound=1.0, target_bound=3.0).lam == pytest.approx(
        5 * (1 / (8 * 9 * 5 * 4)) * 18
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OGD(3, 4, step=0.0), "step"),
        (lambda: OGD(3, 4, radius=-1.0), "radius"),
        (lambda: ONS(3, 4, beta=0.0), "beta"),
        (lambda: ONS(3, 1), "n_classes"),
        (lambda: AIOLI(3, scale=-1.0), "scale"),
        (lambda: Folklore(0, 4), "n_features"),
        (lambda: FTRL(3, 4, lam=np.nan), "lam"),
        (lambda: Foster(1, 2, radius=0.0), "radius"),
        (lambda: Foster(1, 2, m=0), "m must"),
        (lambda: VAW(3, lam=-1.0), "lam"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_sizes_that_would_not_fit_are_refused():
    for make in (
        lambda: ONS(100_000, 11),
        lambda: Folklore(100_000, 11),
        lambda: AIOLI(10**6),
        lambda: VAW(10**6),
        lambda: FTRL(100_000, 11),
    ):
        with pytest.raises(MemoryError, match=r"\d+ bytes"):
            make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: FTRL(2, 3),
        lambda: SMP(2, 3),
        lambda: Foster(2, 3, radius=2.0, m=5),
        lambda: ONS(2, 3, radius=1.0),
    ],
    ids=["FTRL", "SMP", "Foster", "ONS"],
)
def test_what_cannot_be_learned_in_double_precision_is_refused_and_leaves_no_trace(make):
    f = make()
    f.learn([1.0, 2.0], 0)
    before = f.predict([0.5, -1.0])
    for scale in (1e120, 1e200, 1e308):
        for action in (f.predict, lambda x: f.learn(x, 1)):
            with pytest.raises(ValueError, match="too large"):
                action([scale, 1.0])
        with pytest.raises(ValueError, match=r"X\[1\] is too large"):
            f.run([[1.0, 2.0], [scale, 1.0]], [0, 1])
    if not isinstance(f, Foster):
        with pytest.raises(ValueError, match="double precision"):
            f.learn([1.0, 2.0], 1, 1e300)
    assert f.steps == 1
    assert np.array_equal(f.predict([0.5, -1.0]), before)
