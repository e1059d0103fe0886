"""The tables of docs/solvers.md say what the stored runs say."""

from argparse import Namespace

import pytest

from tests.documentation.sources import DOCS, script

measure = script("results/measure_solvers.py")


@pytest.mark.parametrize(("part", "budget"), [("table", 10.0), ("table", 120.0), ("limits", 120.0)])
def test_every_row_is_in_the_page(part, budget, capsys):
    getattr(measure, part)(Namespace(budget=budget))
    _, rule, *rows = capsys.readouterr().out.splitlines()
    assert set(rule) == set("| -")
    assert len(rows) >= 6
    page = (DOCS / "solvers.md").read_text(encoding="utf-8").splitlines()
    missing = [row for row in rows if row not in page]
    assert not missing
