"""docs/what_holds.md says what the stored tables say, and is found first."""

import re
from pathlib import Path

import pytest

from dendrocap.errors import DendrocapError
from dendrocap.reproduction.claims import CANNOT, DIFFERS, REPRODUCED, UNDECIDED
from studies import what_holds
from studies.numbers import Number
from tests.documentation.sources import DOCS, ROOT

TEXT = what_holds.PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_tables_give():
    assert what_holds.page() == TEXT, "run `python -m studies.what_holds`"


def test_ten_claims_each_with_a_small_picture():
    sections = re.findall(r"^## (\d+)\. .*: (?:holds|holds in part|does not hold|not decided)$", TEXT, re.MULTILINE)
    assert sections == [str(place) for place in range(1, 11)]
    for alt, picture in re.findall(r"!\[(.*)\]\((.*)\)", TEXT):
        assert len(alt) > 40
        assert (DOCS / picture).stat().st_size < 100_000
        assert Path(picture).stem in {one.name for one in what_holds.headlines()}


def test_it_is_short():
    """Headings, numbers and reasons; marks of readings and the small print at the end are for those who go on."""
    lines = re.sub(r"!\[.*?\]\(.*?\)", "", TEXT).partition("\n---\n")[0].splitlines()
    assert len(" ".join(line for line in lines if not set(line) & set("✓✗∅…")).split()) < 600


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


def test_numbers_in_sentences():
    numbers = {"a": Number(-0.0254, 0.003, "-0.025 ± 0.003", "", ""), "b": Number(4.95132, 0.0, "4.9513", "", "")}
    assert what_holds.filled("{a:%} of {b:3}, {b}", numbers) == "\N{MINUS SIGN}2.5 ± 0.3 % of 4.95, 4.9513"


def test_pictures_are_drawn_from_the_tables():
    from studies.what_holds_pictures import PICTURES

    assert list(PICTURES) == [one.name for one in what_holds.headlines()]
    for name in ("bound", "noise"):
        assert PICTURES[name]().axes[0].get_legend_handles_labels()[1]


def test_the_page_comes_first():
    assert "docs/what_holds.md" in (ROOT / "README.md").read_text(encoding="utf-8")[:1500]
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert re.search(r"```\{toctree\}[^`]*?\n\n(.*)\n", index)[1] == "what_holds"
