"""Fig. 7: robustness to input and synaptic noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dendrocap.figures.style import AXIS_LABELS, drawing, footnote
from dendrocap.model import Linear, NeuronSpec, Polsky
from dendrocap.reproduction import shared as sim
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.runs import PATTERNS, PaperFigure, Records, RunSize, Tables, register
from dendrocap.sweeps import Sweep
from dendrocap.theory import learned_state, least_noise_error, maximal_margin, noise_error, saddle_point

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TABLES = (NOISE, THEORY) = ("fig7", "fig7_theory")
# Training: equal settings for all up to the first zero error, or the best settings of each and continued beyond it.
SHARED, OWN = "shared", "own"
INPUTS, SYNAPSES = "inputs", "synapses"
SHARED_RATE, SHARED_GAMMA_CE = 0.1, 10.0
FLIPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
SYNAPTIC_NOISE = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
# States of the theory, each with the training that comes nearest to it, and the width of its line.
TYPICAL, MARGIN, LEARNED, BEST = "typical", "largest margin", "least loss", "best possible"
LINES = {TYPICAL: (SHARED, "-", 1.2), MARGIN: (OWN, "-", 0.6), LEARNED: (OWN, "-", 1.4), BEST: (OWN, ":", 1.2)}
THEORY_THRESHOLD = 0.05  # threshold of the dendritic neuron for which lines are drawn
NOTE = (
    "Lines: replica symmetric, many long branches; linear and θ_d = 0.05. Above: typical solutions. Below: least loss "
    "(thick), largest margin κ/√Γ₀ (thin), best possible against flips (dotted)."
)


def sweeps(size: RunSize) -> list[Sweep]:
    """Error under noise: equal training up to the first zero error, and several continuations beyond it."""
    how = {
        "alpha": sim.HALF_LOAD,
        "max_epochs": size.noise_epochs,
        "samples": size.noise_samples,
        "flip_probabilities": FLIPS,
        "noise_amplitudes": SYNAPTIC_NOISE,
    }
    alike = {"learning_rate": [SHARED_RATE], "gamma_ce": [SHARED_GAMMA_CE]}
    tuned = {"learning_rate": size.noise_rates, "gamma_ce": size.noise_gammas}
    found = []
    for settings, first_zero in ((alike, True), (tuned, False)):
        own = {**how, "stop_when_solved": first_zero}
        grid = {"theta_d": sim.SMALL_THRESHOLDS, **settings}
        found += [
            Sweep("robustness", settings, {**sim.linear(size), **own}, range(size.seeds)),
            Sweep("robustness", grid, {**sim.dendritic(size), **own}, range(size.seeds)),
        ]
    return found


def tables(size: RunSize, records: Records) -> Tables:
    """Error against the strength of the noise: equal training for all, and the best settings of each.

    "Best" is chosen for each strength among the settings that every seed solved, by the measured error itself, and for
    all neurons from the same list, so that the selection bias is the same for all.
    """
    import pandas as pd

    how = ("learning_rate", "gamma_ce")
    runs = sim.runs(records, (*how, "stop_when_solved"), ("error", "flip_error", "noise_error"))
    rows = [
        {
            "settings": SHARED if run.stop_when_solved else OWN,
            "rule": run.rule,
            "theta_d": run.theta_d,
            "noise": noise,
            "level": level,
            **{name: getattr(run, name) for name in how},
            "increase": error - run.error,
            "baseline": run.error,
        }
        for run in runs.itertuples()
        for noise, levels, errors in (
            (INPUTS, FLIPS, run.flip_error),
            (SYNAPSES, SYNAPTIC_NOISE, run.noise_error),
        )
        for level, error in zip(levels, errors, strict=True)
    ]
    noisy = pd.DataFrame(rows)
    place = ["settings", "rule", "theta_d", "noise", "level"]
    means = sim.averaged(noisy, [*place, *how], "increase")
    means["baseline"] = noisy.groupby([*place, *how], sort=False).baseline.mean().to_numpy()
    allowed = means[(means.baseline == 0.0) | (means.settings == SHARED)]
    best = allowed.loc[allowed.groupby(place, sort=False).increase.idxmin()]
    return {NOISE: best.reset_index(drop=True), THEORY: _theory(size)}


def _theory(size: RunSize) -> pd.DataFrame:
    """Errors that noise adds in the replica-symmetric states at the same load, for many long branches.

    Synaptic noise shifts the means as in a neuron of this size. The loss has the best steepness of the list used in the
    simulations at which fewer than half a pattern would be wrong without noise.
    """
    import pandas as pd

    linear = NeuronSpec(Linear(), sim.LINEAR_THETA, 0.5)
    dendritic = NeuronSpec(Polsky(), THEORY_THRESHOLD, 0.5)
    sizes = {"n_branches": size.n_branches, "branch_size": size.n_inputs // size.n_branches}
    rows = []
    for rule, neuron in ((sim.LINEAR, linear), (sim.PLAIN, dendritic)):
        learned = [learned_state(neuron, alpha=sim.HALF_LOAD, gamma_ce=gamma_ce) for gamma_ce in size.noise_gammas]
        states: dict[str, list[Any]] = {
            TYPICAL: [saddle_point(neuron, alpha=sim.HALF_LOAD)],
            MARGIN: [maximal_margin(neuron, alpha=sim.HALF_LOAD, criterion="relative")],
            LEARNED: [one for one in learned if one.training_error * sim.HALF_LOAD * size.n_inputs < 0.5],
        }
        for noise, levels in ((INPUTS, FLIPS), (SYNAPSES, SYNAPTIC_NOISE)):
            for level in levels:
                how: dict[str, Any] = {"flips" if noise == INPUTS else "synaptic": level, **sizes}
                added = {
                    state: min(noise_error(one, **how) - noise_error(one) for one in found)
                    for state, found in states.items()
                    if found
                }
                if noise == INPUTS:  # the bound does not account for a shift of the means
                    added[BEST] = least_noise_error(neuron, alpha=sim.HALF_LOAD, flips=level)
                place = {"rule": rule, "theta_d": neuron.theta_d, "noise": noise, "level": level}
                rows += [{"state": state, **place, "increase": increase} for state, increase in added.items()]
    return pd.DataFrame(rows)


def draw(tables: Tables) -> Figure:
    """Errors that noise adds, with equal training (above) and with the best settings of each (below), and theory."""
    table, theory = tables[NOISE], tables[THEORY]
    columns = ((INPUTS, "flip_probability"), (SYNAPSES, "noise_amplitude"))
    rows = ((SHARED, "same settings, first zero error"), (OWN, "own settings, trained on"))
    with drawing(2, 4.4) as figure:
        grid = figure.subplots(2, 2, sharex="col", sharey=True)
        for panels, (settings, title) in zip(grid, rows, strict=True):
            for axes, (noise, level) in zip(panels, columns, strict=True):
                part = table[(table.settings == settings) & (table.noise == noise)]
                for line in sim.lines(table):
                    own = line.of(part)
                    if len(own):
                        bars = 100 * own.standard_error.fillna(0.0)
                        axes.errorbar(
                            own.level,
                            100 * own.increase,
                            bars,
                            ls="",
                            elinewidth=0.8,
                            ms=3,
                            marker=line.marker,
                            **line.look,
                        )
                    for state, (beside, dashes, width) in LINES.items():
                        at = line.of(theory[(theory.state == state) & (theory.noise == noise)])
                        if beside == settings and len(at):
                            axes.plot(at.level, 100 * at.increase, dashes, lw=width, color=line.color)
                axes.set_title(title, fontsize=8)
                axes.locator_params(axis="x", nbins=5)
                if settings == OWN:
                    axes.set_xlabel(AXIS_LABELS[level])
            panels[0].set_ylabel("errors added (%)")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
        footnote(figure, NOTE)
    return figure


def measure(tables: Tables) -> dict[str, Measured]:
    """Excess error of the linear neuron over the dendritic one, averaged over the strengths of the noise."""
    table = tables[NOISE]
    return {
        f"{settings}_{noise}": _excess(table[(table.settings == settings) & (table.noise == noise)])
        for settings in (SHARED, OWN)
        for noise in (INPUTS, SYNAPSES)
    }


def _excess(table: pd.DataFrame) -> Measured:
    linear = table[table.rule == sim.LINEAR]
    excesses = []
    for theta_d, own in table[(table.rule == sim.PLAIN) & (table.theta_d <= sim.TRAINABLE)].groupby("theta_d"):
        both = own.merge(linear, on="level", suffixes=("", "_linear"))
        difference = both.increase_linear - both.increase
        # The levels use the same trained neurons, so their errors do not average out.
        error = float(np.hypot(both.standard_error, both.standard_error_linear).mean())
        excesses.append((float(difference.mean()), error, theta_d))
    if not excesses:
        return Measured(math.nan, note=sim.UNLEARNED)
    value, error, theta_d = min(excesses)
    listed = ", ".join(f"{mean:+.4f} (θ_d = {at:g})" for mean, _, at in excesses)
    return Measured(value, error, note=f"the least of {listed}")


register(
    PaperFigure(
        "fig7",
        "noise",
        "Robustness to input and synaptic noise",
        PATTERNS,
        sweeps=sweeps,
        tables=tables,
        draw=draw,
        measure=measure,
        settings=lambda size: (
            f"{size.words}, load {sim.HALF_LOAD:g}, {size.noise_epochs} epochs, {size.noise_samples} samples of noise"
        ),
        minutes={"quick": 0.1, "paper": 3},
    )
)
