"""What mixtures and pools have in common."""

import pytest

from mixable import GAF, OGD, SMP, Mixture, Pool


@pytest.mark.parametrize("kind", [Mixture, Pool])
def test_an_expert_that_appears_twice_is_refused(kind):
    expert = GAF(2, 2)
    with pytest.raises(ValueError, match="appears twice"):
        kind([expert, expert])


@pytest.mark.parametrize("kind", [Mixture, Pool])
def test_growth_is_all_or_nothing(kind):
    class Stubborn(OGD):
        def add_class(self):
            raise TypeError("no")

    f = kind([GAF(2, 2), Stubborn(2, 2)])
    with pytest.raises(TypeError, match="no"):
        f.add_class()
    assert [expert.n_classes for expert in f.experts] == [2, 2]
    f = kind([GAF(2, 2), SMP(2, 2)])
    f.add_class()
    assert f.n_classes == 3
