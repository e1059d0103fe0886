"""The tables of docs/solvers.md say what the stored runs say."""

import pytest

from studies import bethe, solver_loads, solvers, success_of_solvers
from studies.tables import stored
from tests.documentation.sources import DOCS


@pytest.mark.parametrize(
    "lines",
    [
        *(solvers.table(stored(solvers.TABLE), budget) for budget in (10.0, 120.0)),
        bethe.limits(stored(bethe.TABLE)),
        success_of_solvers.table(),
    ],
    ids=["10 s", "120 s", "limits", "success"],
)
def test_every_row_is_in_the_page(lines):
    _, rule, *rows = lines
    assert set(rule) == set("| -")
    assert len(rows) >= 6
    page = (DOCS / "solvers.md").read_text(encoding="utf-8").splitlines()
    missing = [row for row in rows if row not in page]
    assert not missing


def test_errors_left_by_selected_annealing_are_those_of_its_runs():
    page = (DOCS / "solvers.md").read_text(encoding="utf-8").splitlines()
    runs = [row for row in stored(solver_loads.RUNS) if row["solver"] == "selected"]
    assert len(runs) == 13
    assert sum(row["errors"] == "0" for row in runs) == 1
    for theta_d, load in {(row["theta_d"], row["alpha"]) for row in runs}:
        left = ", ".join(row["errors"] for row in runs if row["theta_d"] == theta_d)
        assert any(line.startswith(f"| {theta_d} | {load} | {left} |") for line in page), theta_d


def test_wilsons_interval_holds_the_share():
    share = success_of_solvers.share
    rows = [{"errors": "0"}] * 3 + [{"errors": "2"}]
    solved, low, high = share(rows)
    assert low < solved == 0.75 < high
    assert share(rows[:3])[0] == share(rows[:3])[2] == 1.0
    # The ends are where the share found is one standard error from the true one.
    for end in (low, high):
        assert abs(solved - end) == pytest.approx((end * (1.0 - end) / 4) ** 0.5, rel=1e-9)
