"""Reproduction of the paper: one module per figure, with its data, compared with the claims of the paper."""

from dendrocap.reproduction.claims import Claim, Judged, Measured, judge, paper_claims
from dendrocap.reproduction.figure_runner import FigureOutcome, Reproduction, reproduce, stored
from dendrocap.reproduction.full_size import FullSizeVerdict, full_size_verdicts
from dendrocap.reproduction.paper_figure import PaperFigure, read_tables, stored_results
from dendrocap.reproduction.registry import FIGURES, selected
from dendrocap.reproduction.report_page import write_report
from dendrocap.reproduction.run_size import PRESETS, RunSize

__all__ = [
    "FIGURES",
    "PRESETS",
    "Claim",
    "FigureOutcome",
    "FullSizeVerdict",
    "Judged",
    "Measured",
    "PaperFigure",
    "Reproduction",
    "RunSize",
    "full_size_verdicts",
    "judge",
    "paper_claims",
    "read_tables",
    "reproduce",
    "selected",
    "stored",
    "stored_results",
    "write_report",
]
