"""Strengths of cortical connections from Song et al. (2005): layer-5 pyramidal neurons of rat visual cortex."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed


@dataclass(frozen=True)
class SynapticStrengths(Displayed):
    """Amplitudes of the connections found among the tested pairs."""

    _displayed = ("amplitudes_mv", "n_tested", "citation")

    amplitudes_mv: NDArray[np.float64] = field(repr=False, compare=False)  # read-only
    n_tested: int  # pairs, connected or not; both directions count
    citation: str
    source: str  # of this copy of the data, which the authors ask to be stated


CITATION = (
    "S. Song, P. J. Sjöström, M. Reigl, S. Nelson, D. B. Chklovskii, Highly nonrandom features of synaptic "
    "connectivity in local cortical circuits, PLoS Biology 3(3): e68 (2005), doi:10.1371/journal.pbio.0030068"
)

SOURCE = (
    "Connectivity_v10.xls, offered by the authors on the data page of the Sjöström laboratory, by way of a third "
    "party's parse (GitHub, jigglypop/CE-BRAIN, song2005_inventory_result.json); volts converted to mV. Totals, mean "
    "and median agree with the publication; the spreadsheet itself was not compared."
)


@cache
def song2005() -> SynapticStrengths:
    """The 931 connections that Song et al. (2005) found among 8050 tested pairs.

    Examples
    --------
    >>> data = song2005()
    >>> data.amplitudes_mv.size, data.n_tested, round(float(data.amplitudes_mv.mean()), 2)
    (931, 8050, 0.77)
    """
    text = files("dendrocap.datasets").joinpath("data", "song2005.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    amplitudes = np.array([float(row["epsp_mV"]) for row in rows])
    amplitudes.setflags(write=False)
    return SynapticStrengths(amplitudes, n_tested=8050, citation=CITATION, source=SOURCE)


# A small reconstruction for examples.


def example_cell() -> Path:
    """The file of an invented cell with two basal and three apical branches, for trying `cell_from_morphology`."""
    return Path(str(files("dendrocap.datasets").joinpath("data", "example.swc")))
