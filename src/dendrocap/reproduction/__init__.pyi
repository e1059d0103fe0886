"""Public names, loaded when they are first used."""

from dendrocap.reproduction.claims import (
    Claim as Claim,
    FullSizeVerdict as FullSizeVerdict,
    Judged as Judged,
    Measured as Measured,
    full_size_verdicts as full_size_verdicts,
    judge as judge,
    paper_claims as paper_claims,
)
from dendrocap.reproduction.report import write_report as write_report
from dendrocap.reproduction.runs import (
    PRESETS as PRESETS,
    FigureOutcome as FigureOutcome,
    PaperFigure as PaperFigure,
    Reproduction as Reproduction,
    RunSize as RunSize,
    read_tables as read_tables,
    reproduce as reproduce,
    selected as selected,
    stored as stored,
    stored_results as stored_results,
)
