"""Limits: what is kept in the journal is read back, and nothing else."""

from dataclasses import asdict

import pytest

from mixable.serving.limits import ModelLimits, RefusedError, busy


def test_limits_come_back_from_json():
    limits = ModelLimits(features=7, waiting=0)
    assert ModelLimits.from_json(asdict(limits)) == limits


@pytest.mark.parametrize(
    "change", [{"features": -1}, {"classes": 2.5}, {"other": 1}, {"text": "9"}]
)
def test_what_are_no_limits_is_refused(change):
    with pytest.raises((ValueError, TypeError)):
        ModelLimits.from_json({**asdict(ModelLimits()), **change})


def test_busy_is_503_with_its_reason():
    refused = busy("the disk is slow")
    assert isinstance(refused, RefusedError)
    assert (refused.status, refused.reason) == (503, "the disk is slow; try again in a second")
