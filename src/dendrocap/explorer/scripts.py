"""The Python that makes what the page shows: short scripts that run as they stand."""

from __future__ import annotations

from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.trainer import MOST_EPOCHS
from dendrocap.explorer.views import capacity_axis

__all__ = ["neuron_script", "training_script"]


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
