"""One source of numbers: docs/numbers.json holds what the tables give, README and pages quote nothing else."""

import json
import re

import pytest

from studies import numbers as sources
from studies.numbers import MINUS, NUMBER, QUOTED, Number
from tests.documentation.sources import ROOT

NUMBERS = sources.collect()
PAGES = list(sources.pages())
# Pages on which every decimal and every percentage is a quotation, a setting of the model or a version.
COMPLETE = ("README.md", "docs/index.md")
INDEX = ROOT / "docs" / "index.md"
SETTINGS = {"3.11", "0.5", "0.1", "0.05", "0.33", "0.01", "2407.07572"}


def prose(text):
    """A page without its code, in blocks, indented or in lines, and without the targets of links."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"(?<=\n\n)(?:    .*\n)+", "", text)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


def test_the_file_of_numbers_is_what_the_tables_give():
    assert sources.as_json(NUMBERS) == sources.NUMBERS.read_text(encoding="utf-8"), "run `python -m studies.numbers`"
    for entry in json.loads(sources.NUMBERS.read_text(encoding="utf-8")).values():
        assert entry["command"]
        assert (ROOT / entry["table"]).is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_quotations_say_what_the_tables_give(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("<!--=") == len(QUOTED.findall(text)), "a mark without a number before it"
    assert sources.up_to_date(text, NUMBERS) == text, "run `python -m studies.numbers`"


@pytest.mark.parametrize("page", COMPLETE)
def test_no_number_is_quoted_without_its_source(page):
    text = QUOTED.sub("", prose((ROOT / page).read_text(encoding="utf-8")))
    loose = [match[0] for match in re.finditer(NUMBER, text) if match["decimals"] or match["percent"]]
    assert not [number for number in loose if number not in SETTINGS]


def test_the_headline_capacities_are_nowhere_quoted_without_their_source():
    """In running text, three digits or more that come close to a headline number are a quotation of it."""
    watched = [NUMBERS[name] for name in ("paper 0.5", "many steps 0.5", "best 0.5")]
    loose = []
    for page in PAGES:
        text = QUOTED.sub("", prose(page.read_text(encoding="utf-8")))
        for line in text.splitlines():
            if not line.startswith("|"):
                for match in re.finditer(NUMBER, line):
                    last = 10.0 ** -len(match["decimals"] or "")
                    if len(match["decimals"] or "") >= 2 and not match["percent"]:
                        value = float(match["value"].replace(",", "").replace(MINUS, "-"))
                        if any(abs(value - one.value) < 0.8 * last for one in watched):
                            loose.append((page.name, line.strip()))
    assert not loose


def test_the_answer_on_the_first_page_is_the_stored_one():
    """Code is run elsewhere, or too slow to be; what a comment promises is compared here."""
    text = INDEX.read_text(encoding="utf-8")
    for answer in re.findall(r"'([^']+) patterns per synapse'", text):
        assert answer == NUMBERS["best 0.5"].printed
    for paper, silent in re.findall(r"replica-symmetric estimate: (\S+), (\d+) % silent", text):
        assert paper == f"{NUMBERS['paper 0.5'].value:.2f}"
        assert silent == f"{100 * NUMBERS['silent paper 0.5'].value:.0f}"


def test_quotations_keep_their_manner():
    known = {"a": Number(0.2256, 0.0123, "", "", ""), "b": Number(-2345.678, 0.0, "", "", "")}
    for said, wanted in (
        ("24 %<!--=a-->", "23 %<!--=a-->"),
        ("0.5(9)<!--=a-->", "0.2(0)<!--=a-->"),
        ("0.50(9)<!--=a-->", "0.23(1)<!--=a-->"),
        ("1.0 ± 0.3 %<!--=a-->", "22.6 ± 1.2 %<!--=a-->"),
        (f"{MINUS}1,000.0<!--=b-->", f"{MINUS}2,345.7<!--=b-->"),
    ):
        assert sources.up_to_date(said, known) == wanted
        assert sources.up_to_date(wanted, known) == wanted
    with pytest.raises(KeyError, match="names no number"):
        sources.up_to_date("1<!--=c-->", known)
