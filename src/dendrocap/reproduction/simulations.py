"""The simulations of the paper as sweeps: which neurons learn what, and with which hyper-parameters.

Hyper-parameters were chosen on patterns that no figure uses (docs/results/learning.md): for plain gradient descent the
better of two learning rates, for the surrogate its width. The print gives one rate for all, 0.01.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dendrocap.experiments import Sweep
from dendrocap.reproduction.presets import Preset

__all__ = [
    "FLIPS",
    "LINEAR",
    "PLAIN",
    "SHARED_GAMMA_CE",
    "SHARED_RATE",
    "SHARED_SPEED_RATE",
    "SURROGATE",
    "SYNAPTIC_NOISE",
    "image_sweeps",
    "load_sweeps",
    "noise_sweeps",
    "rule_of",
    "speed_sweeps",
    "weight_sweeps",
]

# Which rule a run followed, as tables and legends call it.
LINEAR, PLAIN, SURROGATE = "one layer", "true slope", "surrogate slope"

STEEP_LOSS = 100.0
# Learning rate of plain gradient descent by dendritic threshold, and width of the surrogate.
RATES = {0.01: 0.01, 0.05: 0.1, 0.1: 0.01, 0.3: 0.1, 0.5: 0.1, 1.0: 0.1}
WIDTHS = {0.1: 0.2, 0.3: 0.3, 0.5: 0.3, 1.0: 0.3}
LINEAR_THETA, LINEAR_RATE = 0.5, 0.1

# The print's rate for the comparison of speeds, and one setting for all neurons in the comparison of robustness.
SHARED_SPEED_RATE, SHARED_RATE, SHARED_GAMMA_CE = 0.01, 0.1, 10.0
# Half of a neuron's capacity if it is linear: every neuron can learn that much.
HALF_LOAD = 0.5
SPEED_THRESHOLDS = (0.01, 0.05, 0.1, 0.3)
FLIPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
SYNAPTIC_NOISE = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)

IMAGES = {"mnist": (7, 49), "fashion-mnist": (7, 49), "cifar10": (8, 72), "cifar10-odd-even": (8,)}


def load_sweeps(preset: Preset) -> list[Sweep]:
    """Training error against the load, with learning rates that are halved on plateaus."""
    how = {"patience": preset.patience, "max_epochs": preset.capacity_epochs, "gamma_ce": STEEP_LOSS}
    loads = {"alpha": preset.loads}
    sweeps = [_sweep("train", preset, loads, {**_linear(preset), **how, "learning_rate": LINEAR_RATE})]
    for rate, thresholds in _by_rate(preset.thresholds).items():
        grid = {"theta_d": thresholds, **loads}
        sweeps.append(_sweep("train", preset, grid, {**_dendritic(preset), **how, "learning_rate": rate}))
    for theta_d in preset.surrogate_thresholds:
        own = {**_dendritic(preset), **how, **_surrogate(theta_d)}
        sweeps.append(_sweep("train", preset, {"theta_d": [theta_d], **loads}, own))
    return sweeps


def speed_sweeps(preset: Preset) -> list[Sweep]:
    """Epochs to zero error at half load, for several learning rates."""
    how = {"alpha": HALF_LOAD, "max_epochs": preset.speed_epochs, "gamma_ce": STEEP_LOSS}
    rates = {"learning_rate": preset.speed_rates}
    return [
        _sweep("learning_speed", preset, rates, {**_linear(preset), **how}),
        _sweep("learning_speed", preset, {"theta_d": SPEED_THRESHOLDS, **rates}, {**_dendritic(preset), **how}),
    ]


def noise_sweeps(preset: Preset) -> list[Sweep]:
    """Error under noise: all neurons trained alike to their first zero error, and on past it in several ways."""
    how = {
        "alpha": HALF_LOAD,
        "max_epochs": preset.noise_epochs,
        "samples": preset.noise_samples,
        "flip_probabilities": FLIPS,
        "noise_amplitudes": SYNAPTIC_NOISE,
    }
    shared = {"learning_rate": [SHARED_RATE], "gamma_ce": [SHARED_GAMMA_CE]}
    tuned = {"learning_rate": preset.noise_rates, "gamma_ce": preset.noise_gammas}
    sweeps = []
    for settings, first_zero in ((shared, True), (tuned, False)):
        own = {**how, "stop_when_solved": first_zero}
        sweeps.append(_sweep("robustness", preset, settings, {**_linear(preset), **own}))
        grid = {"theta_d": SPEED_THRESHOLDS, **settings}
        sweeps.append(_sweep("robustness", preset, grid, {**_dendritic(preset), **own}))
    return sweeps


def weight_sweeps(preset: Preset) -> list[Sweep]:
    """Weights at rest over a range of loads that ends above every algorithmic capacity."""
    how = {"patience": preset.patience // 2, "max_epochs": preset.weight_epochs, "gamma_ce": STEEP_LOSS}
    loads = {"alpha": [load for load in preset.loads if 0.6 <= load <= 1.6]}
    below = {"alpha": [load for load in preset.loads if 0.6 <= load <= 1.2]}
    sweeps = [_sweep("learned_weights", preset, below, {**_linear(preset), **how, "learning_rate": LINEAR_RATE}, 3)]
    for rate, thresholds in _by_rate(preset.thresholds).items():
        own = {**_dendritic(preset), **how, "learning_rate": rate}
        sweeps.append(_sweep("learned_weights", preset, {"theta_d": thresholds, **below}, own, 3))
    for theta_d in preset.surrogate_thresholds[-1:]:
        own = {**_dendritic(preset), **how, **_surrogate(theta_d)}
        sweeps.append(_sweep("learned_weights", preset, {"theta_d": [theta_d], **loads}, own, 3))
    return sweeps


def image_sweeps(preset: Preset) -> list[Sweep]:
    """Dendritic against linear neuron on images, with the numbers of branches of the appendix and of the caption."""
    every = max(1, preset.image_epochs // 20)
    own: dict[str, Any] = {"max_epochs": preset.image_epochs, "every": every}
    if preset.images is not None:
        own["n_train"] = preset.images
    return [
        Sweep("generalise", {"n_branches": branches}, {"dataset": dataset, **own}, range(preset.image_seeds))
        for dataset, branches in IMAGES.items()
    ]


def rule_of(parameters: Mapping[str, Any]) -> str:
    """Which rule a run with these parameters followed."""
    if parameters.get("nonlinearity") == "linear":
        return LINEAR
    return SURROGATE if "surrogate_width" in parameters else PLAIN


def _sweep(
    job: str, preset: Preset, grid: Mapping[str, Any], parameters: Mapping[str, Any], most_seeds: int | None = None
) -> Sweep:
    return Sweep(job, grid, parameters, range(min(preset.seeds, most_seeds or preset.seeds)))


def _linear(preset: Preset) -> dict[str, Any]:
    return {"nonlinearity": "linear", "theta_d": LINEAR_THETA, "n_inputs": preset.n_inputs}


def _dendritic(preset: Preset) -> dict[str, Any]:
    return {"theta_s": 0.5, "n_inputs": preset.n_inputs, "n_branches": preset.n_branches}


def _surrogate(theta_d: float) -> dict[str, Any]:
    return {"learning_rate": max(0.05, 2.0 * theta_d), "surrogate_width": WIDTHS[theta_d]}


def _by_rate(thresholds: tuple[float, ...]) -> dict[float, list[float]]:
    grouped: dict[float, list[float]] = {}
    for theta_d in thresholds:
        grouped.setdefault(RATES[theta_d], []).append(theta_d)
    return grouped
