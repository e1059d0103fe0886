"""The paper made anew: every figure with its data, next to what the paper claims."""

from dendrocap.reproduction.catalogue import FIGURES, PaperFigure, selected
from dendrocap.reproduction.claims import Claim, Judged, Measured, judge, paper_claims
from dendrocap.reproduction.presets import PRESETS, Preset
from dendrocap.reproduction.report import write_report
from dendrocap.reproduction.running import FigureOutcome, Reproduction, reproduce, stored

__all__ = [
    "FIGURES",
    "PRESETS",
    "Claim",
    "FigureOutcome",
    "Judged",
    "Measured",
    "PaperFigure",
    "Preset",
    "Reproduction",
    "judge",
    "paper_claims",
    "reproduce",
    "selected",
    "stored",
    "write_report",
]
