"""Learning rates against their formulas and a slow twin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dendrocap import InvalidParameter
from dendrocap.learning import Constant, ExponentialAnnealing, HalveOnPlateau, Schedule
from tests.naive.learning import naive_plateau_rates


def rates_of(schedule, errors, learning_rate=0.1, n_inputs=999):
    pace, rates = schedule.start(learning_rate, n_inputs), []
    for epoch, error in enumerate(errors, start=1):
        rates.append(pace.learning_rate)
        pace = schedule.after_epoch(pace, epoch, error)
        if pace.finished:
            break
    return rates, pace


def test_annealing_follows_the_printed_formula():
    rates, pace = rates_of(ExponentialAnnealing(1e-4), [0.5] * 1000)
    assert rates == pytest.approx([0.1 * (1.0 - 1e-4) ** t for t in range(1000)], rel=1e-12)
    assert not pace.finished


def test_constant_stays():
    assert set(rates_of(Constant(), [0.3] * 20)[0]) == {0.1}


@given(
    errors=st.lists(st.integers(0, 5), min_size=1, max_size=80), patience=st.integers(1, 5), factor=st.floats(0.1, 0.9)
)
def test_halving_equals_its_twin(errors, patience, factor):
    rates, _ = rates_of(HalveOnPlateau(patience, factor, floor=0.01), errors)
    assert rates == naive_plateau_rates(errors, 0.1, patience, factor, 0.01)


def test_halving_ends_below_one_over_4096_n():
    rates, pace = rates_of(HalveOnPlateau(patience=1), [0.5] * 100)
    assert pace.finished
    assert rates[-1] >= 1.0 / (4096 * 999) > rates[-1] / 2
    # The first epoch is a new minimum; 0.1 / 2^18 = 3.8e-7 is the last rate above 2.44e-7.
    assert len(rates) == 20


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ExponentialAnnealing(1.0), "decay = 1.0"),
        (lambda: HalveOnPlateau(0), "patience = 0"),
        (lambda: HalveOnPlateau(5, factor=1.0), "factor = 1.0"),
        (lambda: HalveOnPlateau(5, floor=-1.0), "floor = -1.0"),
    ],
)
def test_bad_parameters_are_named(make, said):
    with pytest.raises(InvalidParameter, match=said):
        make()


def test_all_are_schedules():
    assert all(isinstance(s, Schedule) for s in (Constant(), ExponentialAnnealing(), HalveOnPlateau(3)))
