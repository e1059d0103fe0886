"""Neurons with several populations of branches, and with inhibition: kernels, rules, solvers, storage, sweeps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dendrocap import (
    Branches,
    DendriticNeuron,
    Inhibition,
    InvalidParameter,
    Linear,
    LinearNeuron,
    NeuronSpec,
    Polsky,
    ReLU,
    SaturatingReLU,
    Smooth,
    Step,
    Store,
    Sweep,
    TaskSpec,
    critical_capacity,
    linear_feasibility,
    noise_robustness,
    perturb,
    random_patterns,
    run_sweep,
    solve,
    train,
    weight_statistics,
)
from dendrocap.learning import (
    SGD,
    AnnealedSurrogate,
    FlooredSlope,
    Lorentzian,
    Recipe,
    TrueSlope,
    bethe_free_entropy,
    load_run,
    patterns_at_load,
    save_run,
)
from dendrocap.learning.engine import LANES, CompiledEngine, LaneLayout
from dendrocap.learning.rules import Homeostasis
from dendrocap.model import Patterns
from dendrocap.model.flat import flat_neuron, neuron_from_flat
from dendrocap.numerics import apportioned
from tests.naive.learning import naive_epoch_of_kinds, naive_homeostasis

CURVE = Smooth([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 0.1, 0.5, 0.8, 0.9, 1.0])
INHIBITION = Inhibition(share=0.25, drive=0.15)
BASAL = Branches(Polsky(), 0.2, fraction=0.6)
APICAL = Branches(ReLU(), 0.4, fraction=0.4, length=2.0)
SPECS = {
    "basal and apical": NeuronSpec(populations=(BASAL, APICAL), theta_s=0.3),
    "three kinds": NeuronSpec(
        populations=(
            Branches(CURVE, 0.3, fraction=0.2, length=1.5),
            Branches(Polsky(0.2, 8.0), 0.1, fraction=0.5),
            Branches(SaturatingReLU(), 0.2, fraction=0.3, length=0.7),
        ),
        theta_s=0.4,
    ),
    "inhibition": NeuronSpec(Polsky(), 0.4, 0.3, inhibition=INHIBITION),
    "no threshold left": NeuronSpec(SaturatingReLU(), 0.4, 0.3, inhibition=Inhibition(0.3, 0.4)),
    "inhibition of one kind": NeuronSpec(populations=(replace(BASAL, inhibition=INHIBITION), APICAL), theta_s=0.3),
}
SIZES = [(400, 27), (263, 16), (150, 7), (90, 5)]
specs = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


def by_branch(neuron, flat):
    return np.split(np.asarray(flat, dtype=float), neuron.branch_starts[1:])


def described(neuron, surrogates=None):
    """What a neuron is, branch by branch, from its spec alone."""
    kinds = neuron.spec.populations or (
        Branches(neuron.spec.nonlinearity, neuron.spec.theta_d, 1.0, inhibition=neuron.spec.inhibition),
    )
    surrogates = surrogates or [TrueSlope()] * len(kinds)
    counts = apportioned([kind.fraction for kind in kinds], neuron.n_branches)
    each = [
        pair for pair, number in zip(zip(kinds, surrogates, strict=True), counts, strict=True) for _ in range(number)
    ]
    described = []
    for (kind, surrogate), size in zip(each, neuron.branch_sizes, strict=True):
        quiet = kind.inhibition or Inhibition(0.0, 0.0)
        n_inhibitory = round(quiet.share * int(size))
        signs = [1.0] * (int(size) - n_inhibitory) + [-1.0] * n_inhibitory
        signal = lambda x, g=kind.nonlinearity, s=surrogate: s.signal(g, x)  # noqa: E731
        described.append((kind.nonlinearity, signal, kind.theta_d - quiet.drive, signs))
    return described


def problem(spec, size, rng, n_patterns=25):
    neuron = DendriticNeuron(spec, *size)
    inputs, labels = random_patterns(n_patterns, size[0], rng=rng)
    return (
        neuron,
        Patterns(inputs, labels),
        neuron.flat_weights(neuron.initial_weights(0.5, rng)),
        np.arange(n_patterns),
    )


@specs
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("several", [False, True], ids=["one signal", "a signal for each kind"])
def test_epoch_and_margins_equal_the_naive_ones(spec, size, several, rng):
    neuron, patterns, weights, order = problem(spec, size, rng)
    kinds = neuron.kinds
    signals = [Lorentzian(0.2, 0.5), FlooredSlope(0.3), TrueSlope()][: len(kinds)] if several else None
    engine = CompiledEngine(neuron, patterns, gamma_ce=3.0, surrogate=signals, dtype="float64")
    engine.set_weights(weights)
    engine._homeostasis = None  # it has a twin of its own
    engine.epoch(order, 0.7)
    inputs = [by_branch(neuron, row) for row in patterns.inputs]
    expected = naive_epoch_of_kinds(
        described(neuron, signals), spec.theta_s, by_branch(neuron, weights), inputs, patterns.labels, order, 0.7, 3.0
    )
    assert_allclose(engine.weights(), np.concatenate(expected), rtol=0, atol=1e-12)
    assert np.max(np.abs(engine.weights() - weights)) > 1e-3
    somatic = neuron.somatic_input(engine.weights(), patterns.inputs)
    assert_allclose(engine.margins(), patterns.signs * somatic, rtol=0, atol=1e-12)
    # The neuron's own formula, branch by branch.
    outputs = [
        g(branch @ w / np.sqrt(len(w)) - np.sqrt(len(w)) * threshold)
        for (g, _, threshold, _), branch, w in zip(
            described(neuron), by_branch(neuron, patterns.inputs[3]), by_branch(neuron, engine.weights()), strict=True
        )
    ]
    root = np.sqrt(neuron.n_branches)
    assert_allclose(somatic[3], np.sum(outputs) / root - root * spec.theta_s, rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    n_inputs=st.integers(20, 300),
    shares=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    lengths=st.lists(st.floats(0.5, 2.0), min_size=3, max_size=3),
    inhibited=st.booleans(),
    branches=st.floats(0.0, 1.0),
)
def test_every_synapse_has_its_own_place_in_a_row_of_its_sign_and_a_block_of_its_kind(
    n_inputs, shares, lengths, inhibited, branches
):
    total = sum(shares)
    kinds = [
        Branches(ReLU(), 0.5, share / total, length, inhibition=Inhibition(0.4, 0.1) if inhibited else None)
        for share, length in zip(shares, lengths, strict=False)
    ]
    K = max(2 * total, 2 * total + int(branches * (n_inputs // 8 - 2 * total)))
    try:
        neuron = DendriticNeuron(NeuronSpec(populations=kinds, theta_s=0.3), n_inputs, K)
    except InvalidParameter:  # too few synapses for all branches, or for both signs
        return
    layout = LaneLayout(neuron)
    assert len(set(layout.places.tolist())) == n_inputs
    block, rest = np.divmod(layout.places, layout.shape[1] * LANES)
    row = rest // LANES
    kind_of_synapse = np.repeat(neuron.kind_of_branch, neuron.branch_sizes)
    assert_array_equal(layout.blocks[block, 0], kind_of_synapse)
    assert_array_equal(row >= layout.blocks[block, 1], neuron.inhibitory)
    assert np.all(row < layout.blocks[block, 2])
    lanes = np.stack([block, rest % LANES])
    owner = {}
    for lane, branch in zip(lanes.T.tolist(), np.repeat(np.arange(K), neuron.branch_sizes).tolist(), strict=True):
        assert owner.setdefault(tuple(lane), branch) == branch  # no lane holds two branches
    flat = np.where(neuron.inhibitory, -1.0, 1.0) * np.arange(1.0, n_inputs + 1.0)
    assert_array_equal(layout.gather_weights(layout.spread_weights(flat, np.float64)), flat)


@given(n_inputs=st.integers(1, 400), branches=st.floats(0.0, 1.0))
def test_like_branches_are_sized_as_they_always_were(n_inputs, branches):
    K = 1 + int(branches * (n_inputs - 1))
    small, extra = divmod(n_inputs, K)
    neuron = DendriticNeuron(NeuronSpec(ReLU(), 0.2, 0.3), n_inputs, K)
    assert neuron.branch_sizes.tolist() == [small + 1] * extra + [small] * (K - extra)


def test_a_population_that_says_nothing_new_changes_nothing():
    patterns = random_patterns(60, 150, rng=0)
    alike = NeuronSpec(Polsky(), 0.3, 0.5)
    same = [
        NeuronSpec(populations=[Branches(Polsky(), 0.3, 1.0)], theta_s=0.5),
        NeuronSpec(Polsky(), 0.3, 0.5, inhibition=Inhibition(0.0, 0.0)),
    ]
    expected = solve(DendriticNeuron(alike, 150, 9), *patterns, seed=1, max_epochs=40)
    for spec in same:
        assert_array_equal(
            solve(DendriticNeuron(spec, 150, 9), *patterns, seed=1, max_epochs=40).weights, expected.weights
        )


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(list(SPECS)),
    rate=st.floats(1e-6, 1e3),
    seed=st.integers(0, 2**32),
    precision=st.sampled_from(["float32", "float64"]),
)
def test_weights_keep_their_sign(name, rate, seed, precision):
    neuron, patterns, weights, order = problem(SPECS[name], (150, 7), np.random.default_rng(seed), 12)
    engine = CompiledEngine(neuron, patterns, gamma_ce=3.0, dtype=precision)
    engine.set_weights(weights)
    for _ in range(3):
        engine.epoch(order, rate)
        after = engine.weights()
        assert np.all(after[neuron.inhibitory] <= 0.0)
        assert np.all(after[~neuron.inhibitory] >= 0.0)
        assert np.all(np.isfinite(after))


@specs
def test_exchanging_synapses_of_one_type_on_a_branch_changes_nothing(spec, rng):
    neuron, patterns, weights, order = problem(spec, (150, 7), rng)
    label = np.repeat(np.arange(7), neuron.branch_sizes) * 2 + neuron.inhibitory
    exchanged = np.lexsort((rng.random(150), label))  # any order among synapses of one branch and one sign
    assert_array_equal(label[exchanged], label)
    results = []
    for of in (np.arange(150), exchanged):
        engine = CompiledEngine(
            neuron, Patterns(patterns.inputs[:, of], patterns.labels), gamma_ce=3.0, dtype="float64"
        )
        engine.set_weights(weights[of])
        engine.epoch(order, 0.5)
        results.append((engine.weights(), engine.margins()))
    assert_allclose(results[1][0], results[0][0][exchanged], rtol=0, atol=1e-12)
    assert_allclose(results[1][1], results[0][1], rtol=0, atol=1e-12)


def test_first_weights_have_the_means_that_the_drives_ask_for(rng):
    basal = replace(BASAL, f_in=0.3, inhibition=Inhibition(0.2, 0.1, f_in=0.6))
    neuron = DendriticNeuron(NeuronSpec(populations=(basal, APICAL), theta_s=0.3), 90_000, 10)
    weights = neuron.flat_weights(neuron.initial_weights(0.5, rng))
    kind = np.repeat(neuron.kind_of_branch, neuron.branch_sizes)
    for group, mean in (
        ((kind == 0) & ~neuron.inhibitory, 0.2 / (0.8 * 0.3)),
        ((kind == 0) & neuron.inhibitory, -0.1 / (0.2 * 0.6)),
        (kind == 1, 0.4 / 0.5),
    ):
        drawn = weights[group]
        assert abs(drawn.mean() - mean) < 5 * abs(mean) / np.sqrt(3 * drawn.size)  # uniform on [0, 2 mean]
        assert abs(drawn).max() <= 2 * abs(mean) * (1.0 + 1e-3)  # shares are rounded to whole synapses
    # On average each branch input is zero, whatever its kind.
    inputs = random_patterns(400, 90_000, neuron.input_activity(0.5), rng=rng).inputs
    branch_input = neuron.branch_input(weights, inputs)
    assert abs(branch_input.mean()) < 5 * branch_input.std() / np.sqrt(10)
    measured = neuron.measured_activity(inputs)
    assert np.max(np.abs(measured - neuron.input_activity(0.5))) < 0.01


@specs
def test_homeostasis_equals_the_naive_one_and_keeps_every_mean_input(spec, rng):
    neuron = DendriticNeuron(spec, 150, 7)
    activity = rng.uniform(0.3, 0.7, 150)
    weights = neuron.mean_weights(activity) * rng.uniform(0.6, 1.4, 150)
    after = by_branch(neuron, Homeostasis(neuron, activity)(weights))
    kinds = [neuron.kinds[at] for at in neuron.kind_of_branch]
    rows = zip(kinds, described(neuron), by_branch(neuron, activity), by_branch(neuron, weights), after, strict=True)
    for kind, (_, _, _, signs), f, before, found in rows:
        if kind.inhibition is None:
            assert_array_equal(found, before)
            continue
        assert_allclose(found, naive_homeostasis(signs, kind.inhibition.drive, f, before), rtol=1e-12)
        assert_allclose(f @ found, f @ before, rtol=1e-12)


def test_homeostasis_holds_the_inhibitory_mean_while_learning():
    neuron = DendriticNeuron(SPECS["inhibition"], 600, 20)
    patterns = random_patterns(300, 600, rng=1)
    result = solve(neuron, *patterns, seed=1, max_epochs=200)
    flat = neuron.flat_weights(result.weights)
    drive = -(flat * patterns.inputs.mean(axis=0))[neuron.inhibitory].sum() / 600
    assert result.epochs > 3
    assert abs(drive - INHIBITION.drive) < 1e-6  # rounding of float32


@pytest.mark.parametrize("solver", ["auto", "surrogate", "replicated"])
@specs
def test_solvers_find_solutions(spec, solver):
    neuron = DendriticNeuron(spec, 240, 10)
    patterns = patterns_at_load(neuron, 0.3, 0)
    result = solve(neuron, *patterns, solver=solver, seed=0, max_epochs=20_000, time_limit=60.0)
    assert result.solved
    assert neuron.errors(result.weights, patterns) == 0
    assert_array_equal(neuron.predict(result.weights, patterns.inputs), patterns.labels)


@pytest.mark.parametrize("solver", ["polished", "message-passing"])
@pytest.mark.parametrize(("name", "word"), [("basal and apical", "2 populations"), ("inhibition", "inhibition")])
def test_solvers_that_know_neither_say_so(solver, name, word):
    neuron = DendriticNeuron(SPECS[name], 240, 10)
    patterns = random_patterns(30, 240, rng=0)
    with pytest.raises(InvalidParameter, match=f"not allowed for a neuron with {word}.*surrogate"):
        solve(neuron, *patterns, solver=solver, seed=0, max_epochs=3)
    with pytest.raises(InvalidParameter, match=f"message passing is not allowed.*{word}"):
        bethe_free_entropy(neuron, *patterns)


def test_populations_are_annealed_each_at_its_own_rise():
    plan = AnnealedSurrogate().plan(DendriticNeuron(SPECS["basal and apical"], 240, 10))
    assert isinstance(plan.signals(0.5)[0], Lorentzian)
    assert isinstance(plan.signals(0.5)[1], FlooredSlope)


def test_a_step_among_the_kinds_needs_a_surrogate():
    spec = NeuronSpec(populations=(BASAL, Branches(Step(), 0.2, 0.4)), theta_s=0.3)
    neuron, patterns = DendriticNeuron(spec, 100, 10), random_patterns(10, 100, rng=0)
    with pytest.raises(InvalidParameter, match="surrogate = None"):
        train(neuron, *patterns, algorithm=SGD(0.1), seed=0)
    assert solve(neuron, *patterns, solver="sgd", seed=0, max_epochs=2000).solved


@specs
def test_runs_are_stored_and_resumed(spec, tmp_path):
    neuron, patterns = DendriticNeuron(spec, 150, 7), random_patterns(120, 150, rng=0)
    rule = SGD(0.1, surrogate=Lorentzian())
    whole = train(neuron, *patterns, algorithm=rule, max_epochs=20, seed=0)
    first = train(neuron, *patterns, algorithm=rule, max_epochs=10, seed=0)
    save_run(tmp_path / "run.npz", first, *patterns)
    saved = load_run(tmp_path / "run.npz")
    assert saved.neuron == neuron
    rest = train(saved.neuron, saved.inputs, saved.labels, algorithm=rule, max_epochs=20, resume=saved.state)
    assert_array_equal(rest.weights, whole.weights)
    assert neuron_from_flat(flat_neuron(neuron)) == neuron


def test_flat_parameters_of_inhibition_and_populations():
    spec = NeuronSpec(Polsky(), 0.5, 0.5, inhibition=Inhibition(0.2, 0.25, f_in=0.3))
    flat = flat_neuron(spec)
    assert {name: flat[name] for name in flat if name.startswith("inhib")} == {
        "inhibitory_share": 0.2,
        "inhibitory_drive": 0.25,
        "inhibitory_f_in": 0.3,
    }
    assert neuron_from_flat(flat) == spec
    linear = LinearNeuron(0.5, 40, Inhibition(0.2, 0.25))
    assert neuron_from_flat(flat_neuron(linear)) == linear
    assert type(neuron_from_flat(flat_neuron(linear))) is LinearNeuron
    tables = [{"fraction": 0.75, "theta_d": 0.2}, {"fraction": 0.25, "nonlinearity": "relu", "length": 2.0}]
    made = neuron_from_flat({"populations": tables, "theta_s": 0.4, "theta_d": 0.6, "gamma": 20.0})
    basal, apical = Branches(Polsky(gamma=20.0), 0.2, 0.75), Branches(ReLU(), 0.6, 0.25, length=2.0)
    assert made == NeuronSpec(populations=(basal, apical), theta_s=0.4)
    for flat, words in (
        ({"theta_d": 0.5, "theta_s": 0.5, "inhibitory_share": 0.2}, "needs a value for inhibitory_drive"),
        ({"populations": [{"theta_d": 0.5}], "theta_s": 0.5}, "a population needs a value for fraction"),
        ({"populations": [{"theta_q": 0.5}], "theta_s": 0.5}, "theta_q is not a parameter of a population"),
        ({"populations": "basal", "theta_s": 0.5}, "a list of tables"),
        ({"populations": tables}, "needs a value for theta_s"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            neuron_from_flat(flat)


def test_a_basal_and_apical_neuron_is_swept(tmp_path):
    """The apical threshold is an axis, since its population leaves it open; so are correlation and inhibition."""
    tables = [{"fraction": 0.75, "theta_d": 0.2}, {"fraction": 0.25, "nonlinearity": "relu", "length": 2.0}]
    fixed = {"populations": tables, "theta_s": 0.4, "n_inputs": 100, "n_branches": 8, "alpha": 0.3, "max_epochs": 50}
    sweep = Sweep("train", parameters=fixed, grid={"theta_d": [0.3, 0.6], "branch_correlation": [0.0, 2.0]}, seeds=[4])
    run_sweep(sweep, tmp_path / "s.db", workers=1)
    with Store(tmp_path / "s.db") as store:
        records = list(store.records())
    assert len(records) == 4
    for record in records:
        own = record.parameters
        flat = {name: own[name] for name in ("populations", "theta_s", "theta_d", "n_inputs", "n_branches")}
        neuron = neuron_from_flat(flat)
        patterns = patterns_at_load(neuron, 0.3, 4, TaskSpec(branch_correlation=own["branch_correlation"]))
        result = train(neuron, *patterns, Recipe(max_epochs=50), seed=4, on_failure="return")
        assert (record.metrics["errors"], record.metrics["epochs"]) == (result.errors, result.epochs)
    inhibited = {
        "theta_d": 0.3,
        "theta_s": 0.4,
        "n_inputs": 100,
        "n_branches": 8,
        "alpha": 0.3,
        "inhibitory_share": 0.2,
    }
    recipe = {"max_epochs": 20, "stop_when_solved": False}
    drives = Sweep("learned_weights", parameters=inhibited | recipe, grid={"inhibitory_drive": [0, 0.1]}, seeds=[0])
    run_sweep(drives, tmp_path / "d.db", workers=1)
    with Store(tmp_path / "d.db") as store:
        found = {record.parameters["inhibitory_drive"]: record.metrics for record in store.records()}
    assert found[0.1]["mean_inhibition"] == pytest.approx(0.1 / (0.2 * 0.5), rel=0.2)  # 2 or 3 of 12 or 13
    assert found[0]["mean_inhibition"] == 0.0


def test_noise_and_perturbations_keep_the_signs():
    neuron = DendriticNeuron(SPECS["inhibition of one kind"], 240, 10)
    patterns = random_patterns(60, 240, rng=0)
    result = solve(neuron, *patterns, seed=0)
    noise = noise_robustness(neuron, result.weights, *patterns, noise_amplitudes=[0.0, 2.0], samples=4, seed=0)
    assert noise.synaptic_noise[0].error == 0.0 < noise.synaptic_noise[1].error
    nothing = perturb(result, *patterns)
    assert (nothing.misses, nothing.false_alarms) == (0.0, 0.0)
    blocked = perturb(result, *patterns, theta_d=-1.0)  # all of the fixed thresholds, none of the plastic inhibition
    assert blocked.false_alarms > 0.2
    assert perturb(result, *patterns, failures=0.5, nmda_block=1.0, seed=0).misses > 0.0


def test_statistics_tell_excitation_from_inhibition():
    statistics = weight_statistics([0.0, 2.0, 4.0, 0.0, -3.0, -1e-9], inhibitory=[False] * 3 + [True] * 3)
    assert (statistics.mean, statistics.exact_zeros, statistics.near_zeros) == (2.0, 1 / 3, 1 / 3)
    assert statistics.inhibition.mean == pytest.approx(1.0)
    assert (statistics.inhibition.exact_zeros, statistics.inhibition.near_zeros) == (1 / 3, 2 / 3)
    with pytest.raises(InvalidParameter, match=r"inhibitory\.shape"):
        weight_statistics([1.0, 2.0], inhibitory=[True])
    with pytest.raises(InvalidParameter, match=">= 0"):
        weight_statistics([1.0, -2.0], inhibitory=[False, False])


SHORT = NeuronSpec(Polsky(), 0.4, 0.3, inhibition=Inhibition(0.1, 0.1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: DendriticNeuron(SPECS["basal and apical"], 100, 1), ["n_branches = 1", "0.4"]),
        (lambda: DendriticNeuron(SHORT, 40, 10), ["inhibition.share = 0.1", "a branch of 4 synapses"]),
        (
            lambda: DendriticNeuron(NeuronSpec(populations=(BASAL, replace(APICAL, length=100.0)), theta_s=0.3), 20, 5),
            ["n_inputs = 20", "shortest branches"],
        ),
        (
            lambda: DendriticNeuron(SPECS["inhibition"], 40, 4).flat_weights(np.ones(40)),
            ["weights[8] = 1.0", "<= 0", "inhibitory"],
        ),
        (
            lambda: DendriticNeuron(SPECS["inhibition"], 40, 4).flat_weights(-np.ones(40)),
            ["weights[0] = -1.0", ">= 0"],
        ),
    ],
)
def test_bad_values_are_named(make, words):
    with pytest.raises(InvalidParameter) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


# ------------------------------------------------------------------------------------- simulation against theory


def feasible_share(neuron, loads, seeds, task=None):
    """How many of the loads a linear program solves, averaged over seeds, with its standard error, as a load."""
    step = loads[1] - loads[0]
    solved = [
        sum(linear_feasibility(neuron, *patterns_at_load(neuron, load, seed, task)).feasible for load in loads)
        for seed in seeds
    ]
    capacities = loads[0] - 0.5 * step + step * np.array(solved)
    return capacities.mean(), capacities.std(ddof=1) / np.sqrt(len(seeds))


@pytest.mark.slow
def test_linear_capacity_with_inhibition_by_linear_programs():
    """No threshold is left; a fifth of all synapses is inhibitory."""
    neuron = LinearNeuron(0.5, 200, Inhibition(0.2, 0.5))
    expected = critical_capacity(replace(neuron.spec, theta_s=0.5)).alpha_c
    assert abs(expected - 0.74973911) < 1e-8  # Rubin, Abbott and Sompolinsky (2017), by their own program
    found, error = feasible_share(neuron, np.arange(expected - 0.3, expected + 0.31, 0.05), range(12))
    assert abs(found - expected) < 3 * error


@pytest.mark.slow
def test_linear_capacity_with_correlated_inputs_by_linear_programs():
    neuron, task = LinearNeuron(0.5, 200), TaskSpec(branch_correlation=2.0)
    expected = critical_capacity(NeuronSpec(Linear(), 0.5, 0.5), task).alpha_c
    assert abs(expected - 0.662599811) < 1e-8
    found, error = feasible_share(neuron, np.arange(expected - 0.3, expected + 0.31, 0.05), range(12), task)
    assert abs(found - expected) < 3 * error


@given(shares=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8), total=st.integers(0, 500))
def test_apportioned_numbers_sum_up_and_miss_their_shares_by_less_than_one(shares, total):
    counts = apportioned(shares, total)
    assert sum(counts) == total
    wanted = total * np.array(shares) / sum(shares)
    assert np.all(np.abs(np.array(counts) - wanted) < 1.0 + 1e-6)
