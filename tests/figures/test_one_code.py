"""One code in all figures: letters of one size, dashes for the theory, markers for what was learned, words for both."""

from functools import cache

import pandas as pd
import pytest
from matplotlib.text import Text

from dendrocap.figures.style import FONT_SIZE, MANY_STEPS, ONE_STEP, SYMMETRIC, UNSTABLE
from dendrocap.reproduction import selected, stored_results
from studies import plots

FOLDER = stored_results("paper")
MADE = {figure.name: figure for figure in selected() if figure.origin == "paper"}
THEORY = [*(name for name, figure in MADE.items() if figure.kind == "theory"), "fig3", "fig6"]
LINES_TO_FOLLOW = 7


@cache
def drawn(name):
    if name in MADE:
        return MADE[name].draw(MADE[name].read(FOLDER))
    loads = pd.read_csv(stored_results("studies") / "rsb_capacity.csv").to_dict("records")
    learned = pd.read_csv(stored_results("studies") / "rsb_learned.csv").to_dict("records")
    polsky = [row for row in loads if row["nonlinearity"] == "polsky"]
    if name == "breaking":
        return plots.breaking(loads, learned)
    return plots.solvers([{"solver": "surrogate", "theta_d": 0.1, "alpha": 1.2}], polsky)


def words(figure):
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("name", [*MADE, "breaking", "solvers"])
def test_everything_is_legible_at_the_width_of_a_column(name):
    assert not {text.get_text() for text in words(drawn(name)) if text.get_fontsize() < FONT_SIZE}


@pytest.mark.parametrize("name", [*THEORY, "breaking", "solvers"])
def test_what_is_replica_symmetric_says_so_inside_the_figure(name):
    assert any("replica symmetric" in text.get_text() for text in words(drawn(name)))


@pytest.mark.parametrize("name", [*MADE, "breaking", "solvers"])
def test_no_panel_has_more_lines_than_one_can_follow(name):
    """Lines of simulations; those of the theory come in pairs of one colour."""
    for axes in drawn(name).axes:
        marked = [
            line for line in axes.lines if line.get_marker() not in (None, "None", "") and len(line.get_xdata()) > 2
        ]
        colours = {str(line.get_color()) for line in marked if line.get_linestyle() != "None"}
        assert len(colours) <= LINES_TO_FOLLOW, axes.get_ylabel()


@pytest.mark.parametrize("name", [*THEORY, "breaking", "solvers"])
def test_lines_of_the_theory_have_the_dashes_of_their_kind_and_no_markers(name):
    kinds = {look["label"]: look["ls"] for look in (SYMMETRIC, ONE_STEP, MANY_STEPS, UNSTABLE)}
    met = 0
    for axes in drawn(name).axes:
        for line in axes.lines:
            kind = next((kind for kind in kinds if kind in str(line.get_label())), None)
            if kind is not None and len(line.get_xdata()):
                met += 1
                assert line.get_marker() in (None, "None", "")
                dashes = kinds[kind]
                expected = dashes if isinstance(dashes, str) else "--"
                assert line.get_linestyle() == expected, line.get_label()
    assert met or name in ("fig9",)  # whose lines are named by a legend of their kinds
