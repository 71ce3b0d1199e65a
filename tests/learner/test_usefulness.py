"""When a curved forecaster rests."""

import pytest

from mixable.learner.usefulness import LEAST_GAIN, LONGEST, PATIENCE, PERIOD, SHORTEST, Usefulness


def reviewed(gain, times):
    """Usefulness after so many reviews with the same gain before each."""
    one = Usefulness()
    for _ in range(times):
        one.note(gain)
        one.review()
    return one


def test_it_rests_after_two_reviews_without_a_gain():
    assert reviewed(0.0, PATIENCE - 1).left == 0
    assert reviewed(0.0, PATIENCE).left == SHORTEST
    assert reviewed(1.01 * LEAST_GAIN * PERIOD, 50).left == 0


def test_a_rest_ends_and_the_next_one_is_twice_as_long():
    one = reviewed(0.0, PATIENCE + SHORTEST)
    assert one.left == 0
    one.review()
    assert one.left == 2 * SHORTEST
    for _ in range(10_000):
        one.review()
    assert one.left <= LONGEST


def test_a_state_is_all_it_knows():
    one = reviewed(1.0, 3)
    assert Usefulness(**one.state()) == one


@pytest.mark.parametrize(
    "wrong", [{"gain": float("nan")}, {"left": -1}, {"left": LONGEST + 1}, {"idle": 0.5}]
)
def test_states_that_cannot_be_are_refused(wrong):
    with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
        Usefulness(**wrong)
