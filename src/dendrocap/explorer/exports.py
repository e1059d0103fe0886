"""Files to take home: the figure, the curves as a table, and short scripts that run as they stand."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dendrocap.errors import NoSolution
from dendrocap.explorer.links import to_query
from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.trainer import MOST_EPOCHS
from dendrocap.explorer.views import View, capacity_axis, key_numbers, view

__all__ = ["EXPORTS", "Export", "neuron_script", "training_script"]


@dataclass(frozen=True)
class Export:
    """A file that can be made from parameters alone."""

    content_type: str
    make: Callable[[Parameters], bytes]


def figure_file(parameters: Parameters, suffix: str) -> bytes:
    """The neuron as a figure in the look of the house: "png" or "svg"."""
    from dendrocap import plot

    shown = view(parameters)
    if shown.solution is None:
        raise NoSolution(shown.problem)
    curve = shown.curve
    figure = plot.neuron_at_capacity(
        shown.solution,
        shown.dendrite_x,
        curve.axis,
        (curve.x, curve.alpha_c),
        (curve.linear_x, curve.linear),
        shown.weight_mv,
        parameters.units,
    )
    target = io.BytesIO()
    plot.save(figure, target, suffix)
    return target.getvalue()


def curves_table(parameters: Parameters) -> bytes:
    """All curves of the page in one table of four columns: figure, quantity, x, y.

    Lines that begin with ``#`` hold the link and the numbers. Points without an answer are left out.
    """
    shown = view(parameters)
    target = io.StringIO()
    target.write(f"# dendrocap explore, /?{to_query(parameters)}\n")
    for name, text in key_numbers(shown).items():
        target.write(f"# {name} = {text}\n")
    rows = csv.writer(target, lineterminator="\n")
    rows.writerow(("figure", "quantity", "x", "y"))
    for figure, quantity, x, y in _curves(shown):
        for at, value in zip(x.tolist(), y.tolist(), strict=True):
            if np.isfinite(value):
                rows.writerow((figure, quantity, repr(at), repr(value)))
    return target.getvalue().encode()


def _curves(shown: View) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
    curve = shown.curve
    curves = [
        ("dendrite", "g", shown.dendrite_x, shown.dendrite_y),
        ("capacity", "alpha_c", curve.x, curve.alpha_c),
        ("capacity", "silent_fraction", curve.x, curve.silent_fraction),
        ("capacity", "linear_alpha_c", curve.linear_x, curve.linear),
    ]
    if shown.solution is not None:
        curves.insert(1, ("dendrite", "branch_input_density", shown.dendrite_x, shown.density))
        curves.append(("weights_mv", "density", shown.weight_mv, shown.weight_density))
        silent = np.array([shown.solution.silent_fraction])
        curves.append(("weights_mv", "silent_fraction", np.zeros(1), silent))
    return curves


def neuron_script(parameters: Parameters) -> str:
    """A script that computes the numbers and curves of the page.

    Examples
    --------
    >>> print(neuron_script(Parameters()).splitlines()[4])
    neuron = dc.NeuronSpec(dc.Polsky(x_min=0.33, gamma=15.0), theta_d=0.5, theta_s=0.5)
    """
    low, high, n = capacity_axis(parameters)
    axis = parameters.axis
    grid = f"np.{'geomspace' if axis == 'theta_d' else 'linspace'}({low!r}, {high!r}, {n})"
    return f"""import numpy as np

{_head(parameters)}units = dc.Units(n_inputs={parameters.n_inputs}, n_branches={parameters.n_branches})

solution = dc.critical_capacity(neuron, task)
print(f"capacity            {{solution.alpha_c:.4f}} patterns per synapse")
print(f"patterns stored     {{solution.alpha_c * units.n_inputs:,.0f}}")
print(f"silent fraction     {{solution.silent_fraction:.2%}}")
print(f"dendritic threshold {{units.theta_d_mv(neuron.theta_d):,.4g}} mV")
print(f"somatic threshold   {{units.theta_s_mv(neuron.theta_s):,.4g}} mV")

{axis} = {grid}
curve = dc.capacity_curve(neuron, task, {axis}={axis})
linear = dc.capacity_curve(dc.NeuronSpec(dc.Linear(), neuron.theta_d, neuron.theta_s), task, {axis}={axis})
branch_input = solution.preactivation  # its density is branch_input.pdf(x), next to neuron.nonlinearity(x)
weights = solution.weights  # weights.pdf(w) for w > 0, and weights.silent_fraction at zero

limit = dc.stability_limit(neuron, task)
ceiling = dc.theory.committee_ceiling(units.n_branches)
print(f"replica symmetry is unstable above a load of {{limit.alpha:.3g}}")
print(f"ceiling for K = {{units.n_branches}} branches: {{ceiling:.3g}}")
"""


def training_script(parameters: Parameters) -> str:
    """A script that repeats the training run, bit for bit."""
    surrogate = ", surrogate=dc.Lorentzian()" if parameters.uses_surrogate else ""
    finite = f"dc.DendriticNeuron(neuron, n_inputs={parameters.train_inputs}, n_branches={parameters.train_branches})"
    if parameters.nonlinearity == "linear":
        finite = f"dc.LinearNeuron(neuron.theta_d, n_inputs={parameters.train_inputs})"
    n_patterns = max(1, round(parameters.load * parameters.train_inputs))
    return f"""{_head(parameters)}
finite = {finite}
seed = {parameters.seed}
patterns = dc.random_patterns({n_patterns}, finite.n_inputs, task.f_in, task.f_out, rng=seed)
recipe = dc.Recipe(
    dc.SGD(learning_rate={parameters.rate!r}{surrogate}),
    dc.ExponentialAnnealing(decay={parameters.decay!r}),
    max_epochs={MOST_EPOCHS},
)
result = dc.train(finite, *patterns, recipe, seed=seed, on_failure="return")
print(f"{{result.stopped}} after {{result.epochs}} epochs; {{result.errors}} of {{result.n_patterns}} patterns wrong")

statistics = dc.weight_statistics(finite.flat_weights(result.weights))
print(f"{{statistics.near_zeros:.1%}} of the weights are below a thousandth of their mean")
"""


def _head(parameters: Parameters) -> str:
    g = parameters.g
    return f"""import dendrocap as dc

neuron = dc.NeuronSpec(dc.{g!r}, theta_d={parameters.theta_d!r}, theta_s={parameters.theta_s!r})
task = dc.TaskSpec(f_in={parameters.f_in!r}, f_out={parameters.f_out!r}, kappa={parameters.kappa!r})
"""


EXPORTS = {
    "neuron.png": Export("image/png", lambda parameters: figure_file(parameters, "png")),
    "neuron.svg": Export("image/svg+xml", lambda parameters: figure_file(parameters, "svg")),
    "neuron.csv": Export("text/csv; charset=utf-8", curves_table),
    "neuron.py": Export("text/x-python; charset=utf-8", lambda parameters: neuron_script(parameters).encode()),
    "training.py": Export("text/x-python; charset=utf-8", lambda parameters: training_script(parameters).encode()),
}
