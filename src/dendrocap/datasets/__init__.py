"""Real data: image sets and their binary tasks. Nothing is downloaded unless `fetch` is called."""

from dendrocap.datasets.binarise import TASKS, BinaryTask, binarise, image_task, pixel_permutation
from dendrocap.datasets.catalogue import CATALOGUE, DataSet, data_set
from dendrocap.datasets.fetch import fetch
from dendrocap.datasets.images import ImageSet, load_images, locate, verify

__all__ = [
    "CATALOGUE",
    "TASKS",
    "BinaryTask",
    "DataSet",
    "ImageSet",
    "binarise",
    "data_set",
    "fetch",
    "image_task",
    "load_images",
    "locate",
    "pixel_permutation",
    "verify",
]
