"""The size of a reproduction: `quick` takes minutes, `paper` has the sizes of the paper.

The theory is exact in both. Simulations of the quick preset have fewer synapses, but the same number per branch as in
the paper (37), on which finite-size effects depend most.
"""

from __future__ import annotations

from dataclasses import dataclass

from dendrocap.display import Displayed

__all__ = ["FULL_SIZE", "PRESETS", "RunSize"]


@dataclass(frozen=True)
class RunSize(Displayed):
    """Sizes of all simulations.

    Parameters
    ----------
    name : str
        Name of the preset.
    n_inputs, n_branches, seeds : int
        Size and repetitions of every simulation with random patterns.
    thresholds, surrogate_thresholds : tuple of float
        Dendritic thresholds trained with the true slope of g, and with a surrogate.
    loads : tuple of float
        Patterns per synapse at which the training error is measured.
    patience, capacity_epochs : int
        Epochs without improvement before the rate is halved, and maximum number of epochs, at each load.
    speed_rates : tuple of float
        Learning rates among which the best is chosen for each neuron.
    speed_epochs, noise_epochs : int
        Maximum epochs of the speed measurement, and epochs of the runs whose robustness is measured.
    noise_rates, noise_gammas : tuple of float
        Learning rates and steepnesses of the loss among which the most robust neuron is chosen.
    noise_samples : int
        Number of noise samples per neuron and strength.
    weight_epochs : int
        Maximum epochs of the runs whose weights are measured.
    images : int or None
        Number of training images; None for all.
    image_epochs, image_seeds : int
        Epochs and number of runs on images.
    bootstrap : int
        Number of bootstrap samples for the error bars of the fit to measured synapses.

    Examples
    --------
    >>> from dendrocap.reproduction import PRESETS
    >>> PRESETS["paper"].n_inputs, PRESETS["paper"].n_branches, PRESETS["paper"].seeds
    (999, 27, 10)
    """

    _displayed = ("name", "n_inputs", "n_branches", "seeds", "patience")

    name: str
    n_inputs: int
    n_branches: int
    seeds: int
    thresholds: tuple[float, ...]
    surrogate_thresholds: tuple[float, ...]
    loads: tuple[float, ...]
    patience: int
    capacity_epochs: int
    speed_rates: tuple[float, ...]
    speed_epochs: int
    noise_epochs: int
    noise_rates: tuple[float, ...]
    noise_gammas: tuple[float, ...]
    noise_samples: int
    weight_epochs: int
    images: int | None
    image_epochs: int
    image_seeds: int
    bootstrap: int

    @property
    def words(self) -> str:
        """The size of a simulation as text, for captions."""
        return f"N = {self.n_inputs}, K = {self.n_branches}, {self.seeds} seeds"


QUICK = RunSize(
    name="quick",
    n_inputs=333,
    n_branches=9,
    seeds=3,
    thresholds=(0.01, 0.05, 0.1, 0.3, 1.0),
    surrogate_thresholds=(0.1, 1.0),
    loads=(0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6),
    patience=200,
    capacity_epochs=3000,
    speed_rates=(0.01, 0.1, 1.0),
    speed_epochs=2000,
    noise_epochs=500,
    noise_rates=(0.1,),
    noise_gammas=(1.0, 10.0),
    noise_samples=5,
    weight_epochs=6000,
    images=2000,
    image_epochs=20,
    image_seeds=2,
    bootstrap=200,
)

PAPER = RunSize(
    name="paper",
    n_inputs=999,
    n_branches=27,
    seeds=10,
    thresholds=(0.01, 0.05, 0.1, 0.3, 0.5, 1.0),
    surrogate_thresholds=(0.1, 0.5, 1.0),
    loads=(0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.2),
    patience=1000,
    capacity_epochs=10_000,
    speed_rates=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    speed_epochs=3000,
    noise_epochs=2000,
    noise_rates=(0.1, 1.0),
    noise_gammas=(0.3, 1.0, 3.0, 10.0, 30.0),
    noise_samples=10,
    weight_epochs=30_000,
    images=None,
    image_epochs=100,
    image_seeds=10,
    bootstrap=1000,
)

PRESETS = {size.name: size for size in (QUICK, PAPER)}
FULL_SIZE = PAPER.name
