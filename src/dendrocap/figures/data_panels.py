"""The paper's figures with real data: measured synapses (Fig. 6) and images (Fig. 8), from stored tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dendrocap.figures.style import COLUMN_WIDTH, PALETTE, house_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["draw_images", "draw_synapses"]

Tables = Mapping[str, "pd.DataFrame"]
DATA_SETS = {
    "mnist": "MNIST, odd/even",
    "fashion-mnist": "Fashion-MNIST, odd/even",
    "cifar10": "CIFAR-10, bird/ship",
    "cifar10-odd-even": "CIFAR-10, odd/even",
}


def draw_synapses(tables: Tables) -> Figure:
    """Fig. 6: measured amplitudes, the printed fit in the model's units, and the same fit to the raw data."""
    from matplotlib.figure import Figure

    bins, density, fit = tables["fig6_histogram"], tables["fig6_density"], tables["fig6_fit"].iloc[0]
    with house_style():
        figure = Figure(figsize=(2 * COLUMN_WIDTH, 2.9), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        edges = [*bins.left_mv, bins.right_mv.iloc[-1]]
        left.stairs(bins.density, edges, fill=True, color="0.8", label=f"{fit.amplitudes:.0f} EPSPs, area $1 - p_0$")
        left.fill_between(
            density.epsp_mv, density.raw_data_low, density.raw_data_high, color=PALETTE["polsky"], alpha=0.25, lw=0
        )
        left.plot(
            density.epsp_mv,
            density.raw_data,
            color=PALETTE["polsky"],
            label=rf"fitted here, $W_\star = {fit.W_star:.2f}$ = {fit.W_star_mv:.2f} mV",
        )
        left.plot(
            density.epsp_mv,
            density.printed,
            color=PALETTE["relu"],
            ls="--",
            label=rf"printed, $W_\star = {fit.printed_W_star:g}$ in the model's units",
        )
        left.plot(
            density.epsp_mv, density.likelihood, color=PALETTE["tabulated"], ls=":", label="fitted here, likelihood"
        )
        left.set_xlim(0.0, float(density.epsp_mv.max()))
        left.set_ylim(bottom=0.0)
        left.set_xlabel("EPSP amplitude (mV)")
        left.set_ylabel("density (1 / mV)")
        left.set_title(
            rf"silent fraction $p_0 = {fit.p0:g}$ as in print; {100 * fit.not_seen:.1f} % of pairs not connected",
            fontsize=7.5,
        )
        left.legend(fontsize=7)
        scan = tables["fig6_theta_s"]
        right.plot(scan.theta_s, scan.silent_fraction, color=PALETTE["polsky"])
        right.axhline(fit.printed_p0, color="0.4", ls="--", lw=1.0, label=f"printed {fit.printed_p0:g}")
        right.set_xlabel(r"somatic threshold $\theta_s$")
        right.set_ylabel(r"silent fraction $p_0$ at capacity")
        right.set_title(rf"at the printed $\theta_d$ = {scan.theta_d_mv.iloc[0]:.2f} mV", fontsize=7.5)
        right.legend(fontsize=7, loc="lower center")
    return figure


def draw_images(tables: Tables) -> Figure:
    """Fig. 8: test error above, training error below, one column per data set."""
    from matplotlib.figure import Figure

    table = tables["fig8"]
    names = [name for name in DATA_SETS if name in set(table.dataset)]
    with house_style():
        figure = Figure(figsize=(0.62 * COLUMN_WIDTH * max(2, len(names)), 4.0), layout="constrained")
        grid = figure.subplots(2, len(names), sharex="col", squeeze=False)
        for column, name in enumerate(names):
            for axes, error in zip(grid[:, column], ("test_error", "train_error"), strict=True):
                own = table[table.dataset == name]
                branches = sorted(set(own.n_branches))
                for number, K in enumerate(branches):
                    part = own[(own.n_branches == K) & (own.neuron == "dendritic")]
                    style = ("-", "--")[number % 2]
                    axes.plot(
                        part.epoch, 100 * part[error], color=PALETTE["polsky"], ls=style, label=f"dendritic, K = {K}"
                    )
                part = own[(own.n_branches == branches[0]) & (own.neuron == "linear")]
                axes.plot(part.epoch, 100 * part[error], color="k", label="one layer")
                band = 100 * part[f"{error}_se"].fillna(0.0)
                axes.fill_between(
                    part.epoch, 100 * part[error] - band, 100 * part[error] + band, color="k", alpha=0.15, lw=0
                )
                axes.set_ylim(bottom=0.0)
            grid[0, column].set_title(DATA_SETS[name], fontsize=7.5)
            grid[0, column].legend(fontsize=6.3)
            grid[1, column].set_xlabel("epoch")
        grid[0, 0].set_ylabel("test error (%)")
        grid[1, 0].set_ylabel("training error (%)")
    return figure
