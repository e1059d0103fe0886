"""The replica-symmetric capacity of short branches, where the mean weight follows the mean input, against a scan."""

import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from dendrocap import Custom, NeuronSpec, NoSolution, Polsky, Tabulated, TaskSpec, critical_capacity
from dendrocap.numerics._compiled import tail
from dendrocap.theory.dendrite import prepared
from dendrocap.theory.neuron_kernel import populations_of
from dendrocap.theory.patterns import label_averages
from dendrocap.theory.solver import monotone_root


def logistic(steepness, centre, with_slope=True):
    def slope(x):
        return 0.5 * steepness / np.cosh(np.clip(steepness * (x - centre), -300.0, 300.0)) ** 2

    return Custom(lambda x: 0.5 * (1.0 + np.tanh(steepness * (x - centre))), slope if with_slope else None)


SHAPES = np.linspace(-12.0, 25.0, 6000)
I0, I1, I2 = np.array([tail(B) for B in SHAPES.tolist()]).T
RATIO, ROOT_C = np.log(I2) - 2.0 * np.log(I1), np.log(I0) - np.log(I1)


def scanned(neuron, task, branch_size):
    """Loads alpha(Q) at inputs of all widths, close to each other where there are any."""
    widths = np.geomspace(1e-3, 1e5, 600) * (neuron.theta_d + 0.05)
    found = loads_at(widths, neuron, task, branch_size)
    if 0 < len(found) < 150:
        finer = np.geomspace(0.97 * found[0][0], 1.03 * found[-1][0], 300)
        found = loads_at(finer, neuron, task, branch_size)
    return [load for _, load in found]


def loads_at(widths, neuron, task, branch_size):
    """Loads at inputs of these widths, each with the one mean input that its mean output asks for."""
    (population,) = populations_of(neuron, task, branch_size)
    averages, theta, loads, m = prepared(population.nonlinearity), population.mean_output, [], 0.0
    for s in widths.tolist():

        def excess(at, s=s):
            found = averages(theta, s, at)
            return found.mean, found.slope

        m = monotone_root(excess, m, s).at
        found, W_bar = averages(theta, s, m), population.W_bar(m)
        Q = (s**2 - population.common_variance(m)) / population.v
        if W_bar > 0.0 and RATIO[0] < math.log(max(Q, 1e-300) / W_bar**2) < RATIO[-1]:
            C = math.exp(2.0 * np.interp(math.log(Q / W_bar**2), RATIO, ROOT_C)) * W_bar**2
            labels = label_averages(task.f_out, task.kappa / math.sqrt(found.variance))
            loads.append((s, C * population.v * found.gain / (found.variance * labels.second)))
    return loads


def check(neuron, task, branch_size):
    """An answer has positive weights and no larger load than the scan; what has no answer has no largest load there."""
    loads = scanned(neuron, task, branch_size)
    try:
        found = critical_capacity(neuron, task, branch_size=branch_size)
    except NoSolution:
        return not loads or np.argmax(loads) > 0.98 * len(loads)
    largest = max(loads) * (1.0 + 3e-3)  # points are 3 % of s apart, and the load is stationary
    seen = found.metastable or found.alpha_c > max(loads) * (1.0 - 1e-6)
    return found.W_bar > 0.0 and found.residual < 1e-9 and found.alpha_c < largest and seen


def table(steps):
    x, y = np.cumsum([one for one, _ in steps]), np.cumsum([rise for _, rise in steps])
    return Tabulated(x - 1.0, y / y[-1])


curves = st.one_of(
    st.builds(logistic, st.floats(0.3, 20.0), st.floats(-1.0, 1.5), st.booleans()),
    st.builds(table, st.lists(st.tuples(st.floats(0.05, 1.0), st.floats(0.01, 1.0)), min_size=3, max_size=8)),
)
neurons = st.tuples(curves, st.floats(-3.0, 1.0), st.floats(0.02, 0.98)).map(
    lambda one: NeuronSpec(one[0], 10.0 ** one[1], one[0].range[0] + one[2] * (one[0].range[1] - one[0].range[0]))
)
tasks = st.builds(
    TaskSpec,
    st.floats(0.03, 0.97),
    st.floats(0.05, 0.95),
    st.floats(0.0, 1.0),
    branch_correlation=st.sampled_from([0.0, 1.0]),
)
sizes = st.floats(0.5, 3.5).map(lambda exponent: 10.0**exponent)


@settings(max_examples=20, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(neurons, tasks, sizes)
def test_no_load_is_above_that_of_a_scan_and_no_mean_weight_negative(neuron, task, branch_size):
    assert check(neuron, task, branch_size)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, phases=[Phase.generate])
@given(neurons, tasks, sizes)
def test_two_thousand_of_them(neuron, task, branch_size):
    assert check(neuron, task, branch_size)


def test_a_local_maximum_says_that_it_is_one():
    found = critical_capacity(
        NeuronSpec(Polsky(0.058, 9.18), 0.8953, 0.7248), TaskSpec(0.5435, 0.6005), branch_size=220.0
    )
    assert found.metastable
    assert "local maximum" in found.reason
    assert round(found.alpha_c, 2) == 10.26


def test_what_short_branches_cannot_do_is_said_in_words():
    steep = logistic(2.0, 0.0)
    with pytest.raises(NoSolution, match=r"even without any weights.*-0\.1217"):
        critical_capacity(NeuronSpec(steep, 0.02, 0.3), branch_size=37.0)
