"""``dendrocap capacity``: the critical capacity at a point or over a grid."""

from __future__ import annotations

from dendrocap.cli.output import CsvFlag, JsonFlag, PlotPath
from dendrocap.cli.theory_grid import (
    Gamma,
    Grid,
    InputLevel,
    Kappa,
    LogFlag,
    Names,
    OutputLevel,
    Steps,
    ThetaD,
    ThetaS,
    XMin,
    run,
    steps_of_breaking,
)

__all__ = ["capacity"]


def capacity(
    nonlinearity: Names = "polsky",
    theta_d: ThetaD = "0.5",
    theta_s: ThetaS = "0.5",
    x_min: XMin = "0.33",
    gamma: Gamma = "15",
    f_in: InputLevel = "0.5",
    f_out: OutputLevel = "0.5",
    kappa: Kappa = "0",
    rsb: Steps = None,
    log: LogFlag = False,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Critical capacity, silent fraction and weights at capacity.

    Replica symmetric, an upper bound, unless --rsb asks for steps of replica symmetry breaking.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap capacity -g polsky,relu --theta-d 0.01:1:50 --log --plot capacity.png

    Example: dendrocap capacity -g relu --theta-d 0.1:2:9 --rsb 0,1,2
    """
    from dendrocap.theory.parameter_grids import BROKEN_FIELDS, CAPACITY_FIELDS, capacity_points

    texts = {
        "theta_d": theta_d, "theta_s": theta_s, "x_min": x_min, "gamma": gamma,
        "f_in": f_in, "f_out": f_out, "kappa": kappa,
    }  # fmt: skip
    steps = steps_of_breaking(rsb) if rsb is not None else ()
    shown = ["alpha_c", "silent_fraction", "B", "W_star", "Q", "preactivation_mean", "preactivation_sd"]
    if steps:
        shown = ["alpha_c", "silent_fraction", "Q", "effective_levels", "quadrature_error", "steps_error"]
    run(
        Grid(nonlinearity, texts, log, steps),
        capacity_points,
        list(BROKEN_FIELDS if steps else CAPACITY_FIELDS),
        shown,
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y="alpha_c",
        y_label=r"critical capacity $\alpha_c = P_c / N$",
    )
