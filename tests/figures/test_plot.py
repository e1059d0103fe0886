"""The public plots: loaded without Matplotlib, drawn where one wants them, in one line code."""

import subprocess
import sys

import pytest
from matplotlib.figure import Figure

from dendrocap import plot
from dendrocap.figures.style import LABELS, MANY_STEPS, ONE_STEP, PALETTE, PAPER_LABEL, SYMMETRIC, UNSTABLE
from dendrocap.figures.theory import lines_of
from dendrocap.model import Polsky, ReLU
from dendrocap.sweeps.tables import Average
from studies import plots

LOADS = {"theta_d": 0.1, "alpha_rs": 1.6, "alpha_1": 1.4, "alpha_full": 1.3, "alpha_at": 0.8}
ERRORS = {"test_error": 0.1, "test_error_se": 0.01, "train_error": 0.05, "train_error_se": 0.01}
ON_AXES = {
    "averages": ([Average(None, 1.0, 2.0, 0.1, 3)], "theta_d", "alpha_c"),
    "curves": ([{"nonlinearity": "relu", "theta_d": 0.1, "alpha_c": 1.0}], "theta_d", "alpha_c"),
    "generalisation": ([{"neuron": "linear", "epoch": 1, **ERRORS}],),
}
ON_FIGURES = {
    "nonlinearity": (ReLU(),),
}


def test_matplotlib_loads_when_the_first_plot_is_drawn():
    code = "import sys; from dendrocap import plot; print([n in sys.modules for n in ('matplotlib', 'numba', 'scipy')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[False, False, False]"


@pytest.mark.parametrize("name", ON_AXES)
def test_plots_draw_into_given_axes(name):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert getattr(plot, name)(*ON_AXES[name], ax=right) is figure
    assert right.has_data()
    assert not left.has_data()
    assert len(getattr(plot, name)(*ON_AXES[name]).axes) == 1


@pytest.mark.parametrize("name", ON_FIGURES)
def test_plots_with_panels_draw_into_a_given_figure(name):
    figure = Figure()
    assert getattr(plot, name)(*ON_FIGURES[name], figure=figure) is figure
    assert figure.axes


def test_broken_symmetry_has_one_line_code():
    (axes,) = plots.breaking([{"nonlinearity": "polsky", **LOADS}]).axes
    drawn = [(line.get_linestyle(), line.get_label()) for line in axes.lines]
    looks = (SYMMETRIC, ONE_STEP, MANY_STEPS, UNSTABLE)
    assert drawn == [(dash, look["label"]) for dash, look in zip(("-", "--", "--", "-."), looks, strict=True)]
    assert axes.lines[1]._unscaled_dash_pattern != axes.lines[2]._unscaled_dash_pattern
    rows = [{"nonlinearity": "polsky", "rsb": steps, "theta_d": 0.1, "alpha_c": 1.0} for steps in (0, 1, "full")]
    (axes,) = plot.curves(rows, "theta_d", "alpha_c").axes
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--", "--"]


def test_curves_take_a_table_as_well_as_rows():
    import pandas as pd

    rows = [{"nonlinearity": "relu", "theta_d": x, "alpha_c": 1.0 + x} for x in (0.1, 0.5)]
    for given in (rows, pd.DataFrame(rows)):
        (axes,) = plot.curves(given, "theta_d", "alpha_c", log=True, legend=False).axes
        assert axes.lines[0].get_xydata().tolist() == [[0.1, 1.1], [0.5, 1.5]]
        assert axes.lines[0].get_label() == LABELS["relu"]
        assert axes.get_xscale() == "log"
        assert axes.get_legend() is None


def test_every_non_linearity_has_a_colour_and_a_name():
    assert PALETTE.keys() == LABELS.keys()
    assert len(set(PALETTE.values())) == len(PALETTE)
    assert PALETTE[Polsky.name] == "#D55E00"


def test_curves_name_their_estimate():
    rows = [{"nonlinearity": "relu", "theta_d": x, "alpha_c": 1.0 + x} for x in (0.1, 0.5)]
    (axes,) = plot.curves(rows, "theta_d", "alpha_c").axes
    assert axes.get_legend().get_title().get_text() == PAPER_LABEL
    (axes,) = plot.curves(rows, "theta_d", "alpha_c", legend=False).axes
    assert axes.get_title() == PAPER_LABEL
    named = [{**row, "estimate": "broken symmetry k = 2"} for row in rows]
    figure = plot.curves([*rows, *named], "theta_d", "alpha_c")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "ReLU",
        PAPER_LABEL,
        "broken symmetry k = 2",
    ]


def test_best_estimates_are_drawn_with_errors_and_the_paper_s_beside_them():
    lights = {"branch size": {"light": "bad", "words": "3 synapses per branch"}}
    best = {"alpha_c": 2.0, "error": 0.1, "paper_alpha_c": 5.0, "accuracy": "best", "validity": lights}
    rows = [{"nonlinearity": "polsky", "n_branches": K, **best} for K in (9.0, 27.0)]
    rows += [{"nonlinearity": "linear", "n_branches": 9.0, **best, "error": 0.0, "paper_alpha_c": 2.0}]
    figure = plot.curves(rows, "n_branches", "alpha_c")
    key, footer = ([text.get_text() for text in legend.get_texts()] for legend in figure.legends)
    assert key == ["Polsky", "linear", "best estimate", PAPER_LABEL]
    assert footer == ["branch size: bad"]
    (axes,) = figure.axes
    looks = {line.get_label(): line.get_linestyle() for line in axes.lines if not line.get_label().startswith("_")}
    # The linear neuron's is exact: one line.
    assert looks == {f"Polsky, {PAPER_LABEL}": "-", "Polsky, best estimate": "--", f"linear, {PAPER_LABEL}": "-"}
    (bars,) = axes.containers
    assert bars[2][0].get_segments()[0][:, 1] == pytest.approx([1.9, 2.1])


def test_a_best_estimate_without_the_paper_s_beside_it_is_one_line():
    row = {"nonlinearity": "relu", "accuracy": "best", "theta_d": 0.1, "silent_fraction": 0.2, "error": 0.0}
    (line,) = lines_of([row, {**row, "theta_d": 0.2}], "theta_d", "silent_fraction")
    assert (line.estimate, line.column) == ("best estimate", "silent_fraction")
