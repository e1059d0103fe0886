"""Real data: image sets as binary patterns, synaptic strengths, files with columns. Only `fetch` downloads."""

from dendrocap.datasets.binarise import BINARY_SETS, BinarySet, binarise, binary_set, pixel_permutation
from dendrocap.datasets.images import (
    CATALOGUE,
    DataSet,
    ImageSet,
    data_set,
    fetch,
    is_here,
    load_images,
    locate,
    verify,
)
from dendrocap.datasets.lab_files import Amplitudes, Column, Curve, Table, read_table
from dendrocap.datasets.measured import SynapticStrengths, example_cell, song2005

__all__ = [
    "CATALOGUE",
    "Amplitudes",
    "BINARY_SETS",
    "BinarySet",
    "Column",
    "Curve",
    "DataSet",
    "ImageSet",
    "SynapticStrengths",
    "Table",
    "binarise",
    "data_set",
    "example_cell",
    "fetch",
    "binary_set",
    "is_here",
    "load_images",
    "locate",
    "pixel_permutation",
    "read_table",
    "song2005",
    "verify",
]
