"""The numbers, curves and densities that the page shows for a neuron, independent of the browser."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dendrocap.answers import Capacity, capacity
from dendrocap.display import with_error
from dendrocap.errors import DendrocapError
from dendrocap.explorer.background import Status, Tell
from dendrocap.explorer.parameters import AXES, SLIDERS, Parameters, usual
from dendrocap.figures.measured import weight_density
from dendrocap.model import DendriticNeuron, Inhibition, Linear, NeuronSpec, Nonlinearity, TaskSpec
from dendrocap.numerics.types import Floats
from dendrocap.theory import PopulationWeights, critical_capacity, maximal_margin, noise_error, saddle_point

# Points of the paper's curve: at rest, while a slider moves, and while many pages move sliders at once.
DETAILS = {"full": 120, "draft": 60, "sketch": 12}
BROKEN_POINTS = 24

# An uploaded curve has a knot at every point, and the time of a solution grows with the number of knots and with the
# number of kinds of branches.
KNOTS_AT_FULL_RESOLUTION, FEWEST_POINTS, OF_TWO_KINDS = 10, 6, 2
LINEAR_POINTS = 40  # enough, because the dependence on the threshold is smooth and weak
USUAL_THETA_D = (0.01, 2.0)
SHORTEST = 4.0  # synapses per branch at the end of the axis of branches; there is no theory for shorter ones
NOTHING = "–"


@dataclass(frozen=True, eq=False)
class Curve:
    """Capacity against a parameter: the paper's estimate, the one with broken symmetry, and that without dendrites.

    Points without a solution are NaN; the curve with broken symmetry is empty until it is computed.
    """

    axis: str
    paper_x: Floats
    paper: Floats
    paper_silent: Floats
    broken_x: Floats
    broken: Floats
    broken_silent: Floats
    linear_x: Floats
    linear: Floats


@dataclass(frozen=True, eq=False)
class View:
    """The content of all figures for one neuron; without a solution densities are empty."""

    parameters: Parameters
    answer: Capacity | None  # the best estimate if it is known, otherwise the quick look
    problem: str  # why there is no answer
    curve: Curve
    dendrite_x: Floats  # branch inputs for the densities and for the output of each kind of branch
    dendrite_y: tuple[Floats, ...]
    density: Floats  # of branch inputs at capacity, for the answer and for the paper's estimate
    paper_density: Floats
    weight_mv: Floats  # non-zero weights at the soma, inhibitory ones negative, and their densities
    weight_density: Floats
    paper_weight_density: Floats


class Best(NamedTuple):
    """A question: the best estimate of the capacity of this neuron."""

    cell: DendriticNeuron | NeuronSpec
    task: TaskSpec

    def answer(self, tell: Tell) -> Capacity:
        """It, with its error."""
        return capacity(self.cell, self.task, callback=tell)


class Along(NamedTuple):
    """A question: capacity and silent fraction along an axis, with broken symmetry and branches of the real length.

    ``size`` is the length of a branch or, along the number of branches, the number of synapses.
    """

    neuron: NeuronSpec
    task: TaskSpec
    axis: str
    x: tuple[float, ...]
    size: float

    def answer(self, tell: Tell) -> tuple[Floats, Floats]:
        """Both, point by point."""
        found: Any = None
        alpha, silent = np.full(len(self.x), math.nan), np.full(len(self.x), math.nan)
        rsb = 0 if all(isinstance(g, Linear) for g in _kinds(self.neuron)) else 1  # linear g: convex, symmetric
        for place, value in enumerate(self.x):
            tell(place / len(self.x), "the curve with broken symmetry")
            length = self.size / value if self.axis == "n_branches" else self.size
            try:
                neuron = _at(self.neuron, self.axis, value)
                found = critical_capacity(neuron, self.task, rsb=rsb, branch_size=length, start=found if rsb else None)
            except DendrocapError:
                found = None
                continue
            alpha[place], silent[place] = found.alpha_c, found.silent_fraction
        return alpha, silent


def view(
    parameters: Parameters,
    *,
    detail: str = "full",
    best: Capacity | None = None,
    broken: tuple[Floats, Floats] | None = None,
) -> View:
    """The content of all figures, with the best estimate and the answer to `along_question` if they are known.

    Examples
    --------
    >>> print(view(Parameters(n_inputs=999, n_branches=27)).answer.in_words)
    about 2.2 patterns per synapse, about 25 % silent (the paper's replica-symmetric estimate: 4.95, 79 % silent)
    """
    answer, problem = (best, "") if best is not None else quick_look(parameters)
    kinds = [] if answer is None else list(answer.populations)
    both = kinds, _paper_populations(parameters.neuron, parameters.task)
    x = _dendrite_axis(parameters.kinds, [*kinds, *both[1]])
    w, per_mv = np.empty(0), parameters.units.mv_per_weight
    if kinds:
        # Beyond these the density is invisible.
        below, far = (_farthest(kinds, kind) for kind in ("inhibitory", "excitatory"))
        w = np.linspace(1e-9, 1.0, 160) * far
        if below > 0.0:
            w = np.concatenate([np.linspace(-1.0, -1e-9, 160) * below, w])
    density, paper_density = (_sum((one.fraction * one.preactivation.pdf(x) for one in listed), x) for listed in both)
    w_density, w_paper = (
        _sum((one.fraction * one.length * weight_density(one, w) for one in listed), w) for listed in both
    )
    outputs = tuple(g(x) for g in parameters.kinds)
    return View(
        parameters, answer, problem, _curve(parameters, detail, broken), x, outputs, density, paper_density, w * per_mv,
        w_density / per_mv, w_paper / per_mv,
    )  # fmt: skip


def _sum(densities: Iterable[Floats], x: Floats) -> Floats:
    """Their sum; empty without any."""
    listed = list(densities)
    return np.sum(listed, axis=0) if listed and x.size else np.empty(0)


def _farthest(kinds: Sequence[PopulationWeights], kind: str) -> float:
    """Beyond this strength nothing of the synapses of a kind is left to see."""
    listed = [one.weights for population in kinds for one in population.synapses if one.kind == kind]
    return max((float(one.ppf(0.998)) for one in listed if one is not None), default=0.0)


def key_numbers(shown: View) -> dict[str, str]:
    """The numbers in large type, as text."""
    parameters, answer = shown.parameters, shown.answer
    units = parameters.units
    numbers = {
        "theta_d_mv": _millivolts(units.theta_d_mv(parameters.theta_d)),
        "theta_s_mv": _millivolts(units.theta_s_mv(parameters.theta_s)),
    }
    if answer is None:
        words = ("capacity", "patterns", "silent", "bits_per_synapse")
        others = ("W_bar_mv", "gain", *NOISY)
        return numbers | dict.fromkeys((*words, *(f"paper_{name}" for name in words[:3]), *others), NOTHING)
    linear = linear_capacity(parameters.task, parameters.theta_d, parameters.inhibition(1.0))
    texts = answer.texts()
    del texts["bits"], texts["W_bar"]
    if answer.n_patterns is None:
        texts |= dict.fromkeys(("patterns", "paper_patterns"), NOTHING)
    return numbers | texts | {
        "W_bar_mv": _millivolts(units.weight_mv(mean_excitation(answer))),
        "gain": f"{with_error(answer.alpha_c / linear, answer.error / linear)} ×",
        **{name: _noisy(name, parameters.neuron, parameters.task, parameters.flips) for name in NOISY},
    }  # fmt: skip


def mean_excitation(answer: Capacity) -> float:
    """Mean weight of the synapses that excite; of all of them without inhibition."""
    shares = [(_share(kind, one), one) for kind in answer.populations for one in kind.synapses]
    excitatory = [(share, one.W_bar) for share, one in shares if one.kind == "excitatory"]
    return sum(share * W_bar for share, W_bar in excitatory) / sum(share for share, _ in excitatory)


def _share(kind: Any, synapses: Any) -> float:
    """Of all synapses of the neuron."""
    return float(kind.fraction * kind.length * synapses.share)


NOISY: dict[str, Callable[[NeuronSpec, TaskSpec], Any]] = {
    "typical_error_rs": lambda neuron, task: saddle_point(neuron, task, alpha=0.5),
    "margin_error_rs": lambda neuron, task: maximal_margin(neuron, task, alpha=0.5, criterion="relative"),
}


@lru_cache(maxsize=512)
def _state(name: str, neuron: NeuronSpec, task: TaskSpec) -> Any:
    """A state at load 1/2; None where there is none, or none whose noise is known."""
    if neuron.populations or neuron.inhibition:
        return None
    try:
        return NOISY[name](neuron, task)
    except DendrocapError:
        return None


def _noisy(name: str, neuron: NeuronSpec, task: TaskSpec, flips: float) -> str:
    """Patterns wrong at load 1/2 when inputs flip, in a state of the theory; a dash where that is not known."""
    try:
        return f"{100.0 * noise_error(_state(name, neuron, task), flips=flips):.2g} %"
    except DendrocapError:
        return NOTHING


def difference(one: Capacity, other: Capacity) -> dict[str, str]:
    """The difference of the second answer from the first, with its error."""

    def text(a: float, b: float, errors: tuple[float, float]) -> str:
        error = math.hypot(*errors)
        number = with_error(b - a, error)
        return number if b < a else number.replace("about ", "about +", 1) if "about" in number else f"+{number}"

    patterns = NOTHING
    if one.n_patterns is not None and other.n_patterns is not None:
        errors = (one.n_patterns * one.error / one.alpha_c, other.n_patterns * other.error / other.alpha_c)
        patterns = text(one.n_patterns, other.n_patterns, errors)
    return {
        "capacity": text(one.alpha_c, other.alpha_c, (one.error, other.error)),
        "patterns": patterns,
        "silent": text(
            100.0 * one.silent_fraction, 100.0 * other.silent_fraction,
            (100.0 * one.silent_error, 100.0 * other.silent_error),
        ) + " points",
    }  # fmt: skip


def _millivolts(value: float) -> str:
    """A number with three digits, never in scientific notation."""
    return f"{value:.3g} mV" if value < 999.5 else f"{value:,.0f} mV"


def quick_look(parameters: Parameters) -> tuple[Capacity | None, str]:
    """The quick look at a neuron, or why there is none: two kinds may have too few branches or synapses."""
    try:
        return _quick_look(parameters.cell, parameters.task)
    except DendrocapError as error:
        return None, str(error)


@lru_cache(maxsize=1024)
def _quick_look(cell: DendriticNeuron | NeuronSpec, task: TaskSpec) -> tuple[Capacity | None, str]:
    try:
        return capacity(cell, task, accuracy="fast"), ""
    except DendrocapError as error:
        return None, str(error)


@lru_cache(maxsize=256)
def _paper_populations(neuron: NeuronSpec, task: TaskSpec) -> tuple[PopulationWeights, ...]:
    """The populations of the paper's replica-symmetric solution; none if there is no solution."""
    try:
        return critical_capacity(neuron, task).populations
    except DendrocapError:
        return ()


# Curves ---------------------------------------------------------------------------------------------------------------
def curve_axis(parameters: Parameters, points: int) -> Floats:
    """The values of the parameter on the axis of the capacity plot."""
    if parameters.axis == "theta_d":
        low, high = USUAL_THETA_D
        # The range changes in decades, so that the curve stays the same while a slider moves.
        while parameters.theta_d < low:
            low /= 10.0
        return np.geomspace(low, high if parameters.theta_d <= high else 10.0, points)
    if parameters.axis == "n_branches":
        most = min(max(parameters.n_inputs / SHORTEST, 2.0), usual(SLIDERS["n_branches"])[1])
        return np.geomspace(1.0, most, points)
    low, high = parameters.reach
    margin = 0.005 * (high - low)
    return np.linspace(low + margin, high - margin, points)


def _curve(parameters: Parameters, detail: str, broken: tuple[Floats, Floats] | None) -> Curve:
    axis, task = parameters.axis, parameters.task
    x = linear_x = curve_axis(parameters, 2)
    if axis != "n_branches":  # the paper's limit has infinitely many branches, so its line is flat
        x = curve_axis(parameters, _fewer(parameters, DETAILS[detail]))
    paper = _paper_along(_at(parameters.neuron, axis, 0.5), task, axis, tuple(x.tolist()))
    if axis == "theta_d" and task.kappa > 0.0:
        linear_x = curve_axis(parameters, LINEAR_POINTS)
    inhibition = parameters.inhibition(1.0)
    linear = np.array(
        [linear_capacity(task, at if axis == "theta_d" else parameters.theta_d, inhibition) for at in linear_x.tolist()]
    )
    empty = np.empty(0)
    broken_x = empty if broken is None else np.array(along_question(parameters).x)
    return Curve(axis, x, *paper, broken_x, *(broken or (empty, empty)), linear_x, linear)


def along_question(parameters: Parameters) -> Along:
    """The question for the curve with broken symmetry; the same for every position of the neuron on the axis."""
    axis = parameters.axis
    x = curve_axis(parameters, _fewer(parameters, BROKEN_POINTS))
    size = parameters.branch_size
    if axis == "n_branches":
        size *= parameters.n_branches
    return Along(_at(parameters.neuron, axis, 0.5), parameters.task, axis, tuple(x.tolist()), size)


def _fewer(parameters: Parameters, points: int) -> int:
    knots = max(len(g.knots) for g in parameters.kinds)
    cost = max(1.0, knots / KNOTS_AT_FULL_RESOLUTION) * (OF_TWO_KINDS if parameters.populations == "2" else 1)
    return max(FEWEST_POINTS, round(points / cost))


def _kinds(neuron: NeuronSpec) -> list[Nonlinearity]:
    return [one.nonlinearity for one in neuron.populations] or [neuron.nonlinearity]


# Shared by all sessions: a preset that a whole class looks at is solved once.
@lru_cache(maxsize=256)
def _paper_along(neuron: NeuronSpec, task: TaskSpec, axis: str, x: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Capacity and silent fraction in the paper's estimate along an axis."""
    alpha, silent = np.full(len(x), math.nan), np.full(len(x), math.nan)
    for place, value in enumerate(x):
        with suppress(DendrocapError):
            found = critical_capacity(_at(neuron, axis, value), task)
            alpha[place], silent[place] = found.alpha_c, found.silent_fraction
    return alpha, silent


def _at(neuron: NeuronSpec, axis: str, value: float) -> NeuronSpec:
    """The neuron with another value of the parameter on the axis, for the basal branches if there are two kinds."""
    if axis == "n_branches":
        return neuron
    if axis == "theta_s":
        return replace(neuron, theta_s=value)
    if neuron.populations:
        basal, *others = neuron.populations
        basal = replace(basal, theta_d=value, inhibition=_scaled(basal.inhibition, value / basal.theta_d))
        return replace(neuron, populations=(basal, *others))
    return replace(neuron, theta_d=value, inhibition=_scaled(neuron.inhibition, value / neuron.theta_d))


def _scaled(inhibition: Inhibition | None, by: float) -> Inhibition | None:
    """The drive of inhibition is a share of the threshold."""
    return None if inhibition is None else replace(inhibition, drive=by * inhibition.drive)


@lru_cache(maxsize=256)
def _linear_capacity(task: TaskSpec, theta_d: float, inhibition: Inhibition | None) -> float:
    linear = NeuronSpec(Linear(), theta_d, 0.5, inhibition=_scaled(inhibition, theta_d))
    return critical_capacity(linear, task).alpha_c


def linear_capacity(task: TaskSpec, theta_d: float, inhibition: Inhibition | None = None) -> float:
    """Exact capacity of the neuron without dendrites; without a margin it does not depend on the threshold.

    ``inhibition`` is that of a threshold of one.
    """
    return _linear_capacity(task, 0.5 if task.kappa == 0.0 else theta_d, inhibition)


def _dendrite_axis(kinds: Iterable[Nonlinearity], populations: Iterable[PopulationWeights]) -> Floats:
    """Branch inputs that cover both the shape of g and the density of inputs."""
    knots = [knot for g in kinds for knot in g.knots]
    low, high = min((-0.3, *knots)), max((1.3, *knots))
    for one in populations:
        mean, sd = one.preactivation.mean(), one.preactivation.std()
        low, high = min(low, mean - 3.5 * sd), max(high, mean + 3.5 * sd)
    return np.unique(np.concatenate([np.linspace(low, high, 240), np.clip(knots, low, high)]))


# Texts of the page: estimates and lights of an answer, pending computations, and figures for screen readers.

Message = dict[str, Any]


def written(answer: Capacity | None) -> Message | None:
    """Estimates, lights and remarks of an answer."""
    if answer is None:
        return None
    last = list(answer.estimates)[-1]
    return {
        "accuracy": answer.accuracy,
        "in_words": answer.in_words,
        "remark": answer.remark,
        "ladder": [
            {"name": name, "value": value, "assumes": answer.assumes[name], "best": name == last}
            for name, value in answer.estimates.items()
        ],
        "error": None if np.isnan(answer.error) else answer.error,
        "lights": [
            {"name": _greek(name), "light": flag.light, "words": _greek(flag.words)}
            for name, flag in answer.validity.items()
        ],
    }


def _greek(words: str) -> str:
    return words.replace("theta_s", "θ_s")


def pending(statuses: list[Status]) -> Message | None:
    """The computations that the page waits for; None when all are done."""
    waiting = [status for status in statuses if not status.done]
    if not waiting:
        return None
    share = sum(1.0 if status.done else status.share for status in statuses) / len(statuses)
    return {"share": share, "words": next((one.words for one in waiting if one.share), waiting[0].words)}


def branches_in_words(by_number: list[tuple[int, Status]], n_inputs: int) -> str:
    """The best number of branches among those computed."""
    known = [(k, status.answer) for k, status in by_number if status.answer is not None]
    if not by_number:
        return ""
    if len(known) < 2:
        return f"Best estimates for {', '.join(str(k) for k, _ in by_number)} branches are being computed."
    best_k, best = max(known, key=lambda pair: pair[1].alpha_c)
    enough, least = next((k, found) for k, found in known if found.alpha_c + found.error >= best.alpha_c - best.error)
    text = f"Of {', '.join(str(k) for k, _ in known)} branches, {best_k} store most: {best.answer}."
    if enough != best_k:
        text += f" {enough} are not distinguishably worse: {least.texts()['capacity']}."
    return f"{text} All with N = {n_inputs:,} synapses."


def described(shown: View) -> dict[str, str]:
    """Descriptions of the figures for screen readers."""
    curve, answer, axis = shown.curve, shown.answer, AXES[shown.parameters.axis]
    if answer is None:
        return {"dendrite": "no solution", "capacity": "no solution", "weights": "no solution"}
    texts, mean_mv = answer.texts(), shown.parameters.units.weight_mv(mean_excitation(answer))
    ends = ""
    known = np.isfinite(curve.broken)
    if known.any():
        x, y = curve.broken_x[known], curve.broken[known]
        ends = f" With broken symmetry it changes from {y[0]:.2g} at {x[0]:.2g} to {y[-1]:.2g} at {x[-1]:.2g}."
    outputs = ", ".join(f"{kind.fraction:.0%} of branches at a mean output of {kind.mean_output:.2g}" for kind in
                        answer.populations)  # fmt: skip
    return {
        "dendrite": f"Output of a branch against its input, and the inputs at capacity: {outputs}.",
        "capacity": f"Capacity against {axis}: here {texts['capacity']}.{ends} {answer.paper}.",
        "weights": f"Weights at capacity: {texts['silent']} silent, mean EPSP {mean_mv:.2g} mV. {answer.paper}.",
    }
