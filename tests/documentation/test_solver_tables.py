"""The tables of docs/solvers.md say what the stored runs say."""

import pytest

from studies import bethe, solvers
from studies.tables import stored
from tests.documentation.sources import DOCS


@pytest.mark.parametrize(
    "lines",
    [*(solvers.table(stored(solvers.TABLE), budget) for budget in (10.0, 120.0)), bethe.limits(stored(bethe.TABLE))],
    ids=["10 s", "120 s", "limits"],
)
def test_every_row_is_in_the_page(lines):
    _, rule, *rows = lines
    assert set(rule) == set("| -")
    assert len(rows) >= 6
    page = (DOCS / "solvers.md").read_text(encoding="utf-8").splitlines()
    missing = [row for row in rows if row not in page]
    assert not missing
