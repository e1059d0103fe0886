"""One source of numbers: docs/numbers.json holds what the tables give, README and pages quote nothing else."""

import json

import pytest

from studies import numbers as sources
from studies.numbers import MINUS, QUOTED, Number
from tests.documentation.sources import ROOT

NUMBERS = sources.collect()


def test_the_file_of_numbers_is_what_the_tables_give():
    assert sources.as_json(NUMBERS) == sources.NUMBERS.read_text(encoding="utf-8"), "run `python -m studies.numbers`"
    for entry in json.loads(sources.NUMBERS.read_text(encoding="utf-8")).values():
        assert (ROOT / entry["table"]).is_file()


def test_quotations_say_what_the_tables_give():
    for page in sources.pages():
        text = page.read_text(encoding="utf-8")
        assert text.count("<!--=") == len(QUOTED.findall(text)), f"{page}: a mark without a number before it"
        assert sources.up_to_date(text, NUMBERS) == text, f"{page}: run `python -m studies.numbers`"


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
