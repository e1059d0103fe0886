"""Image sets from files on this machine. This module never downloads; `fetch` does, on explicit request."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import math
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dendrocap.display import Displayed
from dendrocap.errors import CorruptData, MissingData
from dendrocap.files import reading
from dendrocap.validation import choice

# The data sets that dendrocap knows: their files, checksums and download addresses.


@dataclass(frozen=True)
class DataFile:
    """One file of a data set."""

    name: str
    digest: str  # algorithm:hexadecimal of its content; for CIFAR-10 of the unpacked batch
    urls: tuple[str, ...] = ()  # in order of preference


@dataclass(frozen=True, kw_only=True)
class DataSet(Displayed):
    """A data set: its description, files, shape and terms."""

    _displayed = ("name", "title", "image_shape")

    name: str
    title: str
    files: tuple[DataFile, ...] = ()
    archive: DataFile | None = None  # a single file that holds all of them
    image_shape: tuple[int, ...]  # rows, columns and, for colour images, colours
    classes: tuple[str, ...]
    citation: str
    terms: str
    bundled_with: str = ""  # the package that contains the images; there are then no files to fetch

    @property
    def n_pixels(self) -> int:
        """Numbers per image, including colours."""
        return math.prod(self.image_shape)


def _idx_files(digests: dict[str, str], mirrors: tuple[str, ...]) -> tuple[DataFile, ...]:
    return tuple(
        DataFile(f"{name}.gz", f"sha256:{digest}", tuple(f"{mirror}{name}.gz" for mirror in mirrors))
        for name, digest in digests.items()
    )


_CIFAR_BATCHES = {
    "data_batch_1.bin": "aadd24acce27caa71bf4b10992e9e7b2d74c2540",
    "data_batch_2.bin": "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795",
    "data_batch_3.bin": "1dd00a74ab1d17a6e7d73e185b69dbf31242f295",
    "data_batch_4.bin": "aab85764eb3584312d3c7f65fd2fd016e36a258e",
    "data_batch_5.bin": "26e2849e66a845b7f1e4614ae70f4889ae604628",
    "test_batch.bin": "67eb016db431130d61cd03c7ad570b013799c88c",
}

CATALOGUE: dict[str, DataSet] = {
    "mnist": DataSet(
        name="mnist",
        title="MNIST handwritten digits",
        files=_idx_files(
            {
                "train-images-idx3-ubyte": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                "train-labels-idx1-ubyte": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                "t10k-images-idx3-ubyte": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                "t10k-labels-idx1-ubyte": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            },
            ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"),
        ),
        image_shape=(28, 28),
        classes=tuple("0123456789"),
        citation="Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Proc. IEEE 86, 2278 (1998)",
        terms="usually quoted as CC BY-SA 3.0",
    ),
    "fashion-mnist": DataSet(
        name="fashion-mnist",
        title="Fashion-MNIST articles of clothing",
        files=_idx_files(
            {
                "train-images-idx3-ubyte": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
                "train-labels-idx1-ubyte": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
                "t10k-images-idx3-ubyte": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
                "t10k-labels-idx1-ubyte": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            },
            (
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
            ),
        ),
        image_shape=(28, 28),
        classes=(
            "T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot",
        ),
        citation="H. Xiao, K. Rasul, R. Vollgraf, arXiv:1708.07747 (2017)",
        terms="MIT",
    ),
    "cifar10": DataSet(
        name="cifar10",
        title="CIFAR-10 colour images",
        files=tuple(DataFile(name, f"sha1:{digest}") for name, digest in _CIFAR_BATCHES.items()),
        archive=DataFile(
            "cifar-10-binary.tar.gz",
            "md5:c32a1d4ab5d03f1284b67883e8d87530",
            ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
        ),
        image_shape=(3, 32, 32),
        classes=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        citation="A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images (2009)",
        terms="none stated by the authors",
    ),
    "digits": DataSet(
        name="digits",
        title="Small handwritten digits",
        image_shape=(8, 8),
        classes=tuple("0123456789"),
        citation="E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI Repository (1998)",
        terms="CC BY 4.0",
        bundled_with="scikit-learn",
    ),
}  # fmt: skip


def data_set(name: str) -> DataSet:
    """The catalogue entry with this name."""
    return CATALOGUE[choice("data set", name, tuple(CATALOGUE))]


# Readers for the file formats of image sets: idx (MNIST) and binary batches (CIFAR-10).
#
# The content of a file is not trusted: sizes in a header are compared with the data, and no more memory is allocated
# than the file justifies. Every problem raises `CorruptData`, which names the file and what was expected.

CIFAR_RECORD = 3073  # one label and 3 x 32 x 32 colour values

LARGEST = 2**30  # bytes; the largest known file has 47 million bytes


def read_idx(path: Path, n_dimensions: int) -> Bytes:
    """The array of bytes in an idx file, plain or compressed with gzip: of one dimension for labels, 3 for images."""
    with reading(path, "a complete idx file, plain or compressed with gzip"), _opened(path) as stream:
        header = _read(stream, 4 + 4 * n_dimensions)
        if len(header) < 4 + 4 * n_dimensions:
            raise CorruptData(f"{path}: {len(header)} bytes, too short for an idx header")
        magic = int.from_bytes(header[:4], "big")
        if magic != 0x0800 + n_dimensions:
            raise CorruptData(f"{path}: magic number {magic:#010x} where {0x0800 + n_dimensions:#010x} was expected")
        shape = tuple(int.from_bytes(header[at : at + 4], "big") for at in range(4, len(header), 4))
        claimed = math.prod(shape)
        if claimed > LARGEST:
            raise CorruptData(f"{path}: the header claims {' x '.join(map(str, shape))} = {claimed} bytes")
        data = _read(stream, claimed + 1)
    if len(data) != claimed:
        found = f"more than {claimed}" if len(data) > claimed else str(len(data))
        raise CorruptData(f"{path}: {found} bytes of data where the header claims {claimed}")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def read_batch(path: Path, member: str = "") -> bytes:
    """The bytes of a CIFAR-10 batch: a plain file, an .xz file, or ``member`` of the official archive."""
    with reading(path, "a complete batch of CIFAR-10"), _opened(path) as stream:
        data = _member(stream, path, member) if member else _read(stream, LARGEST)
    if len(data) == 0 or len(data) % CIFAR_RECORD:
        raise CorruptData(f"{path}: {len(data)} bytes where a multiple of {CIFAR_RECORD} was expected")
    return data


def _member(stream: IO[bytes], path: Path, name: str) -> bytes:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for entry in archive:
            if entry.isfile() and Path(entry.name).name == name:
                content = archive.extractfile(entry)
                return _read(content, LARGEST) if content is not None else b""
    raise CorruptData(f"{path}: there is no {name} in the archive")


def _opened(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


def _read(stream: IO[bytes], most: int) -> bytes:
    """Up to ``most`` bytes, read in pieces: one large read would allocate its memory before any data is seen."""
    pieces, left = [], most
    while left > 0:
        piece = stream.read(min(left, 2**20))
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


Bytes = NDArray[np.uint8]

# scikit-learn's 1797 digits are a single set; the file is ordered by writer.
N_DIGITS_TRAIN = 1200


@dataclass(frozen=True, eq=False)
class ImageSet(Displayed):
    """Images and their labels."""

    name: str
    split: str
    images: Bytes  # one row per image, in the order of the file; colour planes follow one another
    labels: Bytes

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Located:
    """A file of a data set on this machine, possibly inside an archive."""

    file: DataFile
    path: Path
    member: str = ""


def user_cache() -> Path:
    """The folder of fetched data sets: DENDROCAP_CACHE, or the usual cache folder of the system."""
    given = os.environ.get("DENDROCAP_CACHE")
    if given:
        return Path(given)
    import pooch

    return Path(pooch.os_cache("dendrocap"))


def data_folders(name: str) -> list[Path]:
    """The folders searched for a data set: DENDROCAP_DATA first, then the cache."""
    given = os.environ.get("DENDROCAP_DATA")
    return [Path(root) / name for root in ([given] if given else [])] + [user_cache() / name]


def locate(name: str) -> tuple[Located, ...]:
    """All files of a data set; `MissingData` names the missing file, the folders searched and how to get it."""
    known = data_set(name)
    return tuple(_located(known, file) for file in known.files)


def is_here(name: str) -> bool:
    """Whether all files of a data set are on this machine."""
    try:
        locate(name)
    except MissingData:
        return False
    return True


def load_images(name: str, split: str = "train") -> ImageSet:
    """Images and labels of one half of a data set.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "cifar10", "digits"}
        Name of the data set; "digits" is part of scikit-learn and needs no file.
    split : {"train", "test"}
        The half to load.

    Raises
    ------
    MissingData
        If a file is not on this machine; the message says how to get it.
    CorruptData
        If a file has unexpected content.

    Examples
    --------
    >>> load_images("digits", "test").images.shape
    (597, 64)
    """
    known = data_set(name)
    choice("split", split, ("train", "test"))
    if known.bundled_with:
        return _bundled(known, split)
    if name == "cifar10":
        files = [file for file in known.files if file.name.startswith("test") == (split == "test")]
    else:
        files = [file for file in known.files if file.name.startswith("train" if split == "train" else "t10k")]
    return _loaded(known.name, split, tuple(_located(known, file) for file in files))


def _bundled(known: DataSet, split: str) -> ImageSet:
    """scikit-learn's digits: the first two thirds for training, the rest, mostly by other writers, for testing."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    half = slice(None, N_DIGITS_TRAIN) if split == "train" else slice(N_DIGITS_TRAIN, None)
    return _checked(known, split, digits.data[half].astype(np.uint8), digits.target[half].astype(np.uint8))


@lru_cache(maxsize=2)  # an experiment draws many sets from one data set, and unpacking CIFAR-10 takes seconds
def _loaded(name: str, split: str, files: tuple[Located, ...]) -> ImageSet:
    known = data_set(name)
    if name == "cifar10":
        raw = b"".join(read_batch(located.path, located.member) for located in files)
        records = np.frombuffer(raw, dtype=np.uint8).reshape(-1, CIFAR_RECORD)
        return _checked(known, split, records[:, 1:], records[:, 0])
    images, labels = files
    pixels = read_idx(images.path, 3)
    return _checked(known, split, pixels.reshape(len(pixels), -1), read_idx(labels.path, 1))


def verify(name: str) -> Iterator[tuple[Located, bool]]:
    """Each file of a data set, and whether its content equals the original."""
    for located in locate(name):
        yield located, _digest(located) == located.file.digest


def _digest(located: Located) -> str:
    algorithm = located.file.digest.partition(":")[0]
    content = (
        read_batch(located.path, located.member) if located.file.name.endswith(".bin") else located.path.read_bytes()
    )
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


def _located(known: DataSet, file: DataFile) -> Located:
    folders = data_folders(known.name)
    for folder in folders:
        for path in (folder / file.name, folder / f"{file.name}.xz"):
            if path.is_file():
                return Located(file, path)
        if known.archive is not None and (folder / known.archive.name).is_file():
            return Located(file, folder / known.archive.name, file.name)
    searched = ", ".join(str(folder) for folder in folders)
    raise MissingData(
        f"{known.title}: {file.name} was not found in {searched}. Set DENDROCAP_DATA to a folder that holds "
        f"{known.name}/, or run: dendrocap datasets {known.name} --fetch"
    )


def _checked(known: DataSet, split: str, images: Bytes, labels: Bytes) -> ImageSet:
    if images.shape[1] != known.n_pixels:
        raise CorruptData(f"{known.title}, {split}: {images.shape[1]} pixels where {known.n_pixels} were expected")
    if len(images) != len(labels) or len(labels) == 0:
        raise CorruptData(f"{known.title}, {split}: {len(images)} images but {len(labels)} labels")
    if int(labels.max()) >= len(known.classes):
        raise CorruptData(f"{known.title}, {split}: label {int(labels.max())} where at most 9 was expected")
    return ImageSet(known.name, split, images, labels)


# Downloads, on explicit request only.


def fetch(name: str, *, bar: Any = False) -> list[Path]:
    """Download a data set into the user's cache and check every file; existing files are kept.

    Each file is first written under a temporary name and renamed when its checksum is right, so that an interrupted
    download never looks finished.

    Parameters
    ----------
    name : {"mnist", "fashion-mnist", "cifar10"}
        Name of the data set; a data set that is part of another package has nothing to fetch.
    bar : object, optional
        A progress bar for pooch, with ``total``, ``update``, ``reset`` and ``close``.

    Raises
    ------
    MissingData
        If no mirror serves the right file; the message reports the error of each mirror.
    """
    known = data_set(name)
    wanted = (known.archive,) if known.archive is not None else known.files
    return [_fetch_one(file, user_cache() / name, bar) for file in wanted]


def _fetch_one(file: DataFile, folder: Path, bar: Any) -> Path:
    import pooch

    reasons = []
    for url in file.urls:
        try:
            return Path(pooch.retrieve(url, file.digest, file.name, folder, progressbar=bar))
        except (OSError, ValueError) as error:  # the mirror is down or serves another file
            reasons.append(f"{url}: {' '.join(str(error).split())[:200]}")
    raise MissingData(f"{file.name} could not be fetched: " + "; ".join(reasons))
