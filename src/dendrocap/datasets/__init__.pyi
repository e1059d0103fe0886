"""Public names, loaded when they are first used."""

from dendrocap.datasets.binarise import (
    BINARY_SETS as BINARY_SETS,
    BinarySet as BinarySet,
    binarise as binarise,
    binary_set as binary_set,
    pixel_permutation as pixel_permutation,
)
from dendrocap.datasets.images import (
    CATALOGUE as CATALOGUE,
    DataSet as DataSet,
    ImageSet as ImageSet,
    data_set as data_set,
    fetch as fetch,
    is_here as is_here,
    load_images as load_images,
    locate as locate,
    verify as verify,
)
from dendrocap.datasets.lab_files import (
    Amplitudes as Amplitudes,
    Column as Column,
    Curve as Curve,
    Table as Table,
    read_table as read_table,
)
from dendrocap.datasets.measured import (
    SynapticStrengths as SynapticStrengths,
    example_cell as example_cell,
    song2005 as song2005,
)
