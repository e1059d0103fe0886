"""Learning: the paper's stochastic gradient descent, its variants, and what can be measured with them."""

from dendrocap.learning.local_rule import SGD, Algorithm, LocalRule, ThreeFactors, three_factors
from dendrocap.learning.loss import cross_entropy, soft_error
from dendrocap.learning.schedules import Constant, ExponentialAnnealing, HalveOnPlateau, Pace, Schedule
from dendrocap.learning.surrogates import FlooredSlope, Lorentzian, SlopeOf, Surrogate, TrueSlope
from dendrocap.learning.training import EpochRecord, Training, TrainingResult, TrainingState, train

__all__ = [
    "SGD",
    "Algorithm",
    "Constant",
    "EpochRecord",
    "ExponentialAnnealing",
    "FlooredSlope",
    "HalveOnPlateau",
    "LocalRule",
    "Lorentzian",
    "Pace",
    "Schedule",
    "SlopeOf",
    "Surrogate",
    "ThreeFactors",
    "Training",
    "TrainingResult",
    "TrainingState",
    "TrueSlope",
    "cross_entropy",
    "soft_error",
    "three_factors",
    "train",
]
