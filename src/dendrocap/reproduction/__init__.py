"""Reproduction of the paper: one module per figure, with its data, compared with the claims of the paper."""

from dendrocap.reproduction.claims import (
    Claim,
    FullSizeVerdict,
    Judged,
    Measured,
    full_size_verdicts,
    judge,
    paper_claims,
)
from dendrocap.reproduction.figure_runner import FIGURES, FigureOutcome, Reproduction, reproduce, selected, stored
from dendrocap.reproduction.report_page import write_report
from dendrocap.reproduction.runs import PRESETS, PaperFigure, RunSize, read_tables, stored_results

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
