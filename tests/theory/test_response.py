"""Kernels of one level and of trees: identities, derivatives, and a direct simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import Custom, Level, Linear, NeuronSpec, NoSolution, Polsky, ReLU, SaturatingReLU, Tabulated, TaskSpec
from dendrocap.theory.dendrite import all_means, check_reachable, is_monotone, levels_with_thresholds, tree_response

SPECS = [
    NeuronSpec(Linear(), 0.5, 0.5),
    NeuronSpec(ReLU(), 0.5, 0.5),
    NeuronSpec(SaturatingReLU(), 0.5, 0.3),
    NeuronSpec(Polsky(), 0.5, 0.5),
    NeuronSpec(Polsky(0.1, 60.0), 0.5, 0.8),
    NeuronSpec(Tabulated([0, 0.3, 0.5, 1], [0, 0.2, 0.9, 1]), 0.5, 0.4),
    NeuronSpec(Custom(np.tanh), 0.5, 0.2),
    NeuronSpec(levels=(Level(Polsky(), 0.5), Level(SaturatingReLU(), 0.4)), theta_s=0.6),
    NeuronSpec(levels=(Level(ReLU(), 0.5), Level(Polsky(), 0.4), Level(Linear(), 0.3)), theta_s=0.7),
]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
@pytest.mark.parametrize("Q", [0.02, 3.0])
@pytest.mark.parametrize("task", [TaskSpec(f_in=0.3), TaskSpec(f_in=0.3, branch_correlation=2.0)], ids=repr)
def test_derivatives_are_total_derivatives(spec, Q, task):
    h = 2e-3 * Q
    for value, slope in (("Gamma0", "dGamma0"), ("Gamma1", "dGamma1")):
        ahead, behind, far, back = (getattr(tree_response(spec, task, Q + k * h), value) for k in (1, -1, 2, -2))
        difference = (8 * (ahead - behind) - (far - back)) / (12 * h)
        here = tree_response(spec, task, Q)
        # The difference itself is good to about h^4 and rounding / h.
        assert_allclose(getattr(here, slope), difference, rtol=2e-8, atol=2e-9 * getattr(here, value) / Q)


def test_linear_tree_is_the_perceptron():
    one = tree_response(NeuronSpec(Linear(), 0.5, 0.5), TaskSpec(f_in=0.3), 2.0)
    three = tree_response(NeuronSpec(levels=[Level(Linear(), 0.5)] * 3, theta_s=0.5), TaskSpec(f_in=0.3), 2.0)
    assert_allclose([one.Gamma0, one.Gamma1, one.dGamma0, one.dGamma1], [0.42, 0.21, 0.21, 0.0], atol=1e-15)
    assert_allclose(three[:4], one[:4], rtol=1e-13, atol=1e-15)


def test_one_level_given_as_a_list_is_bit_for_bit_the_paper_model():
    assert tree_response(NeuronSpec(levels=(Level(Polsky(), 0.5),), theta_s=0.5), TaskSpec(), 8.0) == tree_response(
        NeuronSpec(Polsky(), 0.5, 0.5), TaskSpec(), 8.0
    )


def test_two_level_kernel_equals_a_direct_simulation(rng):
    """Two replicas with overlap q close to Q, pushed through finite but wide levels, against the composed kernels.

    With n branches per level the central limit theorem holds up to corrections of order 1 / n to variances. The
    outputs are independent, so five standard errors come from the sample itself.
    """
    g1, g2, theta_2, theta_s, Q, n = Polsky(), SaturatingReLU(), 0.4, 0.6, 3.0, 300
    exact = tree_response(NeuronSpec(levels=(Level(g1, 0.5), Level(g2, theta_2)), theta_s=theta_s), TaskSpec(), Q)
    m1, m2 = exact.means
    eps = 1e-4  # the correlation of the two replicas is 1 - eps
    outputs = []
    for _ in range(n):
        x = rng.standard_normal((n, n))
        y = (1 - eps) * x + np.sqrt(1 - (1 - eps) ** 2) * rng.standard_normal(x.shape)
        outputs.append([g2(m2 + (g1(m1 + exact.sd * u) - theta_2).sum(axis=1) / np.sqrt(n)) for u in (x, y)])
    one, other = np.concatenate(outputs, axis=1)

    def five_errors(sample):
        return 5 * sample.std() / np.sqrt(sample.size)

    squares, differences = (one - theta_s) ** 2, 0.5 * (one - other) ** 2
    assert_allclose(one.mean(), theta_s, rtol=0, atol=five_errors(one) + 1 / n)
    assert_allclose(squares.mean(), exact.Gamma0, rtol=0, atol=five_errors(squares) + exact.Gamma0 / n)
    # E (g - g')^2 / 2 = C(Q) - C(q) = Gamma_1 (Q - q), with corrections of order sqrt(eps) from the kinks.
    expected = exact.Gamma1 * eps * Q
    assert_allclose(differences.mean(), expected, rtol=0, atol=five_errors(differences) + 3 * np.sqrt(eps) * expected)


def test_a_hump_has_two_mean_inputs_or_none():
    hump = NeuronSpec(Custom(lambda x: np.exp(-(x**2))), 0.5, 0.3)
    assert not is_monotone(hump.nonlinearity)
    levels = levels_with_thresholds(hump)
    low, high = sorted(all_means(levels, 1.0))
    # E exp(-u^2) = exp(-m^2 / (1 + 2 s^2)) / sqrt(1 + 2 s^2) at s^2 = 1
    exact = np.sqrt(-3 * np.log(0.3 * np.sqrt(3)))
    assert_allclose([*low, *high], [-exact, exact], rtol=1e-9)
    assert all_means(levels, 10.0) == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (NeuronSpec(Polsky(), 0.5, 1.0), ["1", "strictly between 0 and 1"]),
        (NeuronSpec(ReLU(), 0.5, 0.0), ["0", "inf"]),
        (NeuronSpec(levels=(Level(Polsky(), 0.5), Level(ReLU(), 2.0)), theta_s=0.5), ["mean output 2"]),
    ],
)
def test_unreachable_thresholds_say_why(spec, words):
    with pytest.raises(NoSolution) as caught:
        check_reachable(spec)
    for word in words:
        assert word in str(caught.value)
