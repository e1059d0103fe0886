"""Binarisation of grey levels, as in the paper.

Each image is compared with its own median, and every pixel gives two inputs: one that is active above the median and
one that is active otherwise. Exactly half of the inputs are therefore active in every image, so the two classes cannot
be distinguished by their mean activity. The two inputs of a pixel are adjacent and stay on one branch
(`DendriticNeuron` with ``group_size=2``); a permutation of the pixels, one per experiment, scatters neighbouring pixels
over the branches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dendrocap.datasets.images import ImageSet, load_images
from dendrocap.display import Displayed
from dendrocap.errors import InvalidParameter
from dendrocap.model.patterns import PackedPatterns, Seed, generator_for, pack_patterns
from dendrocap.validation import choice, real_number, refuse, whole_number

Bits = NDArray[np.uint8]


@dataclass(frozen=True)
class _SetRule:
    """Which images are used, and which of them are positive."""

    data_set: str
    takes_part: Callable[[ImageSet], NDArray[np.bool_]]
    is_positive: Callable[[NDArray[np.uint8]], NDArray[np.bool_]]
    meaning: str


def _all(images: ImageSet) -> NDArray[np.bool_]:
    return np.ones(len(images), dtype=bool)


def _odd(labels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return np.asarray(labels % 2 == 1)


BINARY_SETS: dict[str, _SetRule] = {
    "mnist": _SetRule("mnist", _all, _odd, "odd digits against even ones"),
    "fashion-mnist": _SetRule(
        "fashion-mnist",
        # In a mostly black image nearly all pixels equal the median, so all such images give the same pattern.
        lambda images: np.median(images.images, axis=1) > 0,
        _odd,
        "odd classes against even ones, images with a median above zero",
    ),
    "cifar10": _SetRule(
        "cifar10", lambda images: np.isin(images.labels, (2, 8)), lambda labels: labels == 2, "birds against ships"
    ),
    "cifar10-odd-even": _SetRule("cifar10", _all, _odd, "odd classes against even ones"),
    "digits": _SetRule("digits", _all, _odd, "odd digits against even ones, of 8 x 8 pixels"),
}


@dataclass(frozen=True, eq=False)
class BinarySet(Displayed):
    """A binary classification of binarised images: patterns for training and for testing."""

    _displayed = ("name", "meaning", "inputs", "test_inputs")

    name: str
    meaning: str
    inputs: PackedPatterns
    labels: Bits
    test_inputs: PackedPatterns
    test_labels: Bits

    @property
    def n_inputs(self) -> int:
        """Twice the number of pixels."""
        return self.inputs.n_inputs

    def held_out(self, share: float = 0.2) -> BinarySet:
        """The set for choosing settings: the last part of the training images replaces the test images."""
        share = real_number("share", share, 0.0, 1.0, low_open=True, high_open=True)
        cut = round(len(self.labels) * (1.0 - share))
        first, last = (PackedPatterns(self.inputs.bits[part], self.n_inputs) for part in (slice(cut), slice(cut, None)))
        return replace(self, inputs=first, labels=self.labels[:cut], test_inputs=last, test_labels=self.labels[cut:])


def pixel_permutation(n_pixels: int, rng: Seed) -> NDArray[np.int64]:
    """A random order of the pixels, used for all images of an experiment.

    Examples
    --------
    >>> sorted(pixel_permutation(5, rng=0).tolist())
    [0, 1, 2, 3, 4]
    """
    return generator_for("patterns", rng).permutation(whole_number("n_pixels", n_pixels, 1))


def binarise(images: ArrayLike, permutation: ArrayLike | None = None) -> Bits:
    """Binary inputs of grey images, two per pixel [binarise].

    Parameters
    ----------
    images : array, shape (n_images, n_pixels)
        Grey levels.
    permutation : array of int, optional
        Order of the pixels.

    Returns
    -------
    array of uint8, shape (n_images, 2 n_pixels)
        Input 2 i is active if pixel i is above the median of its image, input 2 i + 1 if it is not.

    Examples
    --------
    >>> binarise([[0, 5, 9]]).tolist()
    [[0, 1, 0, 1, 1, 0]]
    """
    grey = np.asarray(images)
    if grey.ndim != 2 or grey.shape[1] == 0 or grey.dtype.kind not in "uifb":
        raise refuse("images", f"{grey.dtype} of shape {grey.shape}", "numbers of shape (n_images, n_pixels)")
    if grey.dtype.kind == "f" and not np.all(np.isfinite(grey)):
        raise InvalidParameter("images must not contain NaN or infinite grey levels")
    if permutation is not None:
        order = np.asarray(permutation)
        if not np.array_equal(np.sort(order), np.arange(grey.shape[1])):
            raise refuse("permutation", order, f"a permutation of the {grey.shape[1]} pixels")
        grey = grey[:, order]
    above = grey > np.median(grey, axis=1, keepdims=True)
    return np.stack([above, ~above], axis=2).reshape(len(grey), -1).astype(np.uint8)


def binary_set(name: str, *, n_train: int | None = None, n_test: int | None = None, rng: Seed = None) -> BinarySet:
    """A binary classification task of the paper, ready for training.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "cifar10", "cifar10-odd-even", "digits"}
        Odd against even classes, or for "cifar10" birds against ships. "digits" needs no files.
    n_train, n_test : int, optional
        Number of images, drawn with equal numbers of both classes; by default all.
    rng : int, SeedSequence, Generator or None
        Source of randomness of the permutation and the draws.

    Examples
    --------
    >>> digits = binary_set("digits", n_train=100, n_test=50, rng=0)
    >>> digits.inputs.shape, float(digits.labels.mean())
    ((100, 128), 0.5)
    """
    rule = BINARY_SETS[choice("dataset", name, tuple(BINARY_SETS))]
    generator = generator_for("patterns", rng)
    halves = []
    permutation: NDArray[np.int64] | None = None
    for split, size in (("train", n_train), ("test", n_test)):
        images = load_images(rule.data_set, split)
        if permutation is None:
            permutation = pixel_permutation(images.images.shape[1], generator)
        chosen = np.flatnonzero(rule.takes_part(images))
        labels = rule.is_positive(images.labels[chosen]).astype(np.uint8)
        if size is not None:
            drawn = _balanced(labels, size, split, generator)
            chosen, labels = chosen[drawn], labels[drawn]
        halves.append((pack_patterns(binarise(images.images[chosen], permutation)), labels))
    return BinarySet(name, rule.meaning, *halves[0], *halves[1])


def _balanced(labels: Bits, size: int, split: str, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices of ``size`` labels, half of them 1, in random order."""
    ones, zeros = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    most = 2 * min(len(ones), len(zeros))
    size = whole_number(f"n_{split}", size, 2, most)
    drawn = np.concatenate([rng.permutation(ones)[: size // 2], rng.permutation(zeros)[: size - size // 2]])
    return rng.permutation(drawn)
