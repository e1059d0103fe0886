"""The table that leads from a question to one command and one function, for ``--help`` and the documentation.

``python -m dendrocap.cli.questions`` prints the table of docs/which_function.md.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "LEARN",
    "MEASURED",
    "MORE",
    "PANELS",
    "QUESTIONS",
    "STATES",
    "STORE",
    "Question",
    "help_text",
    "markdown_table",
]

# Headings under which ``--help`` lists the commands.
STORE, STATES, LEARN, MEASURED, MORE = PANELS = (
    "What can it store?",
    "What are its states good for?",
    "What does learning reach?",
    "What do my recordings say?",
    "The paper, many runs, and a page to play with",
)


class Question(NamedTuple):
    """A question of a user, the command and the function that answer it, what to look at, and where to read more."""

    asks: str
    command: str
    function: str
    look_at: str
    page: str


QUESTIONS = (
    Question(
        "How many patterns can it store?",
        "capacity --theta-d 0.5 -N 999 -K 27",
        "capacity",
        "capacity with its error, and patterns; the paper's number is shown beside them",
        "theory/real_sizes.md",
    ),
    Question(
        "Can I trust this number?",
        "capacity -N 999 -K 27 --estimates",
        "Capacity",
        "the estimates that lead to the answer, and the validity lights",
        "theory/exactness.md",
    ),
    Question(
        "How many synapses are silent?",
        "capacity -N 999 -K 27 --accuracy fast",
        "capacity",
        "silent; its error too, unless `--accuracy fast` is given",
        "rsb.md",
    ),
    Question(
        "Which branches matter?",
        "capacity -N 999 -K 27 --json",
        "branch_stability",
        "n_on, the number of branches that are mostly on, and mean_outputs; define your own groups with `Branches`",
        "theory/unequal_branches.md",
    ),
    Question(
        "What if inhibition is blocked?",
        "perturb --theta-d-change -25",
        "perturb",
        "misses and false alarms of a trained neuron, also with failing synapses or a flatter g",
        "biology.md",
    ),
    Question(
        "What if inputs are correlated?",
        "capacity --branch-correlation 0,1,5",
        "TaskSpec",
        "capacity against `branch_correlation`, for infinitely many branches",
        "theory/correlated_inputs.md",
    ),
    Question(
        "What if synapses saturate?",
        "capacity --w-max 1.5,3,6",
        "Bounded",
        "capacity, silent and saturated fraction, replica symmetric; `Ridge` prefers small weights",
        "theory/priors_and_channels.md",
    ),
    Question(
        "How many errors above capacity?",
        "saddle-point --alpha 8 --temperature 0.1",
        "Temperature",
        "training_error, replica symmetric: an estimate where the stability is negative; `Probit` is output noise",
        "theory/priors_and_channels.md",
    ),
    Question(
        "How many branches are best?",
        "capacity -N 999 -K 9,27,81",
        "capacity",
        "the largest capacity whose validity lights are good",
        "theory/how_many_branches.md",
    ),
    Question(
        "What is the paper's number?",
        "capacity --rsb 0",
        "critical_capacity",
        "alpha_c and silent_fraction, both replica symmetric",
        "paper_notes.md",
    ),
    Question(
        "What do solutions look like?",
        "saddle-point --alpha 0.5",
        "saddle_point",
        "overlaps, free entropy, and whether replica symmetry is stable at this load",
        "theory/capacity.md",
    ),
    Question(
        "Which dendrite stores most?",
        "best-dendrite --slope-limit 5",
        "best_dendrite",
        "alpha_c of the best g under a limit on its slope and at a margin, and of others",
        "theory/best_dendrite.md",
    ),
    Question(
        "Does learning reach the limit?",
        "algorithmic-capacity --patience 200",
        "algorithmic_capacity",
        "the largest load solved; compare it with the capacity",
        "learning.md",
    ),
    Question(
        "Can these patterns be stored?",
        "solve --alpha 1.5 -N 333 -K 9",
        "solve",
        "solved, and the number of errors left",
        "solvers.md",
    ),
    Question(
        "How fast does it learn?",
        "train --alpha 0.5",
        "train",
        "epochs until no pattern is wrong",
        "results/learning_speed.md",
    ),
    Question(
        "Is it robust to noise?",
        "robustness --alpha 0.5",
        "noise_robustness",
        "errors added by flipped inputs and by noisy synapses",
        "results/learning.md",
    ),
    Question(
        "How robust can it be at best?",
        "noise --alpha 0.5",
        "noise_error",
        "errors of typical, largest-margin and learned states, and the best possible",
        "theory/noise.md",
    ),
    Question(
        "Where does training end?",
        "learned-state --alpha 0.5",
        "learned_state",
        "training error, loss and silent fraction at the minimum of the loss",
        "theory/learned_states.md",
    ),
    Question(
        "How wide are its minima?",
        "local-entropy --alpha 0.3",
        "local_entropy",
        "ln share of solutions at a distance from one; `dendrocap.measured_local_entropy` for learned weights",
        "theory/local_entropy.md",
    ),
    Question(
        "Does it generalise?",
        "generalise mnist",
        "DendriticClassifier",
        "test error, compared with the linear neuron",
        "learn/machine_learning.md",
    ),
    Question(
        "Can it learn from a teacher?",
        "teacher-student --teacher polsky",
        "teacher_student",
        "errors on unseen patterns; `-g linear --crossing` shows when dendrites help",
        "theory/generalisation.md",
    ),
    Question(
        "What does my measured dendrite do?",
        "fit nonlinearity curve.csv",
        "fit_nonlinearity",
        "x_min, gamma and the scale in millivolts",
        "learn/experimenters.md",
    ),
    Question(
        "What do my EPSPs say?",
        "fit weights epsp.csv --tested 8050",
        "fit_weights",
        "thresholds, silent fraction, and what such a neuron stores",
        "learn/experimenters.md",
    ),
    Question(
        "What can my cell store?",
        "cell cell.swc",
        "cell_from_morphology",
        "capacity, silent synapses, and the contribution of each group of branches",
        "learn/experimenters.md",
    ),
    Question(
        "Can I have all of it on one page?",
        "report curve.csv epsp.csv -o report.html",
        "fit_weights",
        "fits with figures, intervals, validity lights and methods, ready to print",
        "learn/experimenters.md",
    ),
    Question(
        "Is a figure of the paper right?",
        "reproduce fig3",
        "reproduction.reproduce",
        "each claim with its verdict, in report.html",
        "reproduction.md",
    ),
    Question(
        "How do I run thousands of these?",
        "sweep run sweep.toml",
        "run_sweep",
        "a store that resumes after any interruption",
        "sweeps.md",
    ),
    Question(
        "Can I just play with it?",
        "explore",
        "explorer",
        "a local page with sliders",
        "explorer.md",
    ),
)


def help_text() -> str:
    """The questions with their commands, in lines that fit 80 columns."""
    width = max(len(question.asks) for question in QUESTIONS)
    return "\n".join(f"{question.asks:<{width}}  {question.command}" for question in QUESTIONS)


def markdown_table() -> str:
    """The questions as a table for docs/which_function.md, with links relative to docs/."""
    lines = ["| question | command | in Python | look at | read on |", "| --- | --- | --- | --- | --- |"]
    for asks, command, function, look_at, page in QUESTIONS:
        name = page.removesuffix(".md").rpartition("/")[2].replace("_", " ")
        lines.append(f"| {asks} | `dendrocap {command}` | `dendrocap.{function}` | {look_at} | [{name}]({page}) |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown_table())
