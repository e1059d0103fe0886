"""The answer to "how much can this neuron store", and its representation as text.

Every output that shows a capacity or a silent fraction takes its text from `Capacity.texts`: the best estimate with
its error, and the paper's replica-symmetric estimate, named as such. The error determines the number of digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import Any

from dendrocap.answers.validity import Flag
from dendrocap.display import Displayed, with_digits, with_error
from dendrocap.model import DendriticNeuron, NeuronSpec, TaskSpec
from dendrocap.theory.results import ASSUMES, SYMMETRIC
from dendrocap.theory.solution import PopulationWeights

PAPER = "the paper's replica-symmetric estimate"  # the name of its numbers in every output

DIGITS = 3  # digits of a number without its own error, such as the paper's

NONE = "none"  # if there is no such number


def binary_entropy(f: float) -> float:
    """h2(f), the bits carried by a label that is 1 with probability f [bits].

    Examples
    --------
    >>> binary_entropy(0.5)
    1.0
    """
    return -(f * math.log2(f) + (1.0 - f) * math.log2(1.0 - f))


@dataclass(frozen=True)
class Capacity(Displayed):
    """Capacity of a neuron: the answer, the estimates that lead to it, and their validity.

    Attributes
    ----------
    alpha_c : float
        Patterns per synapse, the best estimate.
    error : float
        Its error: statistical, plus 3 % and half the square of the correction for the number of branches if
        first-order corrections were multiplied; NaN with ``accuracy="fast"``, and if no split was searched for.
    silent_fraction, W_bar : float
        Fraction of silent synapses, and mean weight, at capacity.
    silent_error : float
        Change of the silent fraction by the last step of symmetry breaking; NaN with ``accuracy="fast"``.
    paper_silent_fraction : float or None
        The paper's replica-symmetric estimate of the silent fraction; None if there is none.
    mean_outputs : tuple of float
        Mean output of each population of branches.
    populations : tuple of PopulationWeights
        The populations.
    estimates : dict
        Names and values of all estimates, from the paper's to the best.
    assumes : dict
        Assumptions of each estimate.
    validity : dict
        Flags with explanations: the assumptions of the best estimate.
    remark : str
        A remark that must accompany the answer.

    Examples
    --------
    >>> from dendrocap import DendriticNeuron, NeuronSpec, Polsky, capacity
    >>> neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), n_inputs=999, n_branches=27)
    >>> quick = capacity(neuron, accuracy="fast")
    >>> print(quick.in_words)
    about 2.2 patterns per synapse, about 25 % silent (the paper's replica-symmetric estimate: 4.95, 79 % silent)
    >>> round(quick.alpha_c, 4), quick.n_patterns
    (2.2023, 2200)
    """

    alpha_c: float
    error: float
    silent_fraction: float
    silent_error: float
    paper_silent_fraction: float | None
    W_bar: float
    mean_outputs: tuple[float, ...]
    estimates: dict[str, float]
    validity: dict[str, Flag]
    remark: str
    accuracy: str
    neuron: NeuronSpec | DendriticNeuron
    task: TaskSpec
    populations: tuple[PopulationWeights, ...] = field(repr=False)
    n_on: int | None = None
    seed: int = 0

    _displayed = ("answer", "patterns", "silent", "paper")

    @property
    def n_inputs(self) -> int | None:
        """Number of inputs; None for infinitely many branches."""
        return self.neuron.n_inputs if isinstance(self.neuron, DendriticNeuron) else None

    @property
    def n_patterns(self) -> int | None:
        """Number of patterns that the whole neuron stores; None without a number of inputs."""
        return None if self.n_inputs is None else round(self.alpha_c * self.n_inputs)

    @property
    def bits_per_synapse(self) -> float:
        """Information in the labels of these patterns, for one synapse."""
        return self.alpha_c * binary_entropy(self.task.f_out)

    @property
    def bits(self) -> float | None:
        """The same for the whole neuron; None without a number of inputs."""
        return None if self.n_inputs is None else self.bits_per_synapse * self.n_inputs

    @property
    def paper_alpha_c(self) -> float | None:
        """The paper's replica-symmetric estimate; None if there is none."""
        return self.estimates.get(SYMMETRIC)

    @property
    def assumes(self) -> dict[str, str]:
        """Assumptions of each estimate."""
        return {name: ASSUMES[name] for name in self.estimates}

    def texts(self) -> dict[str, str]:
        """The numbers as text, as shown everywhere: the error determines the digits; missing numbers are "none".

        Examples
        --------
        >>> from dendrocap import Linear, NeuronSpec, capacity
        >>> found = capacity(NeuronSpec(Linear(), theta_d=0.5, theta_s=0.5)).texts()
        >>> found["capacity"], found["paper_capacity"], found["silent"], found["patterns"]
        ('1', '1', '50 %', 'none')
        """
        bits, n, paper, paper_silent = (
            binary_entropy(self.task.f_out), self.n_inputs, self.paper_alpha_c, self.paper_silent_fraction
        )  # fmt: skip
        return {
            "capacity": with_error(self.alpha_c, self.error),
            "paper_capacity": _plain(paper),
            "patterns": _scaled(self.alpha_c, self.error, n),
            "paper_patterns": _plain(None if n is None or paper is None else paper * n),
            "silent": f"{_scaled(self.silent_fraction, self.silent_error, 100.0)} %",
            "paper_silent": NONE if paper_silent is None else f"{100.0 * paper_silent:.0f} %",
            "bits_per_synapse": _scaled(self.alpha_c, self.error, bits),
            "bits": _scaled(self.alpha_c, self.error, None if n is None else bits * n),
            "W_bar": f"{self.W_bar:.2g}",
        }

    @property
    def answer(self) -> str:
        """The best estimate as text, with as many digits as its error justifies."""
        number = self.texts()["capacity"]
        return f"{number} pattern{'' if number == '1' else 's'} per synapse"

    @property
    def patterns(self) -> str:
        """Number of patterns stored by the whole neuron."""
        return self.texts()["patterns"]

    @property
    def silent(self) -> str:
        """The silent fraction in per cent."""
        return self.texts()["silent"]

    @property
    def paper(self) -> str:
        """The paper's replica-symmetric numbers, named as such."""
        shown = self.texts()
        if self.paper_alpha_c is None:
            return f"{PAPER}: {NONE}"
        return f"{PAPER}: {shown['paper_capacity']}, {shown['paper_silent']} silent"

    @property
    def in_words(self) -> str:
        """The answer in one line: the best estimate, then the paper's."""
        return f"{self.answer}, {self.silent} silent ({self.paper})"

    @property
    def title(self) -> str:
        """The answer as the title of a figure."""
        shown = self.texts()
        return rf"$\alpha_c$ = {shown['capacity']} (replica symmetric, as in the paper: {shown['paper_capacity']})"

    def __str__(self) -> str:
        shown = self.texts()
        stored = "" if self.n_patterns is None else f"{shown['patterns']} patterns, {shown['bits']} bits; "
        lines = [
            self.answer + (f" ({self.remark})" if self.remark else ""),
            f"{stored}{self.silent} of synapses silent",
            self.paper,
        ]
        width = max(map(len, self.estimates))
        lines += [f"  {name:<{width}}  {value:8.4g}  {ASSUMES[name]}" for name, value in self.estimates.items()]
        lines += [f"  {name}: {flag}" for name, flag in self.validity.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(name, getattr(self, name), "") for name in self._displayed]
        rows[0] = (*rows[0][:2], self.remark)
        rows += [(name, f"{value:.4g}", ASSUMES[name]) for name, value in self.estimates.items()]
        rows += [(name, flag.light, flag.words) for name, flag in self.validity.items()]
        cells = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        return f"<table><caption><b>Capacity</b> What the neuron can store</caption><tbody>{cells}</tbody></table>"

    def as_row(self) -> dict[str, Any]:
        """The answer as plain numbers and strings, for tables and JSON."""
        names = (
            "alpha_c", "error", "paper_alpha_c", "n_patterns", "bits", "bits_per_synapse", "silent_fraction",
            "silent_error", "paper_silent_fraction", "W_bar", "mean_outputs", "n_on", "accuracy", "remark",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names} | {
            "mean_outputs": list(self.mean_outputs),
            "estimates": dict(self.estimates),
            "validity": {name: {"light": flag.light, "words": flag.words} for name, flag in self.validity.items()},
        }


def _plain(value: float | None) -> str:
    return NONE if value is None else with_digits(value, DIGITS)


def _scaled(value: float, error: float, factor: float | None) -> str:
    """A multiple of a number with its error."""
    return NONE if factor is None else with_error(factor * value, factor * error)
