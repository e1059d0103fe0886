"""Solvers: what they find is counted by other means than their own, and they never claim more."""

from dataclasses import dataclass
from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dendrocap import (
    ConvergenceError,
    Custom,
    DendriticNeuron,
    InvalidParameter,
    Linear,
    LinearNeuron,
    NeuronSpec,
    Polsky,
    ReLU,
    SaturatingReLU,
    Step,
    pack_patterns,
    random_patterns,
    solve,
    train,
)
from dendrocap.learning import (
    SGD,
    AnnealedSurrogate,
    EpochOutcome,
    HalveOnPlateau,
    LocalRule,
    Lorentzian,
    MessagePassing,
    PlainSGD,
    PolishedAnnealing,
    Recipe,
    ReplicatedSGD,
    Solver,
    SplitStart,
    Training,
    TrueSlope,
    _solver_kernels,
    bethe_free_entropy,
    load_run,
    save_run,
    soft_error,
    suitable_solver,
)
from dendrocap.learning.engine import CompiledEngine
from dendrocap.learning.search import GONE, SOLVERS
from dendrocap.learning.solvers import Span, _damped_step, crossing, input_scale, least_squares, rise_of
from dendrocap.learning.training import INTERRUPTED
from tests.naive.neuron import naive_somatic_input

SMALL = DendriticNeuron(NeuronSpec(Polsky(), theta_d=0.3, theta_s=0.5), n_inputs=150, n_branches=9)
# Short attempts, so that all branches of the code run within seconds.
EVERY = [
    PlainSGD(patience=50),
    AnnealedSurrogate(epochs=300),
    ReplicatedSGD(rule=AnnealedSurrogate(epochs=150)),
    MessagePassing(sweeps=100),
    PolishedAnnealing(epochs=300),
]
BY_NAME = pytest.mark.parametrize("solver", EVERY, ids=lambda solver: solver.name)


def counted_by_hand(neuron, weights, inputs, labels):
    """Wrong answers, from the formulas of the paper, one branch at a time."""
    flat = neuron.flat_weights(weights)
    parts = [slice(start, start + size) for start, size in zip(neuron.branch_starts, neuron.branch_sizes, strict=True)]
    wrong = 0
    for pattern, label in zip(inputs, labels, strict=True):
        soma = naive_somatic_input(
            neuron.nonlinearity,
            neuron.theta_d,
            neuron.spec.theta_s,
            [flat[part] for part in parts],
            [pattern[part] for part in parts],
        )
        wrong += (1.0 if label else -1.0) * soma <= 0.0
    return wrong


def test_every_name_has_a_solver_here():
    assert {solver.name for solver in EVERY} == set(SOLVERS)
    assert all(isinstance(solver, Solver) for solver in EVERY)


@BY_NAME
def test_easy_tasks_are_solved_and_the_count_is_right(solver):
    inputs, labels = random_patterns(45, 150, rng=2)
    result = solve(SMALL, inputs, labels, solver=solver, seed=1, time_limit=None, max_epochs=3000)
    assert (result.solved, result.stopped) == (True, "solved")
    assert counted_by_hand(SMALL, result.weights, inputs, labels) == 0
    assert result.algorithm is solver
    assert result.error_history[-1] == 0
    assert len(result.error_history) == result.epochs == result.best_epoch
    assert np.all(result.weights >= 0.0)


@BY_NAME
def test_impossible_tasks_are_never_claimed(solver):
    inputs, labels = random_patterns(30, 150, rng=4)
    inputs, labels = np.vstack([inputs, inputs[:3]]), np.concatenate([labels, 1 - labels[:3]])
    result = solve(SMALL, inputs, labels, solver=solver, seed=1, time_limit=None, max_epochs=60)
    assert not result.solved
    assert result.errors == counted_by_hand(SMALL, result.weights, inputs, labels) >= 3
    assert result.stopped == "max_epochs reached"
    assert result.epochs == 60


@BY_NAME
def test_same_seed_same_weights_whatever_form_the_patterns_have(solver):
    inputs, labels = random_patterns(120, 150, rng=5)
    run = {"solver": solver, "time_limit": None, "max_epochs": 12}
    one = solve(SMALL, inputs, labels, seed=3, **run)
    assert_array_equal(solve(SMALL, inputs, labels, seed=3, **run).weights, one.weights)
    assert_array_equal(solve(SMALL, pack_patterns(inputs), labels, seed=3, **run).weights, one.weights)


@BY_NAME
def test_ctrl_c_returns_the_best_weights_so_far(solver):
    inputs, labels = random_patterns(290, 150, rng=6)
    seen = []

    def press(record):
        seen.append(record)
        if len(seen) == 7:
            raise KeyboardInterrupt

    result = solve(SMALL, inputs, labels, solver=solver, seed=2, time_limit=None, max_epochs=50, callback=press)
    assert (result.stopped, result.epochs) == (INTERRUPTED, 7)
    assert result.errors == counted_by_hand(SMALL, result.weights, inputs, labels) == seen[-1].best_errors


@BY_NAME
def test_a_time_limit_ends_the_search(solver):
    inputs, labels = random_patterns(600, 150, rng=6)
    result = solve(SMALL, inputs, labels, solver=solver, seed=2, time_limit=0.0)
    assert (result.stopped, result.epochs) == ("time limit reached", 0)
    result = solve(SMALL, inputs, labels, solver=solver, seed=2, time_limit=0.3)
    assert result.stopped == "time limit reached"
    assert result.epochs >= 1
    assert result.errors == counted_by_hand(SMALL, result.weights, inputs, labels)


@BY_NAME
def test_without_limits_there_is_one_attempt(solver):
    inputs, labels = random_patterns(450, 150, rng=6)
    short = {
        "sgd": PlainSGD(patience=1),
        "surrogate": AnnealedSurrogate(epochs=5),
        "replicated": ReplicatedSGD(rule=AnnealedSurrogate(epochs=5)),
        "message-passing": MessagePassing(sweeps=5),
        "polished": PolishedAnnealing(epochs=5, rounds=2, steps=5),
    }[solver.name]
    result = solve(SMALL, inputs, labels, solver=short, seed=2, time_limit=None)
    assert result.stopped == "attempt exhausted"
    assert result.epochs < 100


def test_attempts_follow_one_another_and_grow():
    inputs, labels = random_patterns(600, 150, rng=6)
    solver = AnnealedSurrogate(epochs=4)
    result = solve(SMALL, inputs, labels, solver=solver, seed=2, time_limit=None, max_epochs=20)
    starts = np.flatnonzero(result.rate_history == result.rate_history[0])
    assert starts.tolist() == [0, 4, 12]


def test_weights_that_solve_the_task_end_the_search_at_once():
    inputs, labels = random_patterns(45, 150, rng=4)
    weights = solve(SMALL, inputs, labels, seed=1).weights
    again = solve(SMALL, inputs, labels, solver="sgd", weights=weights, seed=1)
    assert (again.epochs, again.stopped) == (0, "solved")
    assert_array_equal(again.weights, weights)


def test_renaming_branches_renames_the_solution():
    """The dynamics knows no order of branches, and shuffles do not depend on them."""
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.3, 0.5), n_inputs=60, n_branches=6)
    inputs, labels = random_patterns(50, 60, rng=8)
    first = neuron.initial_weights(0.5, 3)
    order = np.array([3, 1, 5, 0, 2, 4])
    moved = inputs.reshape(50, 6, 10)[:, order].reshape(50, 60)
    run = {"algorithm": SGD(0.1, precision="float64"), "seed": 9, "max_epochs": 10}
    one = train(neuron, inputs, labels, weights=first, **run)
    other = train(neuron, moved, labels, weights=first[order], **run)
    assert one.epochs == 10
    assert_allclose(other.weights, one.weights[order], rtol=0, atol=1e-9)


def test_retuning_an_engine_equals_making_a_new_one():
    patterns = random_patterns(40, 150, rng=3)
    bump, order = Lorentzian(0.3, 0.2), np.arange(40)
    fresh = CompiledEngine(SMALL, patterns, gamma_ce=7.0, surrogate=bump, dtype="float64")
    turned = CompiledEngine(SMALL, patterns, gamma_ce=100.0, surrogate=TrueSlope(), dtype="float64")
    turned.retune(7.0, bump)
    for engine in (fresh, turned):
        engine.set_weights(SMALL.flat_weights(SMALL.initial_weights(0.5, 1)))
    assert_array_equal(turned.tested_epoch(order, 0.3)[1], fresh.tested_epoch(order, 0.3)[1])
    assert_array_equal(turned.weights(), fresh.weights())


def test_margins_are_those_of_the_presentation_where_a_test_is_not_worth_it():
    patterns = random_patterns(40, 150, rng=3)
    order, first = np.random.default_rng(1).permutation(40), SMALL.flat_weights(SMALL.initial_weights(0.5, 1))
    engine = CompiledEngine(SMALL, patterns, gamma_ce=7.0, dtype="float64")
    engine.set_weights(first)
    presented = np.empty(40)
    for pattern in order:  # one by one: the margin before, then the step
        presented[pattern] = engine.margins()[pattern]
        engine.epoch(np.array([pattern]), 0.3)
    wrong, after = np.count_nonzero(presented <= 0.0), engine.margins()
    assert 0 < wrong < 40
    assert np.max(np.abs(presented - after)) > 1e-3
    for worth, expected in ((wrong - 1, presented), (wrong, after), (None, after)):
        engine.set_weights(first)
        assert_allclose(engine.tested_epoch(order, 0.3, worth)[1], expected, rtol=0, atol=1e-12)
        assert_allclose(engine.margins(), after, rtol=0, atol=1e-12)


def test_patterns_with_a_small_soft_error_change_nothing():
    patterns = random_patterns(40, 150, rng=3)
    start = SMALL.flat_weights(SMALL.initial_weights(0.5, 1))
    reached = {}
    for still in (0.5, 9.0, None):
        engine = CompiledEngine(SMALL, patterns, gamma_ce=3.0, dtype="float64", still=still)
        engine.set_weights(start)
        for pattern in range(40):
            before, exponent = engine.weights(), 6.0 * engine.margins()[pattern]
            engine.epoch(np.array([pattern]), 0.3)
            changed = not np.array_equal(engine.weights(), before)
            assert not (still is not None and exponent >= still and changed)
            assert changed or (still is not None and exponent >= still)
        reached[still] = engine.weights()
    assert_allclose(reached[9.0], reached[None], rtol=0, atol=1e-4 * 0.3)
    assert np.max(np.abs(reached[0.5] - reached[None])) > 1e-3


def test_a_run_that_goes_on_after_a_solution_tests_every_epoch():
    """The estimator selects weights by the margins after each epoch."""
    patterns = random_patterns(290, 150, rng=6)
    run = Training(SMALL, *patterns, Recipe(AnnealedSurrogate(epochs=100), stop_when_solved=False), seed=2)
    for record in islice(run, 60):
        assert record.errors == SMALL.errors(run.weights, run.patterns)


def test_the_coupling_brings_the_copies_together():
    inputs, labels = random_patterns(300, 150, rng=3)
    spread = {}
    for strength in (1e-6, 0.5):
        solver = ReplicatedSGD(coupling=(strength, strength), rule=AnnealedSurrogate(epochs=40))
        engines = []
        plan = AnnealedSurrogate.plan

        def remembered(self, neuron, plan=plan, engines=engines):
            made = plan(self, neuron)

            class Watched(type(made)):
                def engine(self, run):
                    engines.append(super().engine(run))
                    return engines[-1]

            return Watched(made.rate, made.gamma_ce, made.width, made.center)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AnnealedSurrogate, "plan", remembered)
            solve(SMALL, inputs, labels, solver=solver, seed=1, time_limit=None)
        copies = np.array([engine.weights() for engine in engines[:3]])
        spread[strength] = float(copies.std(axis=0).mean())
    assert spread[0.5] < 0.3 * spread[1e-6]


@pytest.mark.parametrize(
    ("g", "center", "width"),
    [(SaturatingReLU(), 0.5, 0.25), (Step(), 0.0, 0.05), (Polsky(x_min=0.0, gamma=4.0), np.log(3) / 4, 0.20775)],
    ids=repr,
)
def test_rise_of_known_functions(g, center, width):
    rise = rise_of(g)
    # Polsky with x_min = 0 is tanh(2x) from 0 on: quarters at atanh(1/4)/2 and atanh(3/4)/2, middle at atanh(1/2)/2.
    expected = (np.arctanh(0.75) - np.arctanh(0.25)) / 4 if isinstance(g, Polsky) else width
    middle = np.arctanh(0.5) / 2 if isinstance(g, Polsky) else center
    assert rise.center == pytest.approx(middle, abs=1e-9)
    assert rise.width == pytest.approx(expected, abs=1e-9)


def test_scales():
    assert rise_of(ReLU()) is None
    assert rise_of(Linear()) is None
    assert crossing(ReLU(), 0.7) == pytest.approx(0.7)
    neuron = DendriticNeuron(NeuronSpec(ReLU(), 0.2, 0.6), n_inputs=90, n_branches=10)
    assert input_scale(neuron) == pytest.approx(0.2 + 0.6 / 3)
    assert Span(4.0, 1.0).at(0.0) == 4.0
    assert Span(4.0, 1.0).at(1.0) == 1.0


def test_auto_chooses_by_threshold_and_load():
    def chosen(theta_d, n_patterns, g=None):
        neuron = DendriticNeuron(NeuronSpec(g or Polsky(), theta_d, 0.5), n_inputs=100, n_branches=5)
        return suitable_solver(neuron, n_patterns).name

    assert chosen(0.05, 50) == "sgd"
    assert chosen(0.05, 120) == "surrogate"
    assert chosen(0.5, 10) == "surrogate"
    assert suitable_solver(LinearNeuron(0.5, 100), 90).name == "sgd"
    inputs, labels = random_patterns(40, 150, rng=1)
    assert solve(SMALL, inputs, labels, seed=0).algorithm.name == "surrogate"


@pytest.mark.parametrize(
    "g", [ReLU(), SaturatingReLU(), Step(), Custom(np.tanh)], ids=["relu", "sat", "step", "custom"]
)
def test_auto_serves_other_functions_too(g):
    neuron = DendriticNeuron(NeuronSpec(g, 0.3, 0.4), n_inputs=80, n_branches=5)
    inputs, labels = random_patterns(32, 80, rng=2)
    result = solve(neuron, inputs, labels, seed=1, time_limit=None, max_epochs=4000)
    assert result.solved
    assert counted_by_hand(neuron, result.weights, inputs, labels) == 0


@BY_NAME
def test_a_result_says_that_it_cannot_be_resumed_but_can_be_trained_on(solver, tmp_path):
    inputs, labels = random_patterns(290, 150, rng=4)
    result = solve(SMALL, inputs, labels, solver=solver, seed=1, time_limit=None, max_epochs=6)
    save_run(tmp_path / "run.npz", result, inputs, labels)
    stored = load_run(tmp_path / "run.npz")
    for run in (result, stored):
        assert run.resumption is None
        with pytest.raises(
            InvalidParameter, match=r"cannot be resumed.*weights=result\.weights starts a new run"
        ) as why:
            train(SMALL, inputs, labels, resume=run.state)
        assert f"a run of {solver!r} " in str(why.value)
        with pytest.raises(InvalidParameter, match="cannot be resumed"):
            Training(SMALL, inputs, labels, Recipe(solver)).state()
    assert_array_equal(stored.weights, result.weights)
    assert_array_equal(stored.error_history, result.error_history)
    assert_array_equal(stored.rate_history, result.rate_history)
    after = train(SMALL, inputs, labels, weights=stored.weights, algorithm=SGD(0.01), max_epochs=0)
    assert after.errors == result.errors
    assert after.state.best_errors == result.errors


@BY_NAME
def test_a_rules_run_cannot_be_resumed_with_a_solver(solver):
    inputs, labels = random_patterns(290, 150, rng=4)
    half = train(SMALL, inputs, labels, algorithm=SGD(0.01), max_epochs=2, seed=0)
    with pytest.raises(InvalidParameter, match="cannot be resumed"):
        train(SMALL, inputs, labels, algorithm=solver, resume=half.state)
    with pytest.raises(InvalidParameter, match=r"schedule = HalveOnPlateau\(.*sets its own rates"):
        train(SMALL, inputs, labels, algorithm=solver, schedule=HalveOnPlateau(5))


@dataclass(frozen=True)
class Overflowing(Solver):
    """Its weights, or its margins, are infinite in epoch ``last`` of every attempt."""

    name = "overflowing"
    last: int
    what: str = "weights"

    def attempt(self, run, number):
        for epoch in range(1, 99):
            margins, weights = np.full(run.n_patterns, -1.0), run.first_weights().copy()
            if epoch == self.last:
                {"margins": margins, "weights": weights}[self.what][0] = np.inf
            yield EpochOutcome(margins, weights, float(number))


@pytest.mark.parametrize("what", ["weights", "margins"])
def test_an_attempt_that_diverges_is_given_up_and_the_search_goes_on(what):
    inputs, labels = random_patterns(290, 150, rng=4)
    run = {"seed": 0, "time_limit": None, "max_epochs": 7}
    result = solve(SMALL, inputs, labels, solver=Overflowing(3, what), **run)
    assert (result.stopped, result.rate_history.tolist()) == ("max_epochs reached", [0, 0, 1, 1, 2, 2, 3])
    # An attempt that diverges at once would do so for ever.
    result = solve(SMALL, inputs, labels, solver=Overflowing(1, what), **run)
    assert (result.stopped, result.epochs) == ("attempt exhausted", 0)


def test_messages_that_overflow_end_an_attempt_and_an_estimate(monkeypatch):
    inputs, labels = random_patterns(60, 150, rng=4)

    def overflow(*arguments):
        arguments[-3][:] = np.nan

    monkeypatch.setattr(_solver_kernels, "channel", overflow)
    result = solve(SMALL, inputs, labels, solver="message-passing", seed=1, time_limit=None, max_epochs=5)
    assert (result.stopped, result.epochs) == ("attempt exhausted", 0)
    with pytest.raises(ConvergenceError, match="messages stopped being finite"):
        bethe_free_entropy(SMALL, inputs, labels)


def test_bad_arguments_are_named():
    inputs, labels = random_patterns(10, 150, rng=4)
    with pytest.raises(InvalidParameter, match="solver = 'magic'"):
        solve(SMALL, inputs, labels, solver="magic")
    with pytest.raises(InvalidParameter, match="solver"):
        solve(SMALL, inputs, labels, solver=3)
    with pytest.raises(InvalidParameter, match="time_limit"):
        solve(SMALL, inputs, labels, time_limit=-1)
    with pytest.raises(InvalidParameter, match="at least one pattern"):
        solve(SMALL, inputs[:0], labels[:0])
    for name in GONE:
        with pytest.raises(InvalidParameter, match=rf"'{name}' has left the package.*notes/solvers.md.*polished"):
            solve(SMALL, inputs, labels, solver=name)
    for kind, wrong in (
        (PlainSGD, {"patience": 0}),
        (AnnealedSurrogate, {"rate": (1.0, 0.0)}),
        (ReplicatedSGD, {"copies": 1}),
        (MessagePassing, {"memory": 1.0}),
    ):
        with pytest.raises(InvalidParameter, match=next(iter(wrong))):
            kind(**wrong)


@BY_NAME
def test_a_margin_asked_for_is_a_margin_found(solver):
    inputs, labels = random_patterns(30, 150, rng=2)
    asked = {"solver": solver, "seed": 1, "time_limit": None, "max_epochs": 4000, "kappa": 0.1}
    result = solve(SMALL, inputs, labels, **asked)
    signs = np.where(labels, 1.0, -1.0)
    margin = float((signs * SMALL.somatic_input(result.weights, inputs)).min())
    assert result.solved
    assert (result.kappa, result.margin) == (0.1, margin)
    assert margin > 0.1


def test_patterns_right_without_the_margin_count_as_wrong():
    inputs, labels = random_patterns(45, 150, rng=2)
    weights = solve(SMALL, inputs, labels, solver="sgd", seed=1).weights
    margins = np.where(labels, 1.0, -1.0) * SMALL.somatic_input(weights, inputs)
    kappa = float(np.median(margins))
    result = solve(SMALL, inputs, labels, solver="sgd", weights=weights, kappa=kappa, max_epochs=0, time_limit=None)
    assert result.errors == int((margins <= kappa).sum()) == 23
    assert result.margin == margins.min()


def test_margins_are_refused_where_none_can_be_found():
    patterns = random_patterns(20, 150, rng=2)
    with pytest.raises(InvalidParameter, match=r"kappa = 1.6.*below 1.5"):
        solve(SMALL, *patterns, kappa=1.6)
    with pytest.raises(InvalidParameter, match=r"'blind' cannot look for a margin, kappa = 0\.2: sgd, sur"):
        solve(SMALL, *patterns, kappa=0.2, solver=Blind())


@dataclass(frozen=True)
class Blind(Solver):
    """A solver that knows nothing of margins."""

    name = "blind"

    def attempt(self, run, number):
        yield EpochOutcome(np.ones(run.n_patterns), run.first_weights(), 0.0)


def test_the_soft_error_is_one_half_at_the_margin_asked_for(rng):
    """A twin: kappa shifts the margin at which a pattern is left in peace, and nothing else."""
    patterns = random_patterns(25, 150, rng=rng)
    first = SMALL.flat_weights(SMALL.initial_weights(0.5, rng))
    engine = CompiledEngine(SMALL, patterns, gamma_ce=5.0, dtype="float64", kappa=0.3)
    engine.set_weights(first)
    engine.epoch(np.arange(25), 0.2)
    rule = LocalRule(0.2, error=lambda margin: float(soft_error(margin - 0.3, 5.0)))
    twin = rule.engine(SMALL, patterns)
    twin.set_weights(first)
    twin.epoch(np.arange(25), 0.2)
    assert_allclose(engine.weights(), twin.weights(), rtol=0, atol=1e-12)


def test_branches_learn_at_rates_of_their_own(rng):
    patterns, order = random_patterns(1, 150, rng=rng), np.arange(1)
    first = SMALL.flat_weights(SMALL.initial_weights(0.5, rng)) + 0.5
    factors = np.linspace(0.5, 2.5, 9)
    changes = []
    for rates in (None, factors):
        engine = CompiledEngine(
            SMALL, patterns, gamma_ce=0.5, surrogate=Lorentzian(), dtype="float64", branch_rates=rates
        )
        engine.set_weights(first)
        engine.epoch(order, 1e-3)
        changes.append(engine.weights() - first)
    assert np.abs(changes[0]).max() > 0.0
    assert_allclose(changes[1], np.repeat(factors, SMALL.branch_sizes) * changes[0], rtol=1e-9, atol=1e-15)


def test_least_squares_ends_what_gradients_leave():
    """From weights with a few small violations to none, where as many more epochs of gradients leave some."""
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=300, n_branches=15)
    patterns = random_patterns(400, 300, rng=7)
    run = Training(neuron, *patterns, Recipe(PolishedAnnealing(epochs=400), max_epochs=400), seed=0)
    run.drain()
    near = run.weights
    before = neuron.errors(near, run.patterns)
    engine = CompiledEngine(neuron, run.patterns)
    outcomes = list(least_squares(run, engine, near, 40))
    errors = [neuron.errors(outcome.weights, run.patterns) for outcome in outcomes]
    assert before > 5
    assert min(errors) < before / 3
    assert all(np.all(outcome.weights >= 0.0) for outcome in outcomes)


def test_the_step_of_least_squares_is_that_of_a_dense_solver(rng):
    """Against the normal equations in float64, all weights free and none at zero."""
    gradient = rng.normal(size=(6, 20)).astype(np.float32)
    wanted, flat = rng.random(6), np.ones(20)
    ridge = 0.1 * float(np.mean(np.sum(gradient.astype(float) ** 2, axis=1)))
    slow = np.linalg.solve(gradient.T @ gradient + ridge * np.eye(20), gradient.T @ wanted)
    assert_allclose(_damped_step(gradient, wanted, flat, 0.1), slow, rtol=1e-3, atol=1e-5)
    held = _damped_step(gradient, wanted, np.zeros(20), 0.1)
    assert np.all(held >= 0.0)


def test_split_branches_stay_split():
    neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), n_inputs=300, n_branches=15)
    patterns = random_patterns(360, 300, rng=3)
    outputs = {}
    for split in ("yes", "no"):
        solver = PolishedAnnealing(split=split, epochs=600)
        result = solve(neuron, *patterns, solver=solver, seed=0, time_limit=None, max_epochs=600)
        outputs[split] = np.sort(
            neuron.branch_output(neuron.branch_input(result.weights, patterns.inputs)).mean(axis=0)
        )
    off, on = outputs["yes"][:8], outputs["yes"][8:]
    assert off.mean() < 0.12 < 0.9 < on.mean()
    assert outputs["no"][:8].mean() > 1.5 * off.mean()


@pytest.mark.parametrize(("theta_d", "splits"), [(0.01, True), (0.1, True), (0.5, False), (1.0, False)])
def test_branches_are_split_where_their_inputs_stay_on_the_foot_of_g(theta_d, splits):
    neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d, 0.5), n_inputs=999, n_branches=27)
    rise = rise_of(neuron.nonlinearity)
    assert PolishedAnnealing().splits(neuron) is splits
    assert PolishedAnnealing(split="yes").splits(neuron)
    assert not PolishedAnnealing(split="no").splits(neuron)
    assert (suitable_solver(neuron, 1400).name == "polished") is splits
    assert suitable_solver(neuron, 1100).name == "surrogate"
    assert (suitable_solver(neuron, 1100, capacity=1.2).name == "polished") is splits
    off, on = SplitStart().drives(neuron, rise)
    assert 0.0 < off < theta_d + rise.center / np.sqrt(37) < on
