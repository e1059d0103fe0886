"""Finding, loading, verifying and binarising image sets."""

import gzip
import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from dendrocap import DendriticNeuron, InvalidParameter, NeuronSpec, ReLU
from dendrocap.datasets import (
    CATALOGUE,
    binarise,
    binary_set,
    data_set,
    fetch,
    is_here,
    load_images,
    pixel_permutation,
    verify,
)
from dendrocap.datasets import fetch as fetch_function
from dendrocap.errors import CorruptData, MissingData
from tests.image_fixtures import idx


def test_small_sets_load(small_sets):
    train = load_images("mnist", "train")
    assert train.images.shape == (60, 784)
    assert train.labels[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert load_images("cifar10", "train").images.shape == (150, 3072)
    assert load_images("cifar10", "test").images.shape == (30, 3072)
    assert not any(sound for _, sound in verify("mnist"))  # random pixels are not MNIST


def test_the_digits_of_scikit_learn_need_no_files(tmp_path, monkeypatch):
    monkeypatch.setenv("DENDROCAP_DATA", str(tmp_path))
    monkeypatch.setenv("DENDROCAP_CACHE", str(tmp_path))
    train, test = (load_images("digits", split) for split in ("train", "test"))
    assert (train.images.shape, len(test)) == ((1200, 64), 597)
    assert is_here("digits")
    assert not is_here("mnist")
    assert fetch("digits") == []
    digits = binary_set("digits", rng=0)
    assert (digits.n_inputs, digits.inputs.unpack().mean()) == (128, 0.5)
    assert_array_equal(digits.test_labels, test.labels % 2)


def test_missing_sets_say_which_file_where_and_how(tmp_path, monkeypatch):
    monkeypatch.setenv("DENDROCAP_DATA", str(tmp_path))
    monkeypatch.setenv("DENDROCAP_CACHE", str(tmp_path / "cache"))
    with pytest.raises(MissingData) as caught:
        load_images("mnist")
    for word in ("train-images-idx3-ubyte.gz", str(tmp_path), "DENDROCAP_DATA", "dendrocap datasets mnist --fetch"):
        assert word in str(caught.value)
    with pytest.raises(InvalidParameter, match="imagenet"):
        load_images("imagenet")
    with pytest.raises(InvalidParameter, match="validation"):
        load_images("mnist", "validation")


def test_files_that_do_not_belong_together_are_refused(small_sets):
    (small_sets / "mnist" / "train-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.zeros(59))))
    with pytest.raises(CorruptData, match="60 images but 59 labels"):
        load_images("mnist")
    (small_sets / "mnist" / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.full(20, 11))))
    with pytest.raises(CorruptData, match="label 11"):
        load_images("mnist", "test")
    images = np.zeros((20, 14, 14))
    (small_sets / "fashion-mnist" / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
    with pytest.raises(CorruptData, match="196 pixels where 784"):
        load_images("fashion-mnist", "test")


@given(hnp.arrays(np.uint8, st.tuples(st.integers(1, 5), st.integers(1, 30))), st.integers(0, 2**32 - 1))
def test_binarised_images_are_half_active_and_pixels_stay_together(images, seed):
    permutation = pixel_permutation(images.shape[1], seed)
    bits = binarise(images, permutation)
    assert bits.shape == (len(images), 2 * images.shape[1])
    assert_array_equal(bits.mean(axis=1), 0.5)
    above, below = bits[:, 0::2], bits[:, 1::2]
    assert_array_equal(above + below, 1)
    for image, row in zip(images, above, strict=True):
        assert_array_equal(row, image[permutation] > np.median(image))


def test_both_versions_of_a_pixel_share_a_branch():
    for n_pixels, n_branches in ((784, 7), (784, 49), (3072, 8), (3072, 72), (10, 3)):
        neuron = DendriticNeuron(NeuronSpec(ReLU(), 0.1, 0.1), 2 * n_pixels, n_branches, group_size=2)
        branch = np.repeat(np.arange(n_branches), neuron.branch_sizes)
        assert_array_equal(branch[0::2], branch[1::2])


def test_binary_sets(small_sets):
    digits = binary_set("mnist", rng=1)
    assert digits.n_inputs == 1568
    assert_array_equal(digits.labels, np.arange(60) % 2)
    again = binary_set("mnist", rng=1)
    assert_array_equal(digits.inputs.bits, again.inputs.bits)
    assert not np.array_equal(digits.inputs.bits, binary_set("mnist", rng=2).inputs.bits)
    assert len(binary_set("fashion-mnist", rng=0).labels) == 55  # five black images have no positive median
    birds = binary_set("cifar10", rng=0)
    assert len(birds.labels) == 30  # birds and ships are a fifth of all
    assert birds.labels.mean() == 0.5
    assert len(binary_set("cifar10-odd-even", rng=0).labels) == 150
    few = binary_set("mnist", n_train=20, n_test=10, rng=0)
    assert (len(few.labels), few.labels.mean(), few.test_labels.mean()) == (20, 0.5, 0.5)
    with pytest.raises(InvalidParameter, match=r"n_train = 100.*\[2, 60\]"):
        binary_set("mnist", n_train=100)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: binarise([1, 2, 3]), ["(n_images, n_pixels)"]),
        (lambda: binarise([[0.0, np.nan]]), ["NaN"]),
        (lambda: binarise([[1, 2, 3]], [0, 1, 1]), ["permutation", "3 pixels"]),
        (lambda: data_set("svhn"), ["'svhn'", "'mnist'"]),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises(InvalidParameter) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_fetching_checks_the_content_and_tries_every_mirror(tmp_path, monkeypatch):
    """Served from files: nothing leaves the machine."""
    import pooch

    monkeypatch.setenv("DENDROCAP_CACHE", str(tmp_path / "cache"))
    asked = []

    def retrieve(url, known_hash, fname, path, progressbar):
        asked.append(url)
        if "ossci" in url:
            raise OSError("no route to host")
        content = b"wrong"
        if hashlib.sha256(content).hexdigest() not in known_hash:
            raise ValueError("SHA256 hash of downloaded file does not match")
        return str(path / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(MissingData) as caught:
        fetch("mnist")
    assert len(asked) == 2  # both mirrors of the first file, then no further file
    for word in ("train-images-idx3-ubyte.gz", "no route to host", "does not match"):
        assert word in str(caught.value)
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("*ubyte.gz"))
    assert fetch_function is fetch


def test_real_files_are_the_originals(real_data):
    for name in ("mnist", "fashion-mnist"):
        assert all(sound for _, sound in verify(name))
    train = load_images("mnist")
    assert np.bincount(train.labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    fashion = binary_set("fashion-mnist", rng=0)
    assert (len(fashion.labels), len(fashion.test_labels)) == (31193, 5228)
    assert set(CATALOGUE) == {"mnist", "fashion-mnist", "cifar10", "digits"}


@pytest.mark.slow
def test_real_cifar_is_the_original(real_data):
    assert all(sound for _, sound in verify("cifar10"))
    birds = binary_set("cifar10", rng=0)
    assert (len(birds.labels), len(birds.test_labels), birds.n_inputs) == (10000, 2000, 6144)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5])
def test_some_images_are_held_out_and_some_are_left(share):
    with pytest.raises(InvalidParameter, match=rf"share = {share} "):
        binary_set("digits", rng=0).held_out(share)
