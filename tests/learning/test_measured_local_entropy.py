"""Local entropy by message passing: a Legendre transform, its limits, and the theory of typical solutions."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dendrocap import (
    DendriticNeuron,
    InvalidParameter,
    Linear,
    NeuronSpec,
    Polsky,
    local_entropy,
    measured_local_entropy,
    random_patterns,
    solve,
)
from dendrocap.learning import bethe_free_entropy
from tests.naive.sampling import sampled_solution

SMALL = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.5, theta_s=0.5), n_inputs=240, n_branches=8)
PATTERNS = random_patterns(60, 240, rng=3)
LEARNED = solve(SMALL, *PATTERNS, seed=0).weights


@pytest.fixture(scope="module")
def near():
    return measured_local_entropy(SMALL, *PATTERNS, LEARNED, distance=[0.02, 0.0201, 0.1, 0.3], tolerance=1e-7)


def test_the_coupling_is_the_slope_of_the_entropy():
    """As far as the other branches are one Gaussian at the soma: 0.1 to 0.4 % off with 8 branches, 0.05 % with 32."""
    neuron = DendriticNeuron(SMALL.spec, n_inputs=960, n_branches=32)
    patterns = random_patterns(240, 960, rng=3)
    learned = solve(neuron, *patterns, seed=0).weights
    near = measured_local_entropy(neuron, *patterns, learned, distance=[0.02, 0.0201], tolerance=1e-7)
    slope = np.diff(near.entropy)[0] / np.diff(near.distance)[0] / np.mean(neuron.flat_weights(learned) ** 2)
    assert_allclose(slope, 0.5 * near.coupling.mean(), rtol=1e-3)


def test_fewer_and_fewer_weights_are_solutions_farther_away(near):
    assert np.all(np.diff(near.log_fraction) < 0.0)
    assert np.all(near.log_fraction < 0.0)
    assert near.stopped == ""


def test_next_to_the_weights_it_is_a_ball(near):
    """ln(2 pi e D) / 2 per synapse, less what the walls take: a part that falls like sqrt(D)."""
    found = measured_local_entropy(SMALL, *PATTERNS, LEARNED, distance=[1e-5, 4e-5])
    D = found.distance * np.mean(SMALL.flat_weights(LEARNED) ** 2)
    lost = 0.5 * np.log(2.0 * math.pi * math.e * D) - found.ball_entropy
    # K constraints on N weights take about ln of their width each: a ninth of the synapses at most
    assert np.all((lost > 0.0) & (lost < 0.2))
    assert found.log_fraction[0] > near.log_fraction[0]


def test_far_away_it_is_the_free_entropy_of_all_solutions():
    """Of a linear neuron: the sums of its branches, which are those of the weights, hardly matter."""
    neuron = DendriticNeuron(NeuronSpec(Linear(), 0.5, 0.5), n_inputs=240, n_branches=8)
    learned = solve(neuron, *PATTERNS, seed=0).weights
    far = measured_local_entropy(neuron, *PATTERNS, learned, distance=np.geomspace(0.01, 0.9, 12))
    everywhere = bethe_free_entropy(neuron, *PATTERNS)
    assert np.all(np.diff(far.entropy) > 0.0)
    assert far.entropy[-1] < everywhere.free_entropy + 1e-3
    assert_allclose(far.entropy[-1], everywhere.free_entropy, atol=0.02)


def test_bad_input_is_named():
    with pytest.raises(InvalidParameter, match=r"weights with \d+ errors on 60 patterns"):
        measured_local_entropy(SMALL, *PATTERNS, np.ones(240))
    with pytest.raises(InvalidParameter, match="distance = 0"):
        measured_local_entropy(SMALL, *PATTERNS, LEARNED, distance=[0.0])


@pytest.mark.slow
@pytest.mark.parametrize("g", [Linear(), Polsky()], ids=repr)
def test_around_sampled_solutions_it_is_what_theory_says(g):
    """Typical solutions, drawn by a Markov chain, against theory at the mean weight that they have."""
    n_inputs, n_branches, alpha = 800, 8, 0.3
    neuron = DendriticNeuron(NeuronSpec(g, 0.5, 0.5), n_inputs, n_branches)
    distances = [0.01, 0.03, 0.1, 0.3]
    differences = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        patterns = random_patterns(round(alpha * n_inputs), n_inputs, rng=rng)
        typical = sampled_solution(neuron, solve(neuron, *patterns, seed=seed).weights, patterns, 3000, rng)
        found = measured_local_entropy(neuron, *patterns, typical, distance=distances)
        theory = local_entropy(NeuronSpec(g, 0.5 * typical.mean(), 0.5), alpha=alpha, distance=found.distance)
        differences.append(found.log_fraction / theory.log_fraction - 1.0)
    error = np.std(differences, axis=0, ddof=1) / math.sqrt(len(differences))
    # beyond the error of the sample, short branches and few of them may cost some per cent
    assert np.all(np.abs(np.mean(differences, axis=0)) < 2.0 * error + 0.04)
