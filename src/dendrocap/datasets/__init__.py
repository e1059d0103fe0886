"""Real data: image sets as binary patterns, synaptic strengths, files with columns. Only `fetch` downloads."""

from dendrocap.datasets.binarise import BINARY_SETS, BinarySet, binarise, binary_set, pixel_permutation
from dendrocap.datasets.catalogue import CATALOGUE, DataSet, data_set
from dendrocap.datasets.columns import Amplitudes, Column, Curve, Table, read_table
from dendrocap.datasets.example_cell import example_cell
from dendrocap.datasets.fetch import fetch
from dendrocap.datasets.images import ImageSet, is_here, load_images, locate, verify
from dendrocap.datasets.song2005 import SynapticStrengths, song2005

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
