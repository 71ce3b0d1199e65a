"""Names that were not found."""

from mixable._spelling import did_you_mean


def test_only_what_is_alike_is_proposed():
    assert did_you_mean("efort", ["effort", "lam"]) == "; did you mean 'effort'?"
    assert did_you_mean("zzz", ["effort", "lam"]) == ""
