"""Real data: image sets with their binary tasks, synaptic strengths, files of columns. Only `fetch` downloads."""

from dendrocap.datasets.binarise import TASKS, BinaryTask, binarise, image_task, pixel_permutation
from dendrocap.datasets.catalogue import CATALOGUE, DataSet, data_set
from dendrocap.datasets.columns import Table, read_table
from dendrocap.datasets.fetch import fetch
from dendrocap.datasets.images import ImageSet, load_images, locate, verify
from dendrocap.datasets.song2005 import SynapticStrengths, song2005

__all__ = [
    "CATALOGUE",
    "TASKS",
    "BinaryTask",
    "DataSet",
    "ImageSet",
    "SynapticStrengths",
    "Table",
    "binarise",
    "data_set",
    "fetch",
    "image_task",
    "load_images",
    "locate",
    "pixel_permutation",
    "read_table",
    "song2005",
    "verify",
]
