"""Claims are data, and every verdict follows from a measurement."""

import math
from dataclasses import replace

import pytest

from dendrocap.errors import InvalidParameter
from dendrocap.reproduction import Claim, Measured, judge, paper_claims, selected
from dendrocap.reproduction.claims import CANNOT, DIFFERS, NOT_RUN, REPRODUCED, UNDECIDED, all_claims

EQUAL = Claim("id", "fig9", "Something is 2.", "Fig. 9", 2.0, "equal", "it", "By hand.", 0.1)
ABOVE = replace(EQUAL, comparison="above", tolerance=0.0)
BELOW = replace(EQUAL, comparison="below", tolerance=0.0)


@pytest.mark.parametrize(
    ("claim", "measured", "verdict"),
    [
        (EQUAL, Measured(2.05), REPRODUCED),
        (EQUAL, Measured(2.1), REPRODUCED),
        (EQUAL, Measured(2.2), DIFFERS),
        (EQUAL, Measured(2.2, error=0.06), UNDECIDED),
        (EQUAL, Measured(2.05, error=0.02), REPRODUCED),
        (EQUAL, Measured(2.05, error=0.06), UNDECIDED),  # it might as well lie outside
        (EQUAL, Measured(2.2, error=0.04), DIFFERS),
        (EQUAL, Measured(2.2, reachable=(2.15, 2.3)), CANNOT),
        (EQUAL, Measured(2.2, reachable=(1.9, 2.3)), DIFFERS),
        (EQUAL, Measured(math.nan, note="nothing solved"), CANNOT),
        (ABOVE, Measured(2.1), REPRODUCED),
        (ABOVE, Measured(2.1, error=0.06), UNDECIDED),
        (ABOVE, Measured(1.8, error=0.06), DIFFERS),
        (ABOVE, Measured(2.0), DIFFERS),
        (BELOW, Measured(1.9), REPRODUCED),
        (BELOW, Measured(2.1, error=0.06), UNDECIDED),
        (BELOW, Measured(2.5), DIFFERS),
        (EQUAL, None, NOT_RUN),
        (EQUAL, Measured(2.0, error=math.nan), UNDECIDED),
        (ABOVE, Measured(3.0, error=math.nan), UNDECIDED),
    ],
)
def test_verdicts(claim, measured, verdict):
    assert judge(claim, measured, "no data").verdict == verdict


@pytest.mark.parametrize("unknown", [{"comparison": "about"}, {"origin": "hearsay"}], ids=str)
def test_a_claim_needs_a_known_comparison_and_origin(unknown):
    with pytest.raises(InvalidParameter, match=next(iter(unknown.values()))):
        replace(EQUAL, **unknown)


def test_claims_have_their_own_names_and_belong_to_figures():
    claims = all_claims()
    assert len({claim.id for claim in claims}) == len(claims)
    assert {claim.figure for claim in claims} == {figure.name for figure in selected()}


def test_claims_that_fail_are_among_them():
    ids = {claim.id for claim in paper_claims()}
    assert ids >= {
        "relu-coefficient",
        "song-theta-s-conversion",
        "sgd-at-large-thresholds",
        "rs-is-close",
        "sparsity-survives-breaking",
    }
