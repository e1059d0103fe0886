"""The figures of the paper: what each computes, draws and measures, and how one asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.experiments import Sweep
from dendrocap.figures import architecture, capacity_panels, data_panels, learning_panels
from dendrocap.reproduction import data_figures, learning_figures, simulations, theory_figures
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.learning_figures import Results
from dendrocap.reproduction.presets import Preset
from dendrocap.reproduction.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

# A function that draws; only the figures themselves know Matplotlib.
Drawing = Callable[[Tables], Any]

__all__ = ["FIGURES", "PaperFigure", "selected"]


def _no_sweeps(preset: Preset) -> list[Sweep]:
    return []


@dataclass(frozen=True)
class PaperFigure(Displayed):
    """A figure of the paper.

    Attributes
    ----------
    name, alias : str
        Number and word by which it can be asked for.
    title : str
        What it shows.
    tables : callable
        Its data, from a preset, the finished cells of its sweeps, and nothing else.
    draw : callable
        The figure, from its tables.
    measure : callable
        The measurements that claims refer to, from its tables.
    settings : callable
        How large it is in a preset, in words.
    sweeps : callable
        The simulations that it needs.
    datasets : tuple of str
        Image sets that must be on this machine.
    minutes : dict
        How long it takes on two cores in each preset, as measured.

    Examples
    --------
    >>> from dendrocap.reproduction import PRESETS, selected
    >>> (figure,) = selected(["fig2c"])
    >>> figure.alias, figure.settings(PRESETS["quick"])
    ('capacity-x-min', 'exact, the same in all presets')
    >>> list(figure.tables(PRESETS["quick"], {}))
    ['fig2c']
    """

    _displayed = ("name", "title", "minutes")

    name: str
    alias: str
    title: str
    tables: Callable[[Preset, Results], dict[str, pd.DataFrame]]
    draw: Drawing
    measure: Callable[[Tables], dict[str, Measured]]
    settings: Callable[[Preset], str]
    sweeps: Callable[[Preset], list[Sweep]] = _no_sweeps
    minutes: dict[str, float] = field(default_factory=dict)
    datasets: tuple[str, ...] = ()


def _exact(preset: Preset) -> str:
    return "exact, the same in all presets"


def _theory(
    name: str,
    alias: str,
    title: str,
    compute: Callable[[], dict[str, pd.DataFrame]],
    draw: Drawing,
    measure: Callable[[Tables], dict[str, Measured]],
    seconds: float,
) -> PaperFigure:
    return PaperFigure(
        name,
        alias,
        title,
        lambda preset, results: compute(),
        draw,
        measure,
        _exact,
        minutes={"quick": seconds / 60, "paper": seconds / 60},
    )


def _simulation(
    name: str,
    alias: str,
    title: str,
    sweeps: Callable[[Preset], list[Sweep]],
    compute: Callable[[Sequence[Sweep], Results], dict[str, pd.DataFrame]],
    draw: Drawing,
    measure: Callable[[Tables], dict[str, Measured]],
    settings: Callable[[Preset], str],
    minutes: dict[str, float],
    datasets: tuple[str, ...] = (),
) -> PaperFigure:
    return PaperFigure(
        name,
        alias,
        title,
        lambda preset, results: compute(sweeps(preset), results),
        draw,
        measure,
        settings,
        sweeps,
        minutes,
        datasets,
    )


FIGURES: tuple[PaperFigure, ...] = (
    _theory(
        "fig1",
        "neuron",
        "The neuron and its dendritic non-linearity",
        theory_figures.sketch,
        architecture.draw_architecture,
        theory_figures.measure_sketch,
        1,
    ),
    _theory(
        "fig2a",
        "capacity-theta-d",
        "Critical capacity against the dendritic threshold",
        theory_figures.capacity_against_theta_d,
        capacity_panels.draw_capacity_against_theta_d,
        theory_figures.measure_theta_d,
        1,
    ),
    _theory(
        "fig2b",
        "capacity-theta-s",
        "Critical capacity against the somatic threshold",
        theory_figures.capacity_against_theta_s,
        capacity_panels.draw_capacity_against_theta_s,
        theory_figures.measure_theta_s,
        1,
    ),
    _theory(
        "fig2c",
        "capacity-x-min",
        "Critical capacity against the onset of the sigmoid",
        theory_figures.capacity_against_x_min,
        capacity_panels.draw_capacity_against_x_min,
        theory_figures.measure_x_min,
        1,
    ),
    _theory(
        "fig2d",
        "capacity-gamma",
        "Critical capacity against the steepness of the sigmoid",
        theory_figures.capacity_against_gamma,
        capacity_panels.draw_capacity_against_gamma,
        theory_figures.measure_gamma,
        1,
    ),
    _simulation(
        "fig3",
        "algorithmic-capacity",
        "Training error and algorithmic capacity of gradient descent",
        simulations.load_sweeps,
        learning_figures.algorithmic_capacity,
        learning_panels.draw_algorithmic_capacity,
        learning_figures.measure_algorithmic_capacity,
        lambda p: f"{p.size}, patience {p.patience}, at most {p.capacity_epochs} epochs, tolerance zero",
        {"quick": 0.5, "paper": 60},
    ),
    _simulation(
        "fig4",
        "speed",
        "Learning speed at half load",
        simulations.speed_sweeps,
        learning_figures.learning_speed,
        learning_panels.draw_learning_speed,
        learning_figures.measure_learning_speed,
        lambda p: f"{p.size}, load 0.5, at most {p.speed_epochs} epochs",
        {"quick": 0.1, "paper": 0.5},
    ),
    _theory(
        "fig5",
        "sparsity",
        "Silent synapses at capacity against the dendritic threshold",
        theory_figures.sparsity,
        capacity_panels.draw_sparsity,
        theory_figures.measure_sparsity,
        6,
    ),
    PaperFigure(
        "fig6",
        "synapses",
        "Measured synapses of Song et al. (2005) and the fitted distribution",
        lambda preset, results: data_figures.synapses(preset.bootstrap),
        data_panels.draw_synapses,
        data_figures.measure_synapses,
        lambda p: f"931 amplitudes, {p.bootstrap} bootstrap samples",
        minutes={"quick": 0.1, "paper": 0.2},
    ),
    _simulation(
        "fig7",
        "noise",
        "Robustness to input and synaptic noise",
        simulations.noise_sweeps,
        learning_figures.robustness,
        learning_panels.draw_noise,
        learning_figures.measure_robustness,
        lambda p: f"{p.size}, load 0.5, {p.noise_epochs} epochs, {p.noise_samples} samples of noise",
        {"quick": 0.1, "paper": 3},
    ),
    _simulation(
        "fig8",
        "images",
        "Generalisation on MNIST, Fashion-MNIST and CIFAR-10",
        simulations.image_sweeps,
        data_figures.images,
        data_panels.draw_images,
        data_figures.measure_images,
        lambda p: f"{p.images or 'all'} training images, {p.image_epochs} epochs, {p.image_seeds} seeds",
        {"quick": 0.6, "paper": 20},
        ("mnist", "fashion-mnist", "cifar10"),
    ),
    _theory(
        "fig9",
        "asymptotes",
        "Growth of the capacity at large dendritic thresholds",
        theory_figures.asymptotes,
        capacity_panels.draw_asymptotes,
        theory_figures.measure_asymptotes,
        5,
    ),
    _theory(
        "fig10",
        "sparsity-shape",
        "Silent synapses at capacity against x_min, γ and θ_s",
        theory_figures.sparsity_shape,
        capacity_panels.draw_sparsity_shape,
        theory_figures.measure_sparsity_shape,
        1,
    ),
    _simulation(
        "weights",
        "learned-weights",
        "Weights at algorithmic capacity",
        simulations.weight_sweeps,
        learning_figures.learned_weights,
        learning_panels.draw_learned_weights,
        learning_figures.measure_learned_weights,
        lambda p: (
            f"N = {p.n_inputs}, K = {p.n_branches}, {min(3, p.seeds)} seeds, "
            f"at most {p.weight_epochs} epochs, "
            "trained until the learning rate is at its floor"
        ),
        {"quick": 0.3, "paper": 10},
    ),
)


def selected(names: Sequence[str]) -> tuple[PaperFigure, ...]:
    """The figures asked for, in the order of the paper: by name, word or number; a number stands for all its panels.

    Examples
    --------
    >>> [figure.name for figure in selected(["2", "speed", "fig9"])]
    ['fig2a', 'fig2b', 'fig2c', 'fig2d', 'fig4', 'fig9']
    """
    if not names:
        return FIGURES
    wanted: set[str] = set()
    for text in names:
        word = text.strip().lower()
        number = word.removeprefix("fig").removeprefix(".").strip()
        found = {f.name for f in FIGURES if word in (f.name, f.alias) or f.name == f"fig{number}"}
        if not found and number.isdecimal():
            found = {f.name for f in FIGURES if f.name.removeprefix(f"fig{number}") in ("a", "b", "c", "d")}
        if not found:
            known = ", ".join(f"{figure.name} ({figure.alias})" for figure in FIGURES)
            raise InvalidParameter(f"there is no figure {text!r}: choose among {known}")
        wanted |= found
    return tuple(figure for figure in FIGURES if figure.name in wanted)
