"""Solvers: ways to find weights without errors close to capacity. docs/solvers.md compares them."""

from dendrocap.learning.solvers.choosing import SOLVERS, search, suitable_solver
from dendrocap.learning.solvers.least_action import LeastAction
from dendrocap.learning.solvers.message_passing import BetheEstimate, MessagePassing, bethe_free_entropy
from dendrocap.learning.solvers.plain import PlainSGD
from dendrocap.learning.solvers.polished import PolishedAnnealing, SplitStart
from dendrocap.learning.solvers.replicated import ReplicatedSGD
from dendrocap.learning.solvers.selected import SelectedAnnealing
from dendrocap.learning.solvers.sharpening import SharpenedNonlinearity
from dendrocap.learning.solvers.surrogate import AnnealedSurrogate

__all__ = [
    "SOLVERS",
    "AnnealedSurrogate",
    "BetheEstimate",
    "LeastAction",
    "MessagePassing",
    "PlainSGD",
    "PolishedAnnealing",
    "ReplicatedSGD",
    "SelectedAnnealing",
    "SharpenedNonlinearity",
    "SplitStart",
    "bethe_free_entropy",
    "search",
    "suitable_solver",
]
