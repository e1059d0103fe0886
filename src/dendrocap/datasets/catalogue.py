"""The data sets that dendrocap knows: their files, checksums and download addresses.

This module opens no files and no connections.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dendrocap.display import Displayed
from dendrocap.validation import choice

__all__ = ["CATALOGUE", "DataFile", "DataSet", "data_set"]


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Parameters
    ----------
    name : str
        Usual name of the file.
    digest : str
        ``algorithm:hexadecimal`` of its content; for CIFAR-10 of the unpacked batch.
    urls : tuple of str
        Download addresses, in order of preference.
    """

    name: str
    digest: str
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataSet(Displayed):
    """A data set: its description, files, shape and terms.

    Parameters
    ----------
    name, title : str
        Short and full name.
    files : tuple of DataFile
        The files needed to load it.
    archive : DataFile, optional
        A single file that holds all of them.
    image_shape : tuple of int
        Rows, columns and, for colour images, colours.
    classes : tuple of str
        Names of the labels, in order.
    citation, terms : str
        Publication to cite, and terms of distribution.
    bundled_with : str
        The package that contains the images; there are then no files to fetch.

    Examples
    --------
    >>> mnist = data_set("mnist")
    >>> mnist.image_shape, mnist.n_pixels, len(mnist.classes)
    ((28, 28), 784, 10)
    """

    _displayed = ("name", "title", "image_shape")

    name: str
    title: str
    files: tuple[DataFile, ...]
    archive: DataFile | None
    image_shape: tuple[int, ...]
    classes: tuple[str, ...]
    citation: str
    terms: str
    bundled_with: str = ""

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
        archive=None,
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
        archive=None,
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
        files=(),
        archive=None,
        image_shape=(8, 8),
        classes=tuple("0123456789"),
        citation="E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI Repository (1998)",
        terms="CC BY 4.0",
        bundled_with="scikit-learn",
    ),
}  # fmt: skip


def data_set(name: str) -> DataSet:
    """The catalogue entry with this name.

    Examples
    --------
    >>> data_set("mnist").n_pixels
    784
    """
    return CATALOGUE[choice("data set", name, tuple(CATALOGUE))]
