"""The small pictures of docs/what_holds.md, each from stored tables; `python -m studies.what_holds` writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import LABELS, ONE_STEP, PALETTE, SYMMETRIC, drawing_axes
from dendrocap.model import Linear, Polsky, ReLU, SaturatingReLU
from dendrocap.reproduction import fig08, read_tables
from dendrocap.reproduction import shared as sim
from dendrocap.reproduction.shared import of
from studies import capacity_of_a_real_neuron as real_neuron
from studies.numbers import PAPER, reproduction
from studies.tables import loads_reached, stored

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DENDRITES, ONE_LAYER = PALETTE[Polsky.name], PALETTE[Linear.name]
BEST: dict[str, Any] = {"fmt": "D", "ms": 3.0, "capsize": 1.5, "lw": 1.0, "color": DENDRITES, "mfc": "w"}
SOLVED: dict[str, Any] = {"marker": "o", "ms": 3.0, "ls": "none", "color": "k", "label": "solved"}
THETA_D = r"$\theta_d$"


@contextmanager
def picture() -> Iterator[tuple[Figure, Any]]:
    """A small figure with one pair of axes, to be filled."""
    with drawing_axes(2.6 / 3.4, 1.7) as (figure, axes):
        yield figure, axes
        axes.tick_params(labelsize=7)
        axes.xaxis.label.set_size(8)
        axes.yaxis.label.set_size(8)


def of_paper(name: str) -> pd.DataFrame:
    """A table of the stored reproduction."""
    return read_tables(PAPER, [name])[name]


def best(column: str) -> list[float]:
    """A column of the study of 999 synapses on 27 branches."""
    return [float(row[column]) for row in stored(real_neuron.TABLE)]


def small(axes: Any, **where: Any) -> None:
    """A legend that leaves room for the curves."""
    axes.legend(fontsize=6.5, handlelength=1.6, borderaxespad=0.2, labelspacing=0.25, **where)


def capacity() -> Figure:
    """The paper's capacity, the best estimate, loads solved, one layer."""
    with picture() as (figure, axes):
        x = best("theta_d")
        axes.plot(x, best("replica_symmetric"), color=DENDRITES, **SYMMETRIC | {"label": "the paper"})
        axes.errorbar(x, best("best"), best("error"), label="best estimate", **BEST)
        axes.plot(*zip(*sorted(loads_reached().items()), strict=True), **SOLVED)
        axes.axhline(1.0, color=ONE_LAYER, lw=0.8, label="one layer")
        axes.set(xlim=(0.0, 1.03), ylim=(0.0, 5.0), xlabel=THETA_D, ylabel="patterns / synapse")
        small(axes, loc="upper right", bbox_to_anchor=(1.02, 1.06))
    return figure


def speed() -> Figure:
    """Epochs to zero error against the learning rate."""
    epochs = of_paper("fig4_epochs")
    with picture() as (figure, axes):
        for line in sim.lines(epochs):
            own = line.of(epochs)
            own = own[np.isfinite(own.median_epochs)]
            if len(own) and (line.rule == sim.LINEAR or line.theta_d <= sim.TRAINABLE):
                axes.plot(own.learning_rate, own.median_epochs, marker=line.marker, ms=2.5, lw=1.0, **line.look)
        axes.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="epochs to zero error")
        small(axes, loc="upper right", ncols=2, columnspacing=0.8)
        axes.set_ylim(top=1.2e4)
    return figure


def growth() -> Figure:
    """The saturating ReLU: proportional to theta_d in replica symmetry only."""
    symmetric, broken = of(of_paper("fig9"), SaturatingReLU), of(of_paper("fig9_rsb"), SaturatingReLU)
    symmetric = symmetric[symmetric.theta_d <= broken.theta_d.max()]
    with picture() as (figure, axes):
        colour = PALETTE[SaturatingReLU.name]
        axes.plot(symmetric.theta_d, symmetric.alpha_c, color=colour, **SYMMETRIC)
        axes.plot(broken.theta_d, broken.alpha_c, color=colour, **ONE_STEP | {"label": "broken symmetry"})
        axes.set(xscale="log", yscale="log", xlabel=THETA_D, ylabel="capacity")
        small(axes, loc="upper left", title=LABELS[SaturatingReLU.name], title_fontsize=6.5)
    return figure


def logarithm() -> Figure:
    """The growth of the ReLU's capacity per unit of the logarithm, in replica symmetry and with one step."""
    symmetric, broken = of(of_paper("fig9"), ReLU), of(of_paper("fig9_rsb"), ReLU)
    printed = of_paper("fig9_slopes").set_index("nonlinearity").printed[ReLU.name]
    with picture() as (figure, axes):
        for table, look in ((symmetric, SYMMETRIC), (broken, ONE_STEP | {"label": "broken symmetry"})):
            slope = np.gradient(table.alpha_c, np.log(table.theta_d))
            axes.plot(table.theta_d, slope, color=PALETTE[ReLU.name], **look)
        axes.axhline(printed, color="0.5", ls=":", lw=1.0, label=f"printed, {printed:g}")
        ylabel = r"$d\alpha_c / d\ln\theta_d$"
        axes.set(xscale="log", ylim=(0.0, 1.1), xlabel=f"{THETA_D} ({LABELS[ReLU.name]})", ylabel=ylabel)
        small(axes, loc="lower right")
    return figure


def silent() -> Figure:
    """Silent fractions at capacity: the paper's, with one step, and the best estimate."""
    symmetric, broken = of(of_paper("fig5"), Polsky), of(of_paper("fig5_rsb"), Polsky)
    with picture() as (figure, axes):
        axes.plot(symmetric.theta_d, symmetric.silent_fraction, color=DENDRITES, **SYMMETRIC | {"label": "the paper"})
        axes.plot(broken.theta_d, broken.silent_fraction, color=DENDRITES, **ONE_STEP | {"label": "broken symmetry"})
        axes.errorbar(best("theta_d"), best("silent_fraction"), best("silent_error"), label="best estimate", **BEST)
        axes.axhline(0.5, color=ONE_LAYER, lw=0.8, label="one layer")
        axes.set(xscale="log", xlim=(0.008, 1.3), ylim=(0.0, 1.25), xlabel=THETA_D, ylabel="silent fraction")
        axes.set_yticks([0.0, 0.5, 1.0])
        small(axes, loc="upper left", ncols=2, columnspacing=0.8)
    return figure


def weights() -> Figure:
    """Silent weights in the solutions at the largest load that each seed solved."""
    runs = of_paper("weights")
    solved = runs[runs.last_errors == 0]
    solved = solved.loc[solved.groupby(["rule", "theta_d", "seed"], sort=False).alpha.idxmax()]
    with picture() as (figure, axes):
        for rule, marker, fill in ((sim.PLAIN, "o", "k"), (sim.SURROGATE, "^", "w")):
            own = solved[solved.rule == rule]
            axes.plot(own.theta_d, own.near_zeros, marker, ms=3.5, color="k", mfc=fill, label=rule)
        linear = float(solved[solved.rule == sim.LINEAR].near_zeros.mean())
        axes.axhline(linear, color=ONE_LAYER, lw=0.8, label="one layer")
        axes.axhline(0.7, color="0.5", ls=":", lw=1.0, label="printed, 70 %")
        axes.set(xscale="log", xlim=(0.008, 1.3), ylim=(0.0, 1.15), xlabel=THETA_D, ylabel="silent weights found")
        small(axes, loc="upper left", ncols=2, columnspacing=0.8)
    return figure


def noise() -> Figure:
    """Errors added to the linear neuron minus those added to the dendritic one, for both settings."""
    judged = {one.claim.id: one.measured for one in reproduction().judged}
    shown = {"shared": ("robust-to-flips", "robust-to-synaptic-noise")}
    shown["each at\nits best"] = ("robust-to-flips-tuned", "robust-to-synaptic-noise-tuned")
    with picture() as (figure, axes):
        for at, (marker, label) in enumerate((("o", "flipped inputs"), ("^", "noisy synapses"))):
            found = [judged[claims[at]] for claims in shown.values()]
            places = np.arange(len(found)) + 0.12 * (2 * at - 1)
            values, errors = ([100.0 * getattr(one, name) for one in found] for name in ("value", "error"))
            look = {"fmt": marker, "ms": 4.0, "color": "k", "mfc": "kw"[at], "capsize": 2.0, "label": label}
            axes.errorbar(places, values, errors, **look)
        axes.axhline(0.0, color="0.5", lw=0.8)
        axes.set_xticks(range(len(shown)), labels=list(shown))
        axes.set(xlim=(-0.6, 1.6), ylabel="advantage of\ndendrites (% of errors)")
        small(axes, loc="upper right")
    return figure


def synapses() -> Figure:
    """Measured amplitudes, the fit in the paper's way and by likelihood, and the printed one."""
    bins, density = of_paper("fig6_histogram"), of_paper("fig6_density")
    with picture() as (figure, axes):
        axes.stairs(bins.density, [*bins.left_mv, bins.right_mv.iloc[-1]], fill=True, color="0.8", label="measured")
        axes.plot(density.epsp_mv, density.likelihood, color=DENDRITES, lw=1.2, label="fitted")
        axes.plot(density.epsp_mv, density.printed, color=DENDRITES, ls=":", lw=1.2, label="printed")
        axes.set(xlim=(0.0, 4.0), xlabel="amplitude (mV)", ylabel="density (1/mV)")
        axes.set_ylim(bottom=0.0)
        small(axes, loc="upper right")
    return figure


def bound() -> Figure:
    """Loads solved and best estimates in units of the capacity that is said to bound them."""
    paper = dict(zip(best("theta_d"), best("replica_symmetric"), strict=True))
    with picture() as (figure, axes):
        x, alpha_rs = np.array(list(paper)), np.array(list(paper.values()))
        axes.errorbar(x, best("best") / alpha_rs, best("error") / alpha_rs, label="best estimate", **BEST)
        reached = loads_reached()
        axes.plot(list(reached), [load / paper[theta_d] for theta_d, load in reached.items()], **SOLVED)
        axes.axhline(1.0, color=DENDRITES, **SYMMETRIC | {"label": "the paper's bound"})
        axes.set(xscale="log", ylim=(0.0, 2.0), xlabel=THETA_D, ylabel="load / bound")
        small(axes, loc="upper right")
    return figure


def generalisation() -> Figure:
    """Test errors after the last epoch: dendrites with either number of branches, and three forms of one layer."""
    table, logistic = of_paper("fig8"), of_paper("fig8_logistic").set_index("dataset")
    last = table[table.epoch == table.groupby("dataset").epoch.transform("max")]
    names = {fig08.MNIST: "MNIST", fig08.FASHION: "Fashion", fig08.CIFAR: "CIFAR-10"}
    looks = {
        "dendrites": {"marker": "o", "color": DENDRITES},
        "linear, own best": {"marker": "s", "color": ONE_LAYER},
        "linear, shared": {"marker": "s", "color": "0.6", "mfc": "w"},
        "logistic, weights ≥ 0": {"marker": "_", "color": ONE_LAYER, "mew": 1.5, "ms": 9.0},
    }
    with picture() as (figure, axes):
        for place, dataset in enumerate(names):
            own = last[last.dataset == dataset]
            linear = own[own.n_branches == fig08.NONE]
            errors = {
                "dendrites": own[own.n_branches != fig08.NONE].test_error,
                "linear, own best": linear[linear.settings == fig08.OWN].test_error,
                "linear, shared": linear[linear.settings == fig08.SHARED].test_error,
                "logistic, weights ≥ 0": [logistic.test_error[dataset]],
            }
            for at, (label, values) in enumerate(errors.items()):
                x = np.full(len(values), place + 0.16 * (at - 1.5))
                look = {"ls": "none", "ms": 3.5, **looks[label]}
                axes.plot(x, 100.0 * np.asarray(values), label=label if place == 0 else None, **look)
        axes.set_xticks(range(len(names)), labels=list(names.values()))
        axes.set(xlim=(-0.5, 2.5), ylabel="test error (%)")
        axes.set_ylim(bottom=0.0, top=1.45 * axes.get_ylim()[1])
        small(axes, loc="upper left")
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    draw.__name__: draw
    for draw in (capacity, speed, growth, logarithm, silent, weights, noise, generalisation, synapses, bound)
}
