"""Whole runs: what stops them, what they keep, and that they can be repeated and resumed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

from dendrocap import (
    Custom,
    DendriticNeuron,
    InvalidParameter,
    LinearNeuron,
    NeuronSpec,
    Polsky,
    ReLU,
    Step,
    Tabulated,
    pack_patterns,
    random_patterns,
)
from dendrocap.errors import CorruptData, TrainingFailed
from dendrocap.learning import (
    SGD,
    Constant,
    EpochOutcome,
    ExponentialAnnealing,
    HalveOnPlateau,
    LocalRule,
    Lorentzian,
    Recipe,
    Rule,
    Training,
    load_run,
    save_run,
    train,
)
from dendrocap.learning.engine import CompiledEngine
from dendrocap.model.patterns import generator_for
from tests.naive.learning import naive_epoch

SMALL = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.1, theta_s=0.5), n_inputs=100, n_branches=7)


def task(n_patterns=60, n_inputs=100, seed=3):
    return random_patterns(n_patterns, n_inputs, rng=seed)


@pytest.mark.parametrize("schedule", [Constant(), ExponentialAnnealing(0.1), HalveOnPlateau(1)], ids=repr)
def test_a_run_equals_naive_epochs_with_the_rates_of_its_schedule(schedule):
    inputs, labels = task(20)
    first = SMALL.initial_weights(0.5, 1)
    recipe = Recipe(SGD(0.2, 5.0, precision="float64"), schedule)
    run = Training(SMALL, inputs, labels, recipe, weights=first, seed=8)
    shuffles = generator_for("run", 8)
    flat, errors = SMALL.flat_weights(first), []
    for record in run:
        flat = naive_epoch(SMALL, flat, inputs, labels, shuffles.permutation(20), record.learning_rate, 5.0)
        wrong = int(np.count_nonzero(SMALL.predict(flat, inputs) != labels))
        errors.append(wrong)
        assert record.errors == wrong
        assert_allclose(run.state().weights, flat, rtol=0, atol=1e-12)
        if record.epoch == 6:
            break
    assert_array_equal(run.result().error_history, errors)


def test_same_seed_same_weights_whatever_form_the_patterns_have():
    inputs, labels = task()
    one = train(SMALL, inputs, labels, seed=5, max_epochs=20)
    assert_array_equal(train(SMALL, inputs, labels, seed=5, max_epochs=20).weights, one.weights)
    assert_array_equal(train(SMALL, pack_patterns(inputs), labels, seed=5, max_epochs=20).weights, one.weights)
    assert np.any(train(SMALL, inputs, labels, seed=6, max_epochs=20).weights != one.weights)


RULES = [SGD(0.05), SGD(0.05, precision="float64"), SGD(0.2, 10.0, Lorentzian()), LocalRule(0.05)]
GENERATORS = [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64]


def assert_same_run(one, other):
    for name in ("weights", "error_history", "rate_history"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert_array_equal(one.state.weights, other.state.weights)
    assert one.state.weights.dtype == other.state.weights.dtype
    assert (one.state.pace, one.stopped) == (other.state.pace, other.stopped)
    assert_equal(one.state.random_state, other.state.random_state)
    assert (one.best_epoch, one.errors) == (other.best_epoch, other.errors)


@pytest.mark.parametrize("schedule", [Constant(), ExponentialAnnealing(0.01), HalveOnPlateau(3)], ids=repr)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_resumed_run_is_the_uninterrupted_run(rule, schedule):
    inputs, labels = task(130)
    options = {"algorithm": rule, "schedule": schedule}
    whole = train(SMALL, inputs, labels, seed=5, max_epochs=20, **options)
    for epochs in (0, 7):
        half = train(SMALL, inputs, labels, seed=5, max_epochs=epochs, **options)
        assert_same_run(train(SMALL, inputs, labels, seed=99, max_epochs=20, resume=half.state, **options), whole)


@pytest.mark.parametrize("kind", GENERATORS)
def test_a_run_with_another_generator_is_resumed_with_it(kind, tmp_path):
    inputs, labels = task(130)
    whole = train(SMALL, inputs, labels, seed=np.random.Generator(kind(3)), max_epochs=20)
    half = train(SMALL, inputs, labels, seed=np.random.Generator(kind(3)), max_epochs=7)
    save_run(tmp_path / "run.npz", half, inputs, labels)
    for state in (half.state, load_run(tmp_path / "run.npz").state):
        assert_same_run(train(SMALL, inputs, labels, max_epochs=20, resume=state), whole)


def test_a_run_that_its_schedule_ended_stays_ended():
    inputs, labels = task(300)
    options = {"schedule": HalveOnPlateau(1), "max_epochs": 10_000}
    ended = train(SMALL, inputs, labels, seed=0, **options)
    assert_same_run(train(SMALL, inputs, labels, resume=ended.state, **options), ended)


def test_ctrl_c_within_an_epoch_leaves_a_run_that_can_be_resumed(monkeypatch):
    """The interrupted epoch has drawn its order of patterns already; resuming draws the same one again."""
    inputs, labels = task(130)
    whole = train(SMALL, inputs, labels, seed=5, max_epochs=20)
    run, epoch = Training(SMALL, inputs, labels, Recipe(max_epochs=20), seed=5), CompiledEngine.tested_epoch
    with monkeypatch.context() as patch:

        def interrupted(self, *arguments):
            done = epoch(self, *arguments)
            if run.epochs == 7:
                raise KeyboardInterrupt
            return done

        patch.setattr(CompiledEngine, "tested_epoch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.drain()
    assert (run.stopped, run.epochs, list(run)) == ("interrupted", 7, [])
    assert_same_run(train(SMALL, inputs, labels, max_epochs=20, resume=run.state()), whole)


def test_only_a_state_that_fits_is_resumed():
    inputs, labels = task()
    result = train(SMALL, inputs, labels, seed=5, max_epochs=2)
    with pytest.raises(InvalidParameter, match=r"a TrainingState, such as result\.state"):
        train(SMALL, inputs, labels, resume=result)
    with pytest.raises(InvalidParameter, match=r"weights of shape \(100,\)"):
        train(LinearNeuron(0.5, 99), *task(20, 99), resume=result.state)


def test_patterns_of_whole_weight_are_patterns_that_are_repeated():
    inputs, labels = task(20)
    times = np.arange(20) % 4
    recipe, first = Recipe(SGD(0.2, 5.0), max_epochs=5, stop_when_solved=False), SMALL.initial_weights(0.5, 1)
    weighted = Training(SMALL, inputs, labels, recipe, weights=first, seed=8, sample_weight=times)
    again = np.repeat(np.arange(20), times)
    repeated = Training(SMALL, inputs[again], labels[again], recipe, weights=first, seed=8)
    weighted.drain()
    repeated.drain()
    assert_array_equal(weighted.weights, repeated.weights)
    assert_array_equal(weighted.margins[again], repeated.margins)


def test_patterns_are_presented_in_proportion_to_their_weights():
    weight = np.array([0.0, 0.25, 1.0, 2.5])
    run = Training(SMALL, *task(4), Recipe(), seed=1, sample_weight=weight)
    shown = sum(np.bincount(run.shuffled(), minlength=4) for _ in range(2000))
    # Four standard deviations of a binomial share.
    assert np.all(np.abs(shown / 2000 - weight) <= 4.0 * np.sqrt((weight % 1) * (1 - weight % 1) / 2000))
    rare = Training(SMALL, *task(4), Recipe(), seed=1, sample_weight=np.full(4, 1e-6))
    assert len(rare.shuffled()) == 1  # an epoch is never empty
    for wrong in ([1.0, 2.0], [-1.0, 1.0, 1.0, 1.0], [np.nan, 1.0, 1.0, 1.0], np.zeros(4)):
        with pytest.raises(InvalidParameter, match="sample_weight"):
            Training(SMALL, *task(4), Recipe(), seed=1, sample_weight=wrong)


def test_a_time_limit_ends_a_rules_run_too():
    run = Training(SMALL, *task(), time_limit=0.0)
    assert (list(run), run.stopped) == ([], "time limit reached")


@pytest.mark.parametrize("activity", [0, 1])
def test_inputs_that_never_vary_can_be_asked_for(activity):
    result = train(SMALL, np.full((3, 100), activity), [1, 1, 0], seed=0, max_epochs=2, on_failure="return")
    assert result.errors >= 1


def test_the_best_weights_are_kept_not_the_last():
    inputs, labels = task(250)
    result = train(SMALL, inputs, labels, algorithm=SGD(0.1, 100.0), seed=2, max_epochs=60)
    assert not result.solved
    assert result.error_history[-1] > result.errors
    assert result.errors == result.error_history.min() == result.error_history[result.best_epoch - 1]
    assert np.count_nonzero(SMALL.predict(result.weights, inputs) != labels) == result.errors
    assert result.error == result.errors / 250


def test_a_solved_task_stops_and_going_on_widens_the_margins():
    inputs, labels = task()
    signs = np.where(labels, 1.0, -1.0)
    result = train(SMALL, inputs, labels, algorithm=SGD(0.1), seed=2)
    assert (result.solved, result.stopped, result.epochs) == (True, "solved", result.best_epoch)
    longer = train(SMALL, inputs, labels, algorithm=SGD(0.1), seed=2, stop_when_solved=False, max_epochs=400)
    assert (longer.solved, longer.epochs, longer.stopped) == (True, 400, "max_epochs reached")
    narrow, wide = (np.min(signs * SMALL.somatic_input(r.weights, inputs)) for r in (result, longer))
    assert wide > narrow > 0.0


def test_weights_that_solve_the_task_need_no_epoch():
    inputs, labels = task()
    weights = train(SMALL, inputs, labels, algorithm=SGD(0.1), seed=2).weights
    again = train(SMALL, inputs, labels, weights=weights)
    assert (again.epochs, again.solved) == (0, True)


def test_the_halving_schedule_ends_a_hopeless_run():
    inputs, labels = task(300)
    result = train(SMALL, inputs, labels, schedule=HalveOnPlateau(1), seed=0, max_epochs=10_000)
    assert result.stopped == "learning rate below its floor"
    assert result.rate_history[-1] / 2.0 < 1.0 / (4096 * 100) <= result.rate_history[-1]


def test_the_callback_sees_every_epoch_and_may_stop_the_run():
    inputs, labels = task(200)
    seen = []

    def callback(record):
        seen.append(record)
        return record.epoch == 7

    result = train(SMALL, inputs, labels, seed=0, callback=callback)
    assert (result.stopped, result.epochs) == ("asked to stop", 7)
    assert [record.errors for record in seen] == result.error_history.tolist()
    assert [record.best_errors for record in seen] == np.minimum.accumulate(result.error_history).tolist()


def test_a_rate_that_overflows_is_named():
    # So flat a loss calls every pattern half wrong: each adds 1e38 to the weights of its active inputs.
    neuron, labels = LinearNeuron(0.5, 2), np.ones(16, dtype=np.uint8)
    options = {"algorithm": SGD(3e38, 1e-38), "schedule": Constant(), "weights": [0.0, 0.0], "stop_when_solved": False}
    for inputs, what in (([[1, 1]] * 16, "somatic inputs"), ([[1, 0], [0, 1]] * 8, "weights")):
        with pytest.raises(TrainingFailed, match=rf"{what} became non-finite in epoch \d+ at learning_rate = 3e\+38"):
            train(neuron, inputs, labels, **options)
    with pytest.raises(InvalidParameter, match=r"learning_rate = 1e\+39 is not allowed: .*3.40282e\+38"):
        SGD(1e39)
    assert SGD(1e39, precision="float64").learning_rate == 1e39


def test_a_neuron_whose_branches_all_died_is_noticed():
    inputs, labels = task()
    with pytest.raises(TrainingFailed, match=r"all branches are dead .*learning_rate = 1000, theta_d = 0.1") as caught:
        train(SMALL, inputs, labels, algorithm=SGD(1e3), schedule=Constant(), seed=0)
    assert caught.value.result.stopped == "dead"
    result = train(SMALL, inputs, labels, algorithm=SGD(1e3), schedule=Constant(), seed=0, on_failure="return")
    assert "dead" in result.failure
    # Weights of zero keep every branch silent: lambda = -sqrt(n) theta_d.
    with pytest.raises(TrainingFailed, match="epoch 1: all branches are dead"):
        train(SMALL, inputs, labels, weights=np.zeros(100), seed=0)
    rescued = train(SMALL, inputs, labels, weights=np.zeros(100), seed=0, algorithm=SGD(0.2, 10.0, Lorentzian()))
    assert rescued.solved


def test_the_step_needs_a_surrogate():
    neuron = DendriticNeuron(NeuronSpec(Step(), 0.1, 0.5), 100, 7)
    inputs, labels = task(30)
    with pytest.raises(InvalidParameter, match=r"surrogate = None .* Step"):
        train(neuron, inputs, labels)
    assert train(neuron, inputs, labels, algorithm=SGD(0.2, 10.0, Lorentzian(0.0, 0.5)), seed=0).solved


def test_zero_errors_are_checked_with_the_neurons_own_formula():
    """A margin of the size of float32 rounding is decided in float64; Delta = 0 exactly is an error."""
    neuron = LinearNeuron(theta_d=1.0, n_inputs=4)
    run = Training(neuron, [[1, 1, 1, 1]], [1], weights=np.array([1.0 - 1e-9, 1.0, 1.0, 1.0]))
    assert run.weights[0] == 1.0  # rounded up on the way in
    assert (run.stopped, run.result().errors) == (None, 1)

    class Rounding(Rule):
        learning_rate = 0.1

        def attempt(self, run, number):
            yield EpochOutcome(np.full(60, 1e-7), weights, 0.1)

        engine = None

    inputs, labels = task()
    weights = SMALL.flat_weights(SMALL.initial_weights(0.5, 2))
    wrong = int(np.count_nonzero(SMALL.predict(weights, inputs) != labels))
    run = Training(SMALL, inputs, labels, Recipe(Rounding()), seed=0)
    (record,) = run
    assert record.errors == wrong > 0
    assert not run.result().solved


def test_a_function_of_ones_own_is_trained_through_its_table():
    softplus = Custom(lambda x: np.logaddexp(0.0, 4.0 * x) / 4.0, lambda x: 0.5 * (1.0 + np.tanh(2.0 * x)))
    neuron = DendriticNeuron(NeuronSpec(softplus, 0.1, 0.3), 100, 7)
    inputs, labels = task(40)
    compiled = train(neuron, inputs, labels, algorithm=SGD(0.1, 10.0, precision="float64"), seed=1, max_epochs=5)
    direct = train(neuron, inputs, labels, algorithm=LocalRule(0.1, gamma_ce=10.0), seed=1, max_epochs=5)
    # The table follows g to 1e-10 and g' to some 1e-8; 200 steps of size 0.01 carry that into the weights.
    assert_allclose(compiled.state.weights, direct.state.weights, rtol=0, atol=2e-8)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_epochs": -1}, "max_epochs = -1"),
        ({"on_failure": "ignore"}, "on_failure = 'ignore'"),
        ({"weights": np.full(100, -1.0)}, "weights"),
        ({"algorithm": "sgd"}, "algorithm = 'sgd'"),
        ({"schedule": 3}, "schedule = 3"),
    ],
)
def test_bad_options_are_named(options, said):
    with pytest.raises(InvalidParameter, match=said):
        train(SMALL, *task(), **options)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SGD(0.0), "learning_rate = 0.0"),
        (lambda: SGD(gamma_ce=-1.0), "gamma_ce = -1.0"),
        (lambda: SGD(precision="float16"), "precision = 'float16'"),
        (lambda: SGD(surrogate=0.3), "surrogate = 0.3"),
        (lambda: LocalRule(error=3), "error = 3"),
        (lambda: Lorentzian(width=0.0), "width = 0.0"),
    ],
)
def test_bad_hyper_parameters_are_named(make, said):
    with pytest.raises(InvalidParameter, match=said):
        make()


def test_an_empty_task_is_refused():
    with pytest.raises(InvalidParameter, match="at least one pattern"):
        train(SMALL, np.empty((0, 100), dtype=np.uint8), [])


# Runs on disk.


NEURONS = [
    LinearNeuron(0.5, 50),
    DendriticNeuron(NeuronSpec(Polsky(0.2, 9.0), 0.1, 0.4), 50, 7),
    DendriticNeuron(NeuronSpec(ReLU(), 0.1, 0.4), 50, 7),
    DendriticNeuron(NeuronSpec(Tabulated([0.0, 0.4, 1.0], [0.0, 0.1, 1.0]), 0.1, 0.4), 50, 7),
]


@pytest.mark.parametrize("neuron", NEURONS, ids=repr)
def test_what_is_read_is_what_was_written(neuron, tmp_path):
    inputs, labels = random_patterns(70, 50, rng=0)
    result = train(neuron, inputs, labels, algorithm=SGD(0.1), schedule=HalveOnPlateau(4), seed=1, max_epochs=12)
    save_run(tmp_path / "run.npz", result, inputs, labels)
    stored = load_run(tmp_path / "run.npz")
    assert stored.neuron == neuron
    assert type(stored.neuron) is type(neuron)
    assert_array_equal(stored.inputs.unpack(), inputs)
    assert_array_equal(stored.labels, labels)
    assert_array_equal(stored.weights, result.weights)
    assert stored.errors == result.errors
    assert stored.state.pace == result.state.pace
    assert stored.state.random_state == result.state.random_state
    options = {"algorithm": SGD(0.1), "schedule": HalveOnPlateau(4), "max_epochs": 30}
    straight = train(neuron, inputs, labels, seed=1, **options)
    resumed = train(neuron, stored.inputs, stored.labels, resume=stored.state, **options)
    assert_array_equal(resumed.state.weights, straight.state.weights)


def test_a_function_cannot_be_stored(tmp_path):
    neuron = DendriticNeuron(NeuronSpec(Custom(np.tanh), 0.1, 0.1), 50, 7)
    inputs, labels = random_patterns(5, 50, rng=0)
    result = train(neuron, inputs, labels, seed=1, max_epochs=2)
    with pytest.raises(InvalidParameter, match="function cannot be stored"):
        save_run(tmp_path / "run.npz", result, inputs, labels)


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.ones(3))
    (tmp_path / "text.npz").write_text("not a zip file")
    np.savez(tmp_path / "newer.npz", about=np.array('{"format": 99}'))
    for name in ("other.npz", "text.npz"):
        with pytest.raises(CorruptData, match=f"{name} is not a run saved by dendrocap"):
            load_run(tmp_path / name)
    with pytest.raises(CorruptData, match=r"newer.npz has format 99, but 2 was expected"):
        load_run(tmp_path / "newer.npz")
