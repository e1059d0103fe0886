"""dendrocap: what a single neuron with non-linear dendrites can compute.

Most users need only the names below; ``help(dendrocap.NAME)`` explains each of them. Every name, including subpackages
such as ``dendrocap.theory``, is loaded on first use.
"""

from dendrocap.loading import load_on_use

__version__ = "0.1.0"

load_on_use(__name__)
