"""Plots of the theory: results along a parameter, broken symmetry, what solvers reach, and one neuron at capacity."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.figures.style import (
    AXIS_LABELS,
    LABELS,
    MANY_STEPS,
    ONE_STEP,
    PALETTE,
    SYMMETRIC,
    UNSTABLE,
    behind,
    drawing,
    drawing_axes,
)
from dendrocap.model import Linear, Step, Tabulated, Units

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dendrocap.theory import CapacitySolution

__all__ = ["SOLVER_LOOKS", "breaking", "curves", "neuron_at_capacity", "solvers"]

Floats = NDArray[np.float64]
Rows = Sequence[Mapping[str, Any]]

# Dashes by steps of breaking; further numbers of steps share one.
STEP_DASHES = {0: SYMMETRIC["ls"], 1: ONE_STEP["ls"], "full": MANY_STEPS["ls"]}
MARKS = "os^vD"  # of the members of a family of lines
SYMBOLS = {name: label[label.index("$") :] for name, label in AXIS_LABELS.items() if "$" in label}
# The line of each column of a table of loads.
LOAD_LINES = {"alpha_rs": SYMMETRIC, "alpha_1": ONE_STEP, "alpha_full": MANY_STEPS, "alpha_at": UNSTABLE}
# Label, colour and marker per solver, in the order of the legend; Okabe and Ito's colours.
SOLVER_LOOKS = {
    "surrogate": ("annealed surrogate", "#D55E00", "o"),
    "replicated": ("replicated SGD", "#0072B2", "s"),
    "sharpening": ("sharpened g", "#009E73", "^"),
    "least-action": ("least action", "#E69F00", "v"),
    "message-passing": ("message passing", "#CC79A7", "D"),
    "sgd": ("plain SGD", "#56B4E9", "x"),
}


def curves(
    rows: Rows | pd.DataFrame,
    x: str,
    y: str,
    y_label: str | None = None,
    *,
    log: bool = False,
    legend: bool = True,
    family: Sequence[str] = (),
    ax: Axes | None = None,
) -> Figure:
    r"""A result of the theory against one parameter, one line per non-linearity.

    Parameters
    ----------
    rows : sequence of mappings, or DataFrame
        With ``nonlinearity``, the two columns and, if symmetry is broken, its steps in ``rsb``. Points without an
        answer, None, are left out. The linear neuron is dashed.
    x, y : str
        The columns to draw: a parameter, and a result.
    y_label : str, optional
        In place of the usual name of ``y``.
    log : bool
        Whether the parameter has a logarithmic axis.
    legend : bool
        Whether the lines are named.
    family : sequence of str
        Further parameters, each combination of which has a line of its own.
    ax : Axes, optional
        Where to draw; by default in a new figure. Errors in a column ``error`` are drawn as bars.

    Examples
    --------
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> found = [dc.critical_capacity(dc.NeuronSpec(dc.ReLU(), theta_d, 0.5)).alpha_c for theta_d in (0.1, 0.5)]
    >>> rows = [{"nonlinearity": "relu", "theta_d": x, "alpha_c": y} for x, y in zip((0.1, 0.5), found)]
    >>> figure = plot.curves(rows, "theta_d", "alpha_c")
    >>> figure.axes[0].get_xlabel()
    'dendritic threshold $\\theta_d$'
    """
    listed: Rows = rows if isinstance(rows, Sequence) else rows.to_dict("records")
    with drawing_axes(1, 2.6, ax) as (figure, axes):
        kinds: dict[tuple[Any, ...], list[Any]] = {}
        for row in listed:
            member = tuple(row[name] for name in family)
            kinds.setdefault((row["nonlinearity"], row.get("rsb", 0), member), []).append(row)
        members = list(dict.fromkeys(member for _, _, member in kinds))
        for (name, steps, member), own in kinds.items():
            line = [row for row in own if None not in (row[x], row[y])]
            if not line:
                continue
            label = LABELS[name] if steps == 0 else f"{LABELS[name]}, {steps} RSB"
            label = ", ".join(
                [label, *(f"{SYMBOLS[key]} = {value:g}" for key, value in zip(family, member, strict=True))]
            )
            dashes = "--" if name == Linear.name else STEP_DASHES.get(steps, "-.")
            place = members.index(member)
            look: dict[str, Any] = {"color": PALETTE[name], "ls": dashes, "label": label}
            if len(members) > 1:  # a family in shades of one colour, and with marks of its own
                look |= {"alpha": 1.0 - 0.6 * place / (len(members) - 1), "marker": MARKS[place % len(MARKS)], "ms": 3}
            axes.plot([row[x] for row in line], [row[y] for row in line], **look)
            bars = [row for row in line if row.get("error") is not None and math.isfinite(row["error"])]
            if bars:
                at, up, size = ([row[key] for row in bars] for key in (x, y, "error"))
                axes.errorbar(at, up, yerr=size, fmt="none", ecolor=PALETTE[name], alpha=look.get("alpha", 1.0), lw=0.7)
        axes.set(xlabel=AXIS_LABELS[x], ylabel=AXIS_LABELS[y] if y_label is None else y_label)
        if log:
            axes.set_xscale("log")
        if legend:
            axes.legend()
    return figure


def breaking(rows: Rows, learned: Rows = (), *, figure: Figure | None = None) -> Figure:
    """What replica symmetry breaking makes of the capacity, one panel per non-linearity, with the AT load.

    Parameters
    ----------
    rows : sequence of mappings
        With ``nonlinearity``, ``theta_d`` and the columns alpha_rs, alpha_1, alpha_full and alpha_at; numbers may be
        text, as they come from a CSV file. An infinite AT load is left out.
    learned : sequence of mappings
        What a learning rule reached: ``nonlinearity``, ``theta_d``, ``alpha``; drawn as dots.
    figure : Figure, optional
        Where to draw; by default a new one.

    Examples
    --------
    >>> from dendrocap import plot
    >>> loads = {"alpha_rs": 1.6, "alpha_1": 1.4, "alpha_full": 1.3, "alpha_at": 0.8}
    >>> figure = plot.breaking([{"nonlinearity": "polsky", "theta_d": 0.1, **loads}])
    >>> [line.get_label() for line in figure.axes[0].lines][:2]
    ['replica symmetric', 'one step of breaking']
    """
    names = list(dict.fromkeys(row["nonlinearity"] for row in rows))
    with drawing(2, 2.7, figure) as figure:
        panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, names, strict=True):
            own = [row for row in rows if row["nonlinearity"] == name]
            for column, look in LOAD_LINES.items():
                _line(axes, own, column, color="0.5" if look is UNSTABLE else PALETTE[name], **look)
            dots = [(float(dot["theta_d"]), float(dot["alpha"])) for dot in learned if dot["nonlinearity"] == name]
            if dots:
                reached = axes.plot(*zip(*dots, strict=True), "o", color="k", ms=3.0, label="reached by learning")
                axes.legend(handles=reached, loc="upper left")
            axes.set(xscale="log", yscale="log", title=LABELS[name], xlabel=AXIS_LABELS["theta_d"])
        panels[0].set_ylabel(AXIS_LABELS["alpha"])
        panels[0].legend(loc="upper left")
    return figure


def solvers(reached: Rows, theory: Rows, *, ax: Axes | None = None) -> Figure:
    """Loads reached against the dendritic threshold, one line per solver, with the capacities of theory.

    Parameters
    ----------
    reached : sequence of mappings
        With ``solver``, ``theta_d`` and ``alpha``, the largest load solved, all within the same budget of time; 0 where
        nothing was solved.
    theory : sequence of mappings
        With ``theta_d``, ``alpha_rs``, ``alpha_full`` and ``alpha_at`` of one non-linearity; numbers may be text.
    ax : Axes, optional
        Where to draw; by default in a new figure.

    Examples
    --------
    >>> from dendrocap import plot
    >>> figure = plot.solvers(
    ...     reached=[{"solver": "surrogate", "theta_d": 0.1, "alpha": 1.2}],
    ...     theory=[{"theta_d": 0.1, "alpha_rs": 1.57, "alpha_full": 1.35, "alpha_at": 0.76}],
    ... )
    >>> figure.axes[0].lines[-1].get_label()
    'annealed surrogate'
    """
    with drawing_axes(1.6, 3.2, ax) as (figure, axes):
        for column in ("alpha_rs", "alpha_full", "alpha_at"):
            _line(axes, theory, column, color="0.35", lw=1.2, **LOAD_LINES[column])
        for solver, (label, color, marker) in SOLVER_LOOKS.items():
            dots = sorted((float(row["theta_d"]), float(row["alpha"])) for row in reached if row["solver"] == solver)
            if dots:
                axes.plot(
                    *zip(*dots, strict=True), color=color, marker=marker, ms=4.0, lw=0.8, clip_on=False, label=label
                )
        axes.set(
            xscale="log", xlim=(0.008, 1.3), ylim=(0.0, 3.0), xlabel=AXIS_LABELS["theta_d"], ylabel=AXIS_LABELS["alpha"]
        )
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _line(axes: Any, rows: Rows, column: str, **look: Any) -> None:
    """The finite loads of a column against the dendritic threshold."""
    points = [(float(row["theta_d"]), float(row[column])) for row in rows]
    points = [point for point in points if math.isfinite(point[1])]
    if points:
        axes.plot(*zip(*points, strict=True), **look)


def neuron_at_capacity(
    solution: CapacitySolution,
    branch_input: Floats,
    axis: str,
    curve: tuple[Floats, Floats],
    linear: tuple[Floats, Floats],
    weight_mv: Floats,
    units: Units,
    *,
    figure: Figure | None = None,
) -> Figure:
    r"""Three panels: g over the branch inputs, capacity against a threshold, and weights in millivolts.

    Parameters
    ----------
    solution : CapacitySolution
        The neuron, marked on the curve.
    branch_input : array
        Where g and the density of branch inputs are drawn.
    axis : {"theta_d", "theta_s"}
        The threshold of the second panel.
    curve, linear : (array, array)
        Thresholds and capacities, with and without dendrites.
    weight_mv : array
        Where the density of weights is drawn.
    units : Units
        Millivolts of a weight.
    figure : Figure, optional
        Where to draw; by default a new one.

    Examples
    --------
    >>> import numpy as np
    >>> import dendrocap as dc
    >>> from dendrocap import plot
    >>> solution = dc.critical_capacity(dc.NeuronSpec(dc.Polsky(), theta_d=0.5, theta_s=0.5))
    >>> theta_d = np.array([0.1, 0.5])
    >>> capacities = np.array([1.57, solution.alpha_c])
    >>> figure = plot.neuron_at_capacity(
    ...     solution,
    ...     branch_input=np.linspace(-1, 2, 50),
    ...     axis="theta_d",
    ...     curve=(theta_d, capacities),
    ...     linear=(theta_d, np.ones(2)),
    ...     weight_mv=np.linspace(0, 5, 50),
    ...     units=dc.Units(n_inputs=999, n_branches=27),
    ... )
    >>> figure.axes[1].get_title()
    '$\\alpha_c = 4.9513$'
    """
    g = solution.neuron.tree[0].nonlinearity
    colour = PALETTE[g.name]
    with drawing(2.9, 2.7, figure) as figure:
        dendrite, capacity, weights = figure.subplots(1, 3)
        _draw_dendrite(dendrite, solution, branch_input, colour)
        capacity.plot(*curve, color=colour, label=LABELS[g.name])
        capacity.plot(*linear, color=PALETTE[Linear.name], ls="--", label=LABELS[Linear.name])
        at = solution.neuron.tree[0].theta if axis == "theta_d" else solution.neuron.theta_s
        capacity.plot([at], [solution.alpha_c], "o", color=colour, mec="0.1", ms=6)
        if axis == "theta_d":
            capacity.set_xscale("log")
        capacity.set(
            yscale="log",
            xlabel=AXIS_LABELS[axis],
            ylabel=AXIS_LABELS["alpha_c"],
            title=rf"$\alpha_c = {solution.alpha_c:.4f}$",
        )
        capacity.legend()
        _draw_weights(weights, solution, weight_mv, units, colour)
    return figure


def _draw_dendrite(axes: Any, solution: CapacitySolution, x: Floats, colour: str) -> None:
    values = solution.neuron.tree[0].nonlinearity(x)
    axes.plot(x, values, color=colour, label="g")
    top = max(float(values.max()), solution.neuron.theta_s)
    axes.set_ylim(min(0.0, float(values.min())), 1.3 * top)
    axes.axhline(solution.neuron.theta_s, color="0.5", lw=0.8, ls=":")
    axes.annotate(r"$\theta_s$", (x[0], solution.neuron.theta_s), (2, 2), textcoords="offset points", color="0.4")
    behind(axes, x, solution.preactivation.pdf(x), PALETTE[Tabulated.name], "branch inputs")
    axes.set(xlim=(x[0], x[-1]), xlabel="summed branch input (units of 15 mV)", ylabel=AXIS_LABELS["branch_output"])


def _draw_weights(axes: Any, solution: CapacitySolution, weight_mv: Floats, units: Units, colour: str) -> None:
    per_mv = units.mv_per_weight
    density = solution.weights.pdf(weight_mv / per_mv) / per_mv
    axes.fill_between(weight_mv, density, color=colour, alpha=0.25, lw=0.0)
    axes.plot(weight_mv, density, color=colour)
    far, top = float(weight_mv[-1]), float(density.max())
    axes.set(
        xlim=(-0.06 * far, far), ylim=(0.0, 1.15 * top), xlabel="synaptic weight (mV)", ylabel=AXIS_LABELS["density_mv"]
    )
    silent = axes.twinx()
    silent.bar([-0.025 * far], [solution.silent_fraction], width=0.03 * far, color=PALETTE[Step.name])
    silent.set(ylim=(0.0, 1.0), ylabel=r"silent fraction $p_0$")
    silent.spines["right"].set_visible(True)
    axes.set_title(rf"$p_0 = {solution.silent_fraction:.4f}$")
