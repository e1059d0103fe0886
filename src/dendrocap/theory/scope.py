"""What is derived for what: one table of refusals, and the check that every question of the theory makes first.

A question takes every feature of a neuron, a task and a channel that `REFUSED` does not name for it. A feature that
excludes others is a row of its own. docs/limits.md shows the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dendrocap.model import NeuronSpec, TaskSpec
from dendrocap.model.neuron import Spherical, check_spec, is_usual
from dendrocap.theory.dendrite import is_monotone
from dendrocap.theory.patterns import Channel, is_hard
from dendrocap.validation import refuse


class Feature(NamedTuple):
    """A feature: how the page calls it, its parameter, what is allowed without it, and its value if it is there."""

    words: str
    name: str
    allowed: str
    of: Callable[[Any], Any]  # a neuron, a task or a channel


def _inhibition(neuron: NeuronSpec) -> Any:
    kinds = neuron.populations or (neuron,)
    return next((kind.inhibition for kind in kinds if kind.inhibition is not None and kind.inhibition.share), None)


def _falling(neuron: NeuronSpec) -> Any:
    parts = neuron.levels or neuron.populations or (neuron,)
    return next((part.nonlinearity for part in parts if not is_monotone(part.nonlinearity)), None)


def _prior(neuron: NeuronSpec) -> Any:
    return None if is_usual(neuron.prior) or isinstance(neuron.prior, Spherical) else neuron.prior


OF_NEURON = {
    "levels": Feature(
        "deep tree", "neuron.n_levels", "1", lambda neuron: neuron.n_levels if neuron.n_levels > 1 else None
    ),
    "inhibition": Feature("inhibition", "inhibition", "None", _inhibition),
    "populations": Feature("populations", "neuron.populations", "empty", lambda neuron: neuron.populations or None),
    "prior": Feature("prior", "prior", "NonNegative()", _prior),
    "sphere": Feature(
        "Spherical", "prior", "NonNegative()", lambda one: one.prior if isinstance(one.prior, Spherical) else None
    ),
    "falling": Feature("g that falls", "nonlinearity", "a function that never falls", _falling),
}
OF_TASK = {
    "correlation": Feature(
        "correlated inputs", "task.branch_correlation", "0", lambda task: task.branch_correlation or None
    ),
    "margin": Feature("margin", "task.kappa", "0", lambda task: task.kappa or None),
    "f_out": Feature("f_out", "task.f_out", "1/2", lambda task: task.f_out if task.f_out != 0.5 else None),
}
OF_CHANNEL = {
    "channel": Feature("channel", "channel", "HardMargin()", lambda channel: None if is_hard(channel) else channel)
}
FEATURES = OF_NEURON | OF_TASK | OF_CHANNEL

# Rows of features.
POPULATIONS, SHORT, FALLING = "populations, inhibition or branch_size", "branch_size", "a g that falls"
SPHERE, TEMPERATURE = "Spherical weights", "a temperature"

ALIKE = {"levels": "", "prior": "", "falling": "", "channel": ""}
EQUAL = {"levels": "", "inhibition": "", "populations": "its branches must all be alike", "prior": ""}
TREE = {name: why for name, why in EQUAL.items() if name != "levels"}
LABELS = {"f_out": "a teacher gives the labels", "margin": "a teacher gives the labels"}
NO_INPUT = "--"
NO_NEURON = dict.fromkeys(OF_NEURON, NO_INPUT)
WEIGHTS_ALONE = {**NO_NEURON, "correlation": "weights cannot show how inputs are correlated"}

_REFUSED: dict[str, dict[str, str]] = {
    POPULATIONS: ALIKE,
    SHORT: {**ALIKE, "inhibition": "leave branch_size out, for the limit of long branches"},
    FALLING: {"prior": "", "correlation": "", "channel": ""},
    SPHERE: {"populations": "", "inhibition": "", "prior": "", "correlation": "they have no mean"},
    TEMPERATURE: {
        "f_out": "with unequal labels it may pay to give up one of them, a state that is not derived; Probit(sigma) "
        "takes any f_out"
    },
    "critical_capacity(rsb=0)": {},
    "critical_capacity(rsb >= 1)": {"prior": "critical_capacity(rsb=0), saddle_point and stability_limit take others"},
    "best_inhibition": EQUAL,
    "saddle_point": {},
    "stability_limit": {},
    "broken_saddle_point": TREE,
    "complexity_curve": TREE,
    "branch_stability": {**ALIKE, "populations": "stability is that of like branches"},
    "capacity": {},
    "capacity of a neuron with a size": {
        "prior": "",
        "inhibition": "its branches are short and few; a NeuronSpec stands for infinitely many long branches",
    },
    "capacity, in its best estimate, with a size": {
        "prior": "",
        "inhibition": "",
        "correlation": "ask for accuracy='fast' (--accuracy fast), or with a NeuronSpec for infinitely many branches",
    },
    "exact_branch_law": {**NO_NEURON, "correlation": ""},
    "maximal_margin": {**TREE, "margin": "the margin is what is asked for"},
    "learned_state": {**EQUAL, "margin": "the cross-entropy knows no margin"},
    "local_entropy": {**EQUAL, "falling": ""},
    "teacher_student": {**EQUAL, "correlation": "generalisation from correlated inputs is not derived", **LABELS},
    "noise_error": {"levels": "noise in deeper trees is not derived", "inhibition": "", "prior": "", "channel": ""},
    "noise_error of short or unequal branches": {
        **ALIKE,
        "inhibition": "",
        "correlation": "long, equal branches may have correlated inputs",
    },
    "least_noise_error": {**EQUAL, "margin": "", "f_out": ""},
    "capacity_gradient": EQUAL,
    "fit_weights": WEIGHTS_ALONE,
    "somatic_thresholds": WEIGHTS_ALONE,
    "linear_margin": WEIGHTS_ALONE,
    "zero_load": TREE,
    "perceptron_limit": EQUAL,
    "large_threshold_slope": {**NO_NEURON, "correlation": ""},
    "large_margin_capacity": {**TREE, "falling": ""},
    "sparse_labels_capacity": TREE,
}
_OF_CHANNELS = (POPULATIONS, SHORT, FALLING, SPHERE, TEMPERATURE, "saddle_point", "noise_error")
_OF_SPHERES = ("critical_capacity(rsb=0)", "critical_capacity(rsb >= 1)", "saddle_point", "stability_limit")
REFUSED = {
    question: ({} if question in (*_OF_SPHERES, SPHERE, TEMPERATURE) else {"sphere": ""})
    | refused
    | ({} if question in _OF_CHANNELS else {"channel": NO_INPUT})
    for question, refused in _REFUSED.items()
}


def check(
    question: str, neuron: Any = ..., task: TaskSpec | None = None, channel: Channel | None = None, name: str = "neuron"
) -> TaskSpec:
    """The task, or the default one, after refusing what is no `NeuronSpec` and what the question does not take."""
    task = TaskSpec() if task is None else task
    if not isinstance(task, TaskSpec):
        raise refuse("task", task, "a TaskSpec")
    if neuron is not ...:
        check_spec(neuron, name)
    refused = REFUSED[question]
    for features, given in ((OF_NEURON, neuron), (OF_TASK, task), (OF_CHANNEL, channel)):
        for key, feature in features.items() if given not in (..., None) else ():
            found = feature.of(given) if key in refused else None
            if found is not None:
                why = f": {refused[key]}" if refused[key] else ""
                raise refuse(feature.name, found, f"{feature.allowed} for {question}{why}")
    return task


def table() -> list[str]:
    """The lines of the table of docs/limits.md: a row for each question, a column for each feature."""
    columns = [feature.words for feature in FEATURES.values()]
    lines = [f"| question | {' | '.join(columns)} |", "| --- " * (len(columns) + 1) + "|"]
    for question, refused in REFUSED.items():
        cells = [NO_INPUT if refused.get(key) == NO_INPUT else "no" if key in refused else "yes" for key in FEATURES]
        lines.append(f"| {question} | {' | '.join(cells)} |")
    return lines
