"""The report of a reproduction: one page with each figure beside the claims about it.

It depends only on the folder: verdicts are measured again from the stored tables.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

from dendrocap.answers import Capacity, capacity
from dendrocap.figures.pages import page
from dendrocap.files import write_file
from dendrocap.model import DendriticNeuron, NeuronSpec, Polsky
from dendrocap.reproduction.claims import CANNOT, DIFFERS, NOT_RUN, REPRODUCED, UNDECIDED, Judged, full_size_verdicts
from dendrocap.reproduction.runs import DONE, FULL_SIZE, MISSING, PRESETS, FigureOutcome, Reproduction, selected

INTRODUCTION = (
    "Lauditi, Malatesta, Pittorino, Baldassi, Brunel and Zecchina, Impact of dendritic non-linearities on the "
    "computational capabilities of neurons, arXiv 2407.07572. Each figure was recomputed and redrawn. Each claim of "
    "the paper, in our own words, is listed with our measurement. Printed numbers are the paper's; measured numbers "
    "were computed from the tables behind the figures."
)
BEST = (
    "Capacities and silent fractions of the theory are replica symmetric, the paper's estimate, unless stated "
    "otherwise. The best estimate for a real neuron, N = {size.n_inputs} synapses on K = {size.n_branches} branches as "
    "in the paper's simulations, with θ_d = θ_s = 1/2, is {answer}. It is the output of"
)
COMMAND = "dendrocap capacity --theta-d 0.5 --theta-s 0.5 -N {size.n_inputs} -K {size.n_branches} --estimates"
SMALL = (
    "This run is smaller than the paper's simulations. Verdicts at full size, from runs stored with the package, are "
    "listed beside its own; a claim that only full size can decide is left open here."
)
CONTRADICTION = "This run contradicts full size in: {claims}. The verdicts at full size take precedence."
MEANINGS = {
    REPRODUCED: "the measurement agrees with the paper within the stated tolerance",
    DIFFERS: "the measurement disagrees with the paper",
    CANNOT: "no choice of the parameters left open by the paper gives its number, or there is nothing to measure",
    UNDECIDED: "the simulation is too small: the border lies within two standard errors",
    NOT_RUN: "the figure was not made",
}


def write_report(made: Reproduction) -> Path:
    """Write ``report.html``, which holds its pictures and data, into the folder of a reproduction.

    Examples
    --------
    >>> import tempfile
    >>> from dendrocap.reproduction import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(reproduce(["fig2c"], out=folder)).name
    'report.html'
    """
    written = made.path("report.html")
    write_file(written, page("report", **content(made)))
    return written


@lru_cache(maxsize=1)
def best_estimate() -> Capacity:
    """Capacity of the neuron of the paper's simulations; takes five seconds, once."""
    size = PRESETS[FULL_SIZE]
    return capacity(DendriticNeuron(NeuronSpec(Polsky(), 0.5, 0.5), size.n_inputs, size.n_branches))


def content(made: Reproduction) -> dict[str, Any]:
    """What a report says, as plain data."""
    full_size, size = made.preset == FULL_SIZE, PRESETS[FULL_SIZE]
    own = Counter(judged.verdict for judged in made.judged)
    full = Counter(one.verdict for one in full_size_verdicts().values())
    against = ", ".join(one.claim.id for one in made.judged if one.contradicts_full_size)
    return {
        "title": f"The paper reproduced, {made.preset} preset",
        "introduction": INTRODUCTION,
        "best": BEST.format(size=size, answer=best_estimate().in_words),
        "command": COMMAND.format(size=size),
        "full_size": full_size,
        "warnings": [] if full_size else [SMALL, *([CONTRADICTION.format(claims=against)] if against else [])],
        "verdicts": [
            {"verdict": verdict, "claims": own[verdict], "full": full[verdict], "meaning": meaning}
            for verdict, meaning in MEANINGS.items()
            if own[verdict] or (not full_size and full[verdict])
        ],
        "sections": [
            {
                "name": figure.name,
                "title": figure.title,
                "origin": figure.origin,
                "done": outcome.status == DONE,
                "problem": outcome.reason and outcome.status != MISSING and outcome.status,
                "outcome": outcome,
                "facts": _facts(outcome),
                "counts": [(verdict, n) for verdict in MEANINGS if (n := _count(made.claims_of(figure.name), verdict))],
                # Verdicts at full size are not listed for a figure that does not depend on the size.
                "beside": not full_size and outcome.settings != figure.settings(size),
                "claims": [
                    {
                        "judged": judged,
                        "full": full_size_verdicts().get(judged.claim.id),
                        "remark": f"{judged.claim.how} {judged.note[:1].upper()}{judged.note[1:]}".strip(),
                    }
                    for judged in made.claims_of(figure.name)
                ],
            }
            for figure, outcome in zip(selected(), made.outcomes, strict=True)
        ],
        "path": made.path,
    }


def _count(judged: list[Judged], verdict: str) -> int:
    return sum(one.verdict == verdict for one in judged)


def _facts(outcome: FigureOutcome) -> str:
    """Settings and running time of a figure."""
    facts = [outcome.settings] if outcome.settings else []
    if outcome.status == DONE:
        facts.append(f"made in {_duration(outcome.seconds)}")
        if outcome.core_seconds:
            facts.append(f"simulations: {_duration(outcome.core_seconds)} of one core")
        facts.append(f"dendrocap {outcome.version}")
    return "; ".join(facts)


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.0f} min"
