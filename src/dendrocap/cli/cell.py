"""``dendrocap cell``: what a reconstructed neuron can store, and the contribution of each part of its tree."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dendrocap.cli.option_groups import ShapeOptions, TaskOptions, spread
from dendrocap.cli.output import JsonFlag, PlotPath, draw, emit, message, plot_target, progress

if TYPE_CHECKING:
    from dendrocap.fitting import GroupShare, ReconstructedNeuron
    from dendrocap.theory import Capacity

__all__ = ["cell"]


@spread
def cell(
    morphology: Annotated[Path, typer.Argument(help="Reconstruction: SWC, Neurolucida ASC or H5.")],
    synapses_per_um: Annotated[float, typer.Option(help="Excitatory synapses per micrometre of dendrite.")] = 1.0,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Use only terminal branches instead of all sections.")
    ] = False,
    shape: ShapeOptions = ShapeOptions(),
    theta_d: Annotated[float, typer.Option(help="Dendritic threshold.")] = 0.05,
    theta_s: Annotated[float, typer.Option(help="Somatic threshold.")] = 0.5,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            help="Parameters of one type, as in 'apical tuft:theta_d=0.1,synapses_per_um=0.5'; can be repeated."
        ),
    ] = None,
    task: TaskOptions = TaskOptions(),
    accuracy: Annotated[str, typer.Option(help="fast, or best for the best estimate.")] = "fast",
    seed: Annotated[int, typer.Option(help="Seed of the Monte Carlo samples of the best estimate.")] = 0,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute the capacity of a reconstructed cell: its groups of branches, their synapses and their contributions.

    Example: dendrocap cell cell.swc --synapses-per-um 1.5 --plot cell.png
    """
    from dendrocap.fitting import cell_from_morphology, group_shares
    from dendrocap.validation import choice, whole_number

    target = plot_target(plot)
    choice("--accuracy", accuracy, ("fast", "best"))
    found = cell_from_morphology(
        morphology,
        synapses_per_um=synapses_per_um,
        branches="terminal" if terminal else "sections",
        nonlinearity=shape.g(),
        theta_d=theta_d,
        theta_s=theta_s,
        kinds=dict(_kind(text) for text in kind or ()),
    )
    steps = 1 + (len(found.groups) if len(found.groups) > 1 else 0)
    with progress(steps, "capacity") as step:
        whole, shares = group_shares(
            found, task.task(), accuracy=accuracy, seed=whole_number("--seed", seed, 0), callback=step
        )
    if as_json:
        emit([cell_row(found, whole, shares)], as_json=True)
    else:
        answer = f"{whole.patterns} patterns: {whole.in_words}"
        emit(group_table(whole, shares), title=f"{found.summary}\n{fill(answer, 80)}")
        message("'without' is the capacity of the cell without these branches")
    for remark in found.remarks:
        message(f"{found.source}: {remark}")
    if whole.remark:
        message(whole.remark)
    draw(target, lambda plots: plots.cell(found, whole, shares))


def _kind(text: str) -> tuple[str, dict[str, float]]:
    """The type and the numbers of an option --kind."""
    from dendrocap.errors import InvalidParameter

    name, _, rest = text.partition(":")
    try:
        pairs = dict(part.split("=") for part in rest.split(","))
        return name.strip(), {key.strip(): float(value) for key, value in pairs.items()}
    except ValueError:
        raise InvalidParameter(
            f"--kind {text!r} is not allowed: write a type and its numbers, as in 'apical tuft:theta_d=0.1,f_in=0.2'"
        ) from None


def cell_row(found: ReconstructedNeuron, whole: Capacity, shares: list[GroupShare]) -> dict[str, Any]:
    """All numbers of a cell as one flat object."""
    groups = [
        {
            "name": share.group.name,
            "n_branches": share.group.n_branches,
            "length_um": share.group.length_um,
            "n_synapses": share.group.n_synapses,
            "theta_d": share.group.theta_d,
            "f_in": share.group.f_in,
            "silent_fraction": share.silent_fraction,
            "n_patterns_without": None if share.without is None else share.without.n_patterns,
        }
        for share in shares
    ]
    size = {"n_branches": found.n_branches, "length_um": found.length_um, "n_inputs": found.n_inputs}
    return {"source": found.source, **size, "remarks": list(found.remarks), "groups": groups, **whole.as_row()}


def group_table(whole: Capacity, shares: list[GroupShare]) -> list[dict[str, str]]:
    """The groups of a cell, one per line, within 80 columns."""
    from dendrocap.display import with_digits

    rows = []
    for share in shares:
        group, without = share.group, share.without
        left = "" if without is None else with_digits(float(without.n_patterns or 0), 2)
        adds = "" if without is None else with_digits(float((whole.n_patterns or 0) - (without.n_patterns or 0)), 2)
        rows.append(
            {
                "branches": group.name,
                "number": str(group.n_branches),
                "um": f"{group.length_um:,.0f}",
                "synapses": f"{group.n_synapses:,}",
                "silent": f"{100.0 * share.silent_fraction:.0f} %",
                "without": left,
                "adds": adds,
            }
        )
    return rows
