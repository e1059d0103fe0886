"""A figure of the paper: its computation, drawing and measurements, and its data as CSV files.

Each file states how it was made. Numbers are written with all digits, so that they are read back exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.files import reading, write_file
from dendrocap.reproduction.claims import Measured
from dendrocap.sweeps import Record, Sweep
from dendrocap.validation import choice

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# The size of a reproduction: `quick` takes minutes, `paper` has the sizes of the paper.
#
# The theory is exact in both. Simulations of the quick preset have fewer synapses, but the same number per branch as
# in the paper (37), on which finite-size effects depend most.


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

HERE = Path(__file__).parent

# Where stored tables are: in an installed package, where pyproject.toml puts them, or in the clone it runs from.
RESULTS = {
    "paper": (HERE / "results" / "paper", HERE.parents[2] / "docs" / "results" / "paper"),
    "studies": (HERE / "results" / "studies", HERE.parents[2] / "studies"),
}

# The finished cells of a figure's sweeps, and its tables by name.
Records = Sequence[Record]

Tables = Mapping[str, "pd.DataFrame"]


@dataclass(frozen=True)
class PaperFigure(Displayed):
    """A figure of the paper.

    Attributes
    ----------
    name, alias : str
        Number and alias by which it is selected.
    title : str
        What it shows.
    tables : callable
        Computes its data from the size of the runs and the finished cells of its sweeps.
    draw : callable
        Draws the figure from its tables.
    measure : callable
        Computes the measurements that claims refer to from its tables.
    settings : callable
        Describes its size.
    minutes : dict
        Measured running time on two cores in each preset.
    sweeps : callable
        The simulations that it needs.
    datasets : tuple of str
        Image sets that it shows if they are on this machine.

    Examples
    --------
    >>> from dendrocap.reproduction import PRESETS, selected
    >>> (figure,) = selected(["fig2c"])
    >>> figure.alias, figure.settings(PRESETS["quick"])
    ('capacity-x-min', 'no simulation, the same in all presets')
    >>> list(figure.tables(PRESETS["quick"], []))
    ['fig2c', 'fig2c_rsb']
    """

    _displayed = ("name", "title", "minutes")

    name: str
    alias: str
    title: str
    tables: Callable[[RunSize, Records], Tables]
    draw: Callable[[Tables], Figure]
    measure: Callable[[Tables], dict[str, Measured]]
    settings: Callable[[RunSize], str]
    minutes: dict[str, float]
    sweeps: Callable[[RunSize], list[Sweep]] = lambda size: []
    datasets: tuple[str, ...] = ()


def exact(
    name: str,
    alias: str,
    title: str,
    tables: Callable[[], Tables],
    draw: Callable[[Tables], Figure],
    measure: Callable[[Tables], dict[str, Measured]],
    *,
    seconds: float,
) -> PaperFigure:
    """A figure that follows from the equations alone, independent of the preset."""
    return PaperFigure(
        name,
        alias,
        title,
        tables=lambda size, records: tables(),
        draw=draw,
        measure=measure,
        settings=lambda size: "no simulation, the same in all presets",
        minutes=dict.fromkeys(PRESETS, seconds / 60),
    )


def write_table(path: Path, table: pd.DataFrame, origin: Sequence[str]) -> None:
    """Write a table after comment lines that state its origin; the file appears when it is complete."""
    write_file(path, "".join(f"# {line}\n" for line in origin) + table.to_csv(index=False, lineterminator="\n"))


def read_table(path: Path) -> pd.DataFrame:
    """Read the table in a file, without its comment lines."""
    import pandas as pd

    with reading(path, "a table written by dendrocap"):
        return pd.read_csv(path, comment="#", engine="python")  # the Python engine reads numbers exactly


def read_tables(folder: str | Path, names: Iterable[str]) -> Tables:
    r"""Stored tables by name, such as those of a figure, for its ``draw`` and ``measure``.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap.reproduction import fig01, read_tables, reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(["fig1"], out=folder)
    ...     tables = read_tables(folder, fig01.TABLES)
    >>> list(tables), fig01.draw(tables).axes[1].get_title()
    (['fig1'], 'Polsky: $x_{\\min} = 0.33$, $\\gamma = 15$')
    """
    return {name: read_table(Path(folder) / f"{name}.csv") for name in names}


def stored_results(of: str) -> Path:
    """Folder of the stored tables that come with the package.

    Parameters
    ----------
    of : {"paper", "studies"}
        The paper's figures at full size, or the studies behind the pages of the documentation.

    Raises
    ------
    InvalidParameter
        If this copy of the package has none.

    Examples
    --------
    >>> from dendrocap.reproduction import fig09, read_tables, stored_results
    >>> slopes = read_tables(stored_results("paper"), fig09.TABLES)[fig09.SLOPES]
    >>> slopes.set_index("nonlinearity").exact.round(3).to_dict()
    {'polsky': 9.058, 'saturating_relu': 3.518, 'relu': 0.999}
    """
    places = RESULTS[choice("of", of, tuple(RESULTS))]
    for folder in places:
        if folder.is_dir():
            return folder
    raise InvalidParameter(
        f"the stored tables are missing: neither {' nor '.join(map(str, places))} exists; install the package from a "
        "clone of the repository with pip install ."
    )
