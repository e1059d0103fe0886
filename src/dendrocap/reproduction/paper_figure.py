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
from dendrocap.experiments import Record, Sweep
from dendrocap.files import reading, write_file
from dendrocap.reproduction.claims import Measured
from dendrocap.reproduction.run_size import PRESETS, RunSize
from dendrocap.validation import choice

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["PaperFigure", "Records", "Tables", "exact", "read_table", "read_tables", "stored_results", "write_table"]

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
