"""The saved state of a learner: what does not go together is refused."""

import numpy as np
import pytest

from mixable import GAF
from mixable.model import Design, Learner
from mixable.model.saved import checked

DESIGN = Design.for_classes(GAF, {"lam": 1.0})


@pytest.fixture
def state():
    learner = Learner(DESIGN, 2, ["a", "b"])
    learner.learn_one(np.array([1.0, 2.0]), "a")
    return learner.__getstate__()


def test_a_sound_state_comes_back_in_parts(state):
    saved = checked(state)
    assert (saved["design"], saved["n_features"], saved["labels"]) == (DESIGN, 2, ["a", "b"])
    assert saved["forecaster"].steps == 1
    assert saved["scaler"].keys() == state["scaler"].keys()
    assert all(saved["scaler"][name] is not state["scaler"][name] for name in saved["scaler"])
    state.pop("origin")
    assert checked(state)["origin"] == 0.0  # the first models that were saved had none


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"design": "GAF"}, TypeError, "a learner needs a design"),
        ({"n_features": 3}, ValueError, "not those of 3 features"),
        ({"scaler": {"count": 3}}, ValueError, "not those of 2 features"),
        ({"closed": 0}, TypeError, "closed must be True or False"),
        ({"origin": np.inf}, ValueError, "origin"),
        ({"labels": None}, ValueError, "do not go together"),
        ({"labels": ["a", "c"]}, ValueError, "do not go together"),
        ({"labels": ["a", "b", "c"]}, ValueError, "do not go together"),
        ({"labels": ["a", None], "codes": {"a": 0, None: 1}}, ValueError, "do not go together"),
        ({"codes": {"a": 1, "b": 0}}, ValueError, "do not go together"),
        ({"forecaster": GAF(7, 2)}, ValueError, "do not go together"),
        ({"forecaster": GAF(3, 3)}, ValueError, "do not go together"),
    ],
)
def test_a_state_that_does_not_go_together_is_refused(state, change, error, message):
    with pytest.raises(error, match=message):
        checked({**state, **change})
