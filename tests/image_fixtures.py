"""Fixtures: small data sets in the real formats, and the real ones where they are at hand."""

import gzip
import lzma
import os
from pathlib import Path

import numpy as np
import pytest

BESIDE = Path(__file__).parents[2] / "shared" / "data"


def idx(array):
    header = (0x0800 + array.ndim).to_bytes(4, "big") + b"".join(n.to_bytes(4, "big") for n in array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture
def small_sets(tmp_path, monkeypatch, rng):
    """MNIST, Fashion-MNIST and CIFAR-10 with a few random images each."""
    for name in ("mnist", "fashion-mnist"):
        folder = tmp_path / name
        folder.mkdir()
        for prefix, n in (("train", 60), ("t10k", 20)):
            images, labels = rng.integers(0, 256, (n, 28, 28)), np.arange(n) % 10
            images[:5] = 0  # a median of zero
            (folder / f"{prefix}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
            (folder / f"{prefix}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    folder = tmp_path / "cifar10"
    folder.mkdir()
    for number, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        records = rng.integers(0, 256, (30, 3073)).astype(np.uint8)
        records[:, 0] = np.arange(30) % 10
        if number % 2:
            (folder / f"{name}.bin.xz").write_bytes(lzma.compress(records.tobytes()))
        else:
            (folder / f"{name}.bin").write_bytes(records.tobytes())
    monkeypatch.setenv("DENDROCAP_DATA", str(tmp_path))
    monkeypatch.setenv("DENDROCAP_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def real_data(monkeypatch):
    """The folder with the real files, or a skip that says where they were looked for."""
    folder = Path(os.environ.get("DENDROCAP_DATA", BESIDE))
    if not (folder / "mnist").is_dir():
        pytest.skip(f"no real data sets: neither DENDROCAP_DATA nor {BESIDE} holds mnist/")
    monkeypatch.setenv("DENDROCAP_DATA", str(folder))
    return folder
