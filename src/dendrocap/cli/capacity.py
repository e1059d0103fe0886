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
    ThetaD,
    ThetaS,
    XMin,
    run,
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
    log: LogFlag = False,
    plot: PlotPath = None,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Critical capacity (replica symmetric), silent fraction and weights at capacity.

    Every parameter takes a number, a list 0.1,0.2,0.5 or a range start:stop:count.

    Example: dendrocap capacity -g polsky,relu --theta-d 0.01:1:50 --log --plot capacity.png
    """
    from dendrocap.theory.curves import CAPACITY_FIELDS, capacity_points

    texts = {
        "theta_d": theta_d, "theta_s": theta_s, "x_min": x_min, "gamma": gamma,
        "f_in": f_in, "f_out": f_out, "kappa": kappa,
    }  # fmt: skip
    run(
        Grid(nonlinearity, texts, log),
        capacity_points,
        list(CAPACITY_FIELDS),
        ["alpha_c", "silent_fraction", "B", "W_star", "Q", "preactivation_mean", "preactivation_sd"],
        as_json=as_json,
        as_csv=as_csv,
        plot=plot,
        y="alpha_c",
        y_label=r"critical capacity $\alpha_c = P_c / N$",
    )
