"""Every public question of theory against stored numbers: a change of the code that should not move them does not.

``python -m tests.theory.test_reference_numbers`` writes tests/data/reference_numbers.json again, after a change that is
meant to move numbers; the message of that commit gives the reason. Each question names the relative tolerance that its
method reaches. Numbers below 1e-6 are compared absolutely.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import dendrocap as dc
from dendrocap import theory

STORED = Path(__file__).parents[1] / "data" / "reference_numbers.json"


class Question(NamedTuple):
    ask: Callable[[], Any]
    tolerance: float
    fields: tuple[str, ...]  # attributes of the answer; none if it is a number, or a tuple of numbers


QUESTIONS: dict[str, Question] = {}


def ask(name: str, tolerance: float, call: Callable[..., Any], *args: Any, fields: str = "", **options: Any) -> None:
    QUESTIONS[name] = Question(lambda: call(*args, **options), tolerance, tuple(fields.split()))


POLSKY, RELU = dc.Polsky(0.33, 15), dc.ReLU()
KINDS = {"linear": dc.Linear(), "relu": RELU, "saturating": dc.SaturatingReLU(), "polsky": POLSKY}
REFERENCE = dc.NeuronSpec(POLSKY, 0.5, 0.5)
RECTIFIED = dc.NeuronSpec(RELU, 0.5, 0.5)
HUMP = dc.NeuronSpec(dc.Custom(lambda x: np.exp(-((np.asarray(x) - 1.0) ** 2)), domain=(-6.0, 8.0)), 0.5, 0.3)
TWO = dc.NeuronSpec(
    populations=(
        dc.Branches(POLSKY, 0.5, 0.5, mean_output=0.3),
        dc.Branches(RELU, 0.4, 0.5, mean_output=0.7),
    ),
    theta_s=0.5,
)
TREE = dc.NeuronSpec(levels=(dc.Level(RELU, 0.5), dc.Level(POLSKY, 0.4)), theta_s=0.5)
INHIBITED = dc.NeuronSpec(POLSKY, 0.5, 0.5, inhibition=dc.Inhibition(0.2, 0.25))
UNEQUAL_LABELS = dc.TaskSpec(f_out=0.3)

AT_CAPACITY = "alpha_c silent_fraction Q mean_shift preactivation_mean preactivation_sd Gamma0"
AT_LOAD = "Q q M_hat q_hat free_entropy stability mean_shift"

for kind, g in KINDS.items():
    for theta_d in (0.05, 0.5, 5.0):
        for name, task in {
            "usual": dc.TaskSpec(),
            "sparse": dc.TaskSpec(f_in=0.1, f_out=0.2, kappa=0.05),
            "correlated": dc.TaskSpec(branch_correlation=1.0),
        }.items():
            spec = dc.NeuronSpec(g, theta_d, 0.5)
            ask(f"capacity {kind} {theta_d} {name}", 1e-11, dc.critical_capacity, spec, task, fields=AT_CAPACITY)
    for theta_d in (0.05, 0.5, 3.0):
        spec = dc.NeuronSpec(g, theta_d, 0.5)
        for load in (0.0, 0.1, 0.5, 0.9):
            ask(f"state {kind} {theta_d} {load}", 1e-9, dc.saddle_point, spec, alpha=load, fields=AT_LOAD)

for steps in (1, 2):

    def broken(name, neuron, *task, fields=AT_CAPACITY, steps=steps, **options):
        ask(f"{steps} steps {name}", 1e-9, dc.critical_capacity, neuron, *task, rsb=steps, fields=fields, **options)

    broken("polsky", REFERENCE)
    broken("relu", RECTIFIED, dc.TaskSpec(f_out=0.3, kappa=0.1))
    broken("short branches", REFERENCE, branch_size=37)
    broken("two populations", TWO, fields="alpha_c silent_fraction W_bar")
    broken("inhibition", INHIBITED, fields="alpha_c silent_fraction")
    broken("tree", TREE, fields="alpha_c silent_fraction Q")
ask("full breaking", 1e-8, dc.critical_capacity, REFERENCE, rsb="full", fields="alpha_c steps_error")

for name, neuron, tolerance, fields in (
    ("two populations", TWO, 1e-11, "alpha_c silent_fraction"),
    ("inhibition", INHIBITED, 1e-11, "alpha_c silent_fraction"),
    ("tree", TREE, 1e-11, AT_CAPACITY),
    ("hump", HUMP, 1e-10, "alpha_c Q"),
    (
        "bounded weights",
        dc.NeuronSpec(POLSKY, 0.5, 0.5, prior=dc.Bounded(3.0)),
        1e-11,
        "alpha_c saturated_fraction",
    ),
):
    ask(f"capacity {name}", tolerance, dc.critical_capacity, neuron, fields=fields)

SOME = "Q q free_entropy stability"
BOUNDED = dc.NeuronSpec(POLSKY, 0.5, 0.5, prior=dc.Bounded(4.0))
for name, neuron, task, options, fields in (
    ("all of the task", REFERENCE, dc.TaskSpec(0.2, 0.3, 0.1, 1.0), {"alpha": 0.6}, AT_LOAD),
    ("near capacity", REFERENCE, dc.TaskSpec(), {"alpha": 4.8}, AT_LOAD),
    ("bounded weights", BOUNDED, dc.TaskSpec(), {"alpha": 0.6}, AT_LOAD),
    ("ridge", dc.NeuronSpec(RELU, 0.5, 0.5, prior=dc.Ridge(2.0)), dc.TaskSpec(), {"alpha": 0.5}, AT_LOAD),
    (
        "temperature",
        REFERENCE,
        dc.TaskSpec(),
        {"alpha": 1.5, "channel": dc.Temperature(0.3)},
        f"{AT_LOAD} training_error",
    ),
    (
        "probit",
        REFERENCE,
        dc.TaskSpec(),
        {"alpha": 0.8, "channel": dc.Probit(0.2)},
        f"{AT_LOAD} training_error noisy_error",
    ),
    ("two populations", TWO, dc.TaskSpec(), {"alpha": 0.6}, SOME),
    ("short branches", REFERENCE, dc.TaskSpec(), {"alpha": 0.6, "branch_size": 200}, SOME),
    ("inhibition", INHIBITED, dc.TaskSpec(), {"alpha": 0.6}, SOME),
    ("tree", TREE, dc.TaskSpec(), {"alpha": 0.6}, AT_LOAD),
    ("hump", HUMP, dc.TaskSpec(), {"alpha": 0.4}, "Q q free_entropy"),
):
    tolerance = 1e-8 if name in ("near capacity", "hump") else 1e-9
    ask(f"state {name}", tolerance, dc.saddle_point, neuron, task, fields=fields, **options)

for name, neuron in {
    "polsky": REFERENCE,
    "relu": RECTIFIED,
    "tree": TREE,
    "two populations": TWO,
    "inhibition": INHIBITED,
}.items():
    ask(f"stability limit {name}", 1e-8, dc.stability_limit, neuron, fields="alpha")
ask("clusters", 1e-7, dc.broken_saddle_point, REFERENCE, alpha=1.2, fields="free_entropy internal_entropy Q")
ask(
    "complexity",
    1e-6,
    dc.complexity_curve,
    REFERENCE,
    alpha=1.2,
    m=[0.3, 0.6],
    fields="complexity internal_entropy",
)
ask(
    "local entropy",
    1e-7,
    dc.local_entropy,
    REFERENCE,
    alpha=0.4,
    distance=[0.05, 0.2, 0.5],
    fields="entropy ball_entropy coupling stability",
)
ask(
    "local entropy around a robust solution",
    1e-7,
    dc.local_entropy,
    RECTIFIED,
    UNEQUAL_LABELS,
    alpha=0.3,
    distance=[0.1, 0.3],
    reference_kappa=0.1,
    fields="entropy stability",
)
ask("teacher", 1e-10, dc.teacher_student, REFERENCE, alpha=1.0, fields="gibbs_error bayes_error q")
LINEAR = dc.NeuronSpec(dc.Linear(), 0.5, 0.5)
ask("student", 1e-9, dc.teacher_student, LINEAR, alpha=1.0, teacher=REFERENCE, fields="gibbs_error Q q R")
ask("crossing load", 1e-6, dc.crossing_load, REFERENCE)
ask(
    "learned state",
    1e-9,
    dc.learned_state,
    REFERENCE,
    alpha=1.0,
    gamma_ce=5.0,
    fields="training_error loss Q log_tau",
)
ask(
    "learned state relu",
    1e-9,
    dc.learned_state,
    RECTIFIED,
    UNEQUAL_LABELS,
    alpha=2.0,
    gamma_ce=2.0,
    fields="training_error loss",
)
ask("margin", 1e-10, dc.maximal_margin, REFERENCE, alpha=1.0, fields="kappa Q")
ask("relative margin", 1e-10, dc.maximal_margin, REFERENCE, alpha=1.0, criterion="relative", fields="kappa")
ask("least error", 1e-6, dc.least_noise_error, REFERENCE, alpha=1.0, flips=0.05)

for name, state in {
    "state": lambda: dc.saddle_point(REFERENCE, alpha=0.4),
    "capacity": lambda: dc.critical_capacity(REFERENCE),
    "learned state": lambda: dc.learned_state(REFERENCE, alpha=1.0, gamma_ce=5.0),
    "margin": lambda: dc.maximal_margin(REFERENCE, alpha=1.0),
    "short branches": lambda: dc.critical_capacity(REFERENCE, rsb=1, branch_size=37),
}.items():
    ask(f"flips {name}", 1e-8, lambda state=state: dc.noise_error(state(), flips=0.05))
    ask(f"synaptic noise {name}", 1e-8, lambda state=state: dc.noise_error(state(), synaptic=0.3))

ask("branch stability", 1e-5, dc.branch_stability, REFERENCE, fields="curvature kappa_c")
ask(
    "best dendrite",
    1e-6,
    dc.best_dendrite,
    10.0,
    0.5,
    task=dc.TaskSpec(kappa=0.1),
    rsb=0,
    fields="alpha_c theta_s height",
)
COMMITTEE = dc.NeuronSpec(RELU, 0.0, prior=dc.model.Spherical())
ask("committee", 1e-9, dc.critical_capacity, COMMITTEE, rsb=1, fields="alpha_c")
ask("committee stability", 1e-8, dc.stability_limit, COMMITTEE, fields="alpha")
CELL = dc.DendriticNeuron(REFERENCE, 999, 27)
ask("estimate fast", 1e-9, dc.capacity, CELL, accuracy="fast", fields="alpha_c silent_fraction")
# The search for the worst direction of a finite soma ends within 1e-6 of its goal on another machine.
ask("estimate best", 1e-6, dc.capacity, CELL, seed=0, fields="alpha_c error silent_fraction")
ask(
    "thresholds of weights",
    1e-8,
    lambda: theory.somatic_thresholds(POLSKY, dc.critical_capacity(REFERENCE).weights),
)
ask("silent range", 1e-6, theory.silent_range, POLSKY, 0.5, fields="low high")
ask("slope at large thresholds", 1e-9, theory.large_threshold_slope, POLSKY)
ask("relu at a large threshold", 1e-9, theory.relu_large_threshold_capacity, 50.0)
ask("large margin", 1e-9, theory.large_margin_capacity, REFERENCE)
ask("sparse labels", 1e-9, theory.sparse_labels_capacity, REFERENCE, 0.01)


def law(state):
    """Density, distribution, quantiles and moments of the weights of a state."""
    weights, at = state.weights, np.array([0.1, 1.0, 3.0])
    quantiles = weights.ppf(np.array([0.3, 0.9, 0.99]))
    return np.concatenate([weights.pdf(at), weights.cdf(at), quantiles, [weights.mean(), weights.std()]])


ask("weights capacity", 1e-8, lambda: law(dc.critical_capacity(REFERENCE)))
ask("weights broken", 1e-8, lambda: law(dc.critical_capacity(REFERENCE, rsb=1)))
ask("weights load", 1e-8, lambda: law(dc.saddle_point(REFERENCE, alpha=0.5)))
ask("weights bounded", 1e-8, lambda: law(dc.saddle_point(BOUNDED, alpha=0.6)))


def numbers(question: Question) -> list[float] | str:
    """The answer as numbers, or the kind of refusal."""
    try:
        answer = question.ask()
    except dc.DendrocapError as error:
        return type(error).__name__
    found = [getattr(answer, name, np.nan) for name in question.fields] if question.fields else [answer]
    return np.concatenate([np.ravel(np.asarray(one, float)) for one in found]).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_numbers_of_every_question_stay(name):
    expected, found = json.loads(STORED.read_text(encoding="utf-8"))[name], numbers(QUESTIONS[name])
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
    else:
        tolerance = QUESTIONS[name].tolerance
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-6 * tolerance)


if __name__ == "__main__":
    rows = [f"{json.dumps(name)}: {json.dumps(numbers(question))}" for name, question in QUESTIONS.items()]
    STORED.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(f"{len(QUESTIONS)} questions", file=sys.stderr)
