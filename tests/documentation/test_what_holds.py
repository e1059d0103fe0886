"""docs/what_holds.md says what the stored tables say, and is found first."""

import pytest

from dendrocap.errors import DendrocapError
from dendrocap.reproduction.claims import CANNOT, DIFFERS, REPRODUCED, UNDECIDED
from studies import what_holds
from studies.numbers import Number

TEXT = what_holds.PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_tables_give():
    assert what_holds.page() == TEXT, "run `python -m studies.what_holds`"


def test_words_follow_from_verdicts():
    assert what_holds.overall([REPRODUCED, REPRODUCED]) == "holds"
    assert what_holds.overall([REPRODUCED, UNDECIDED]) == "holds in part"
    assert what_holds.overall([CANNOT, DIFFERS]) == "does not hold"
    assert what_holds.overall([UNDECIDED]) == "not decided"


def test_an_explanation_is_not_printed_for_other_verdicts(monkeypatch):
    """If a table changed a verdict, its explanation would have to be written again."""
    judged = what_holds.verdicts
    other = Number(0.4, 0.01, "0.40 ± 0.01", "", "")
    monkeypatch.setattr(what_holds, "verdicts", lambda numbers: judged({**numbers, "best 0.5": other}))
    with pytest.raises(DendrocapError, match=r"'capacity' explains .* the tables give"):
        what_holds.page()


def test_every_part_is_a_claim_and_at_least_one_decides():
    known = what_holds.verdicts(what_holds.sources.collect())
    for one in what_holds.headlines():
        assert all(part["claim"] in known for part in one.parts)
        assert not all(part.get("calculation") for part in one.parts)
