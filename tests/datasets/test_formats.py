"""Readers believe nothing: whatever the bytes, the outcome is an array or a typed error."""

import gzip
import io
import lzma
import tarfile
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dendrocap.datasets.images import read_batch, read_idx
from dendrocap.errors import CorruptData
from tests.image_fixtures import idx

anywhere = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def attempt(read, path):
    """The array, or None where the reader refused with its own error that names the file."""
    try:
        return read(path)
    except CorruptData as error:
        if str(path) not in str(error):
            raise
        return None


@anywhere
@given(data=st.binary(max_size=200), packed=st.booleans())
def test_random_bytes_never_crash_the_idx_reader(tmp_path, data, packed):
    path = tmp_path / ("x.gz" if packed else "x")
    path.write_bytes(gzip.compress(data) if packed else data)
    for dimensions in (1, 3):
        found = attempt(lambda p, d=dimensions: read_idx(p, d), path)
        assert found is None or found.ndim == dimensions
    (tmp_path / "not.gz").write_bytes(data)  # not gzip at all, unless by a very unlikely accident
    assert attempt(lambda p: read_idx(p, 1), tmp_path / "not.gz") is None


@anywhere
@given(
    shape=st.tuples(st.integers(0, 5), st.integers(0, 6), st.integers(0, 6)),
    cut=st.integers(0, 300),
    flip=st.integers(0, 300),
    value=st.integers(0, 255),
)
def test_damaged_files_are_read_whole_or_refused(tmp_path, shape, cut, flip, value):
    array = np.arange(int(np.prod(shape))).reshape(shape) % 256
    good = idx(array)
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(good))
    assert_array_equal(read_idx(path, 3), array)
    # a truncated stream, then a truncated content, then a changed byte
    packed = gzip.compress(good)
    path.write_bytes(packed[: len(packed) * cut // 301])
    assert attempt(lambda p: read_idx(p, 3), path) is None
    path.write_bytes(gzip.compress(good[: len(good) * cut // 301]))
    assert attempt(lambda p: read_idx(p, 3), path) is None
    changed = bytearray(good)
    changed[flip % len(good)] = value
    path.write_bytes(gzip.compress(bytes(changed)))
    found = attempt(lambda p: read_idx(p, 3), path)
    assert found is None or found.size == array.size


@pytest.mark.parametrize("count", [2**31, 2**32 - 1, 10**6])
def test_lying_headers_take_no_memory(tmp_path, count):
    lie = (0x0803).to_bytes(4, "big") + count.to_bytes(4, "big") + (28).to_bytes(4, "big") * 2 + bytes(784)
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(lie))
    tracemalloc.start()
    with pytest.raises(CorruptData, match=r"images\.gz"):
        read_idx(path, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6


def test_a_bomb_is_not_unpacked(tmp_path):
    small_claim = idx(np.zeros((1, 28, 28))) + bytes(200_000_000)
    path = tmp_path / "images.gz"
    path.write_bytes(gzip.compress(small_claim, compresslevel=1))
    tracemalloc.start()
    with pytest.raises(CorruptData, match="more than 784"):
        read_idx(path, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10e6


def test_wrong_magic_number_is_named(tmp_path):
    path = tmp_path / "labels"
    path.write_bytes(idx(np.zeros(50)))
    assert_array_equal(read_idx(path, 1), np.zeros(50))
    with pytest.raises(CorruptData, match="0x00000801 where 0x00000803 was expected"):
        read_idx(path, 3)


@anywhere
@given(data=st.binary(max_size=200), suffix=st.sampled_from([".bin", ".bin.xz", ".tar.gz"]))
def test_random_bytes_never_crash_the_batch_reader(tmp_path, data, suffix):
    path = tmp_path / f"x{suffix}"
    path.write_bytes(data)
    member = "data_batch_1.bin" if suffix == ".tar.gz" else ""
    assert attempt(lambda p: read_batch(p, member), path) is None


def test_batches_plain_packed_and_in_the_archive(tmp_path, rng):
    raw = rng.integers(0, 256, 3 * 3073).astype(np.uint8).tobytes()
    (tmp_path / "b.bin").write_bytes(raw)
    (tmp_path / "b.bin.xz").write_bytes(lzma.compress(raw))
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("cifar-10-batches-bin/b.bin")
        entry.size = len(raw)
        archive.addfile(entry, io.BytesIO(raw))
    assert read_batch(tmp_path / "b.bin") == raw
    assert read_batch(tmp_path / "b.bin.xz") == raw
    assert read_batch(tmp_path / "c.tar.gz", "b.bin") == raw
    with pytest.raises(CorruptData, match=r"no other\.bin"):
        read_batch(tmp_path / "c.tar.gz", "other.bin")
    (tmp_path / "short.bin").write_bytes(raw[:-1])
    with pytest.raises(CorruptData, match="multiple of 3073"):
        read_batch(tmp_path / "short.bin")
