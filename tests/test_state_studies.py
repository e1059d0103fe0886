"""Studies of trained and of sampled neurons: pages say what the stored tables say, and the sampler samples."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from dendrocap import saddle_point
from studies import local_entropy as local
from studies import one_more_pattern as one_more
from studies import sampled_solutions as sampled
from studies import short_branches as short
from studies import students
from studies import trained_states as trained
from studies.tables import ROOT, stored


def test_the_tables_have_all_tasks():
    for labels, path in sampled.TABLES.items():
        rows = stored(path)
        for name, K, n, tasks in sampled.SIZES[labels]:
            assert len(sampled.by_size(rows, name)[K, n]) == tasks
        assert len(rows) == sum(tasks for *_, tasks in sampled.SIZES[labels])


def test_students_of_a_polsky_teacher_are_in_the_order_that_theory_says():
    """Below the crossing load the linear student errs less, above it more, and so do those drawn at random."""
    for alpha, sign in ((0.5, -1.0), (1.5, 1.0)):
        own = {name: [row for row in stored(students.TABLE) if (row["student"], float(row["alpha"])) == (name, alpha)]
               for name in students.NEURONS}  # fmt: skip
        (linear, one), (dendritic, other) = (sampled.averages(own[name], "error") for name in ("linear", "polsky"))
        assert sign * (linear - dendritic) > math.hypot(one, other)


def test_a_student_answers_what_its_teacher_said():
    student = students.Student("polsky", 0.5, 0, 4, 10)
    assert np.all(student.signs * student.soma(student.weights, student.inputs) > 0.0)
    assert student.error() == 0.0  # it is the teacher as yet
    student.sweep(20)
    assert np.all(student.signs * student.soma(student.weights, student.inputs) > -1e-9)
    assert student.error() > 0.0


@pytest.mark.parametrize("name", students.NEURONS)
def test_every_student_is_measured(name):
    assert 0.0 < float(students.measured(name, 0.2, 0, size=(4, 10), sweeps=60)["error"]) < 0.5


def test_trained_linear_neurons_have_the_loss_that_theory_says():
    """Finite size and unfinished runs cost a few per cent; three seeds."""
    rows = [one for one in trained.compared(stored(trained.TABLE)) if one["neuron"] == "linear"]
    assert len(rows) == len(trained.LOADS) * len(trained.GAMMAS)
    for one in rows:
        assert abs(one["loss"] - one["loss theory"]) < 3.0 * one["loss ±"] + 0.02 * one["loss theory"]


def test_sliding_draws_evenly_from_all_solutions(rng):
    """Five synapses, three patterns: against weights drawn evenly at a given sum, without those that err."""
    signed = np.array([[1, 0, 1, 0, 0], [0, -1, -1, 0, -1], [1, 1, 0, 0, 1]], dtype=np.int8).T[None]  # inputs x labels
    half = 0.5 * np.array([1.0, -1.0, 1.0])
    every = 5.0 * rng.dirichlet(np.ones(5), 200_000)
    solves = np.all(every @ signed[0] - 5.0 * half > 0.0, axis=1)
    drawn, weights = every[solves], every[solves][:1].copy()
    margin = (weights @ signed[0] - 5.0 * half)[0]
    found = np.empty((6000, 5))
    for one in found:
        sampled.slide(weights, signed, margin, 25, rng)
        one[:] = weights[0]
    assert np.all(found @ signed[0] - 5.0 * half > -1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 5.0, rtol=1e-12)
    for power in (1, 2):
        error = np.hypot((found**power).std(axis=0) / 6000**0.5, (drawn**power).std(axis=0) / len(drawn) ** 0.5)
        # Chains of 25 moves are not quite independent: the error is below twice the plain one.
        assert np.all(np.abs((found**power).mean(axis=0) - (drawn**power).mean(axis=0)) < 8.0 * error)


def curved_task(rng):
    """Two Polsky branches of three synapses with three patterns, and labels of weights drawn at random."""
    g, m = sampled.NEURONS["polsky"].nonlinearity, 0.34
    inputs = rng.integers(0, 2, size=(2, 3, 3)).astype(np.int8)

    def soma(weights):
        branch = np.einsum("ski,kip->skp", weights, inputs - 0.5) / math.sqrt(3.0) + m
        return (g(branch) - 0.5).sum(axis=1)

    return g, m, inputs, soma


def test_sliding_on_curved_branches_draws_evenly_from_all_solutions():
    """Against weights drawn evenly at the given sums, without those that err."""
    rng = np.random.default_rng(5)
    g, m, inputs, soma = curved_task(rng)
    every = 3.0 * rng.dirichlet(np.ones(3), (300_000, 2))
    answers = soma(every)
    signs = np.sign(answers[0])
    solves = np.all(answers * signs > 0.0, axis=1)
    assert 0.02 < solves.mean() < 0.8
    drawn, weights = every[solves], every[0].copy()
    found = np.empty((6000, 2, 3))
    for one in found:
        sampled.slide_curved(weights, inputs, signs, *g.kernel(), (m, 0.5), 40, rng)
        one[:] = weights
    assert np.all(soma(found) * signs > -1e-12)
    np.testing.assert_allclose(found.sum(axis=2), 3.0, rtol=1e-12)
    for power in (1, 2):
        error = np.hypot((found**power).std(axis=0) / 6000**0.5, (drawn**power).std(axis=0) / len(drawn) ** 0.5)
        # Forty moves forget the last sample but for a little: the error is below twice the plain one.
        assert np.all(np.abs((found**power).mean(axis=0) - (drawn**power).mean(axis=0)) < 8.0 * error)


def test_one_long_branch_has_the_errors_of_the_theory():
    """With rare flips it is few of 200 inputs that change, which the theory does not know."""
    own, expected = (
        sampled.by_size(stored(sampled.TABLES["random"]), "linear")[1, 200],
        sampled.theory("random", "linear"),
    )
    for key in ("synaptic_0.2", "synaptic_0.5", "Q"):
        mean, error = sampled.averages(own, key)
        assert abs(mean - expected[key]) < 2.0 * error, key
        assert error < 0.008 * mean


def test_many_short_linear_branches_have_the_errors_of_their_own_theory():
    """All of them lie above the theory of long branches; that of short ones with prescribed sums says by how much."""
    sizes, long = sampled.by_size(stored(sampled.TABLES["random"]), "linear"), sampled.theory("random", "linear")
    apart = []
    for n, expected in short.table().items():
        for (_, size), own in sizes.items():
            for key in ("synaptic_0.2", "synaptic_0.5", "Q") if size == n else ():
                mean, error = sampled.averages(own, key)
                apart.append((mean - expected[key]) / error)
        assert expected["synaptic_0.2"] > 1.01 * long["synaptic_0.2"]
    assert len(apart) == 9
    assert np.max(np.abs(apart)) < 2.5
    assert np.mean(np.square(apart)) < 2.0


def test_linear_students_have_the_errors_of_short_branches():
    """Three sizes within two standard errors; the theory of long branches is further away than that."""
    sizes, long = sampled.by_size(stored(sampled.TABLES["teacher"]), "linear"), sampled.theory("teacher", "linear")
    expected = {int(row["n"]): row for row in stored(short.STUDENTS)}
    for (_, n), own in sizes.items():
        mean, error = sampled.averages(own, "error")
        assert abs(mean - float(expected[n]["error"])) < 2.0 * math.hypot(error, float(expected[n]["uncertain"]))
    mean, error = sampled.averages(sizes[10, 40], "error")
    assert mean < long["error"] - 3.0 * error


def test_students_of_short_branches_know_nothing_without_patterns():
    """Two neurons drawn evenly at prescribed sums have Q = 2 n / (n + 1) and the overlap one."""
    found = short.student(20, 1e-5, 20)
    np.testing.assert_allclose([found.q, found.error], [1.0, math.acos(21.0 / 40.0) / math.pi], rtol=1e-4)


@pytest.mark.slow
def test_students_of_long_branches_are_the_theory():
    """100 synapses: half the distance of 50, which is that of prescribed sums; so it vanishes like 1 / n."""
    long = sampled.theory("teacher", "linear")["error"]
    near, far = (short.student(n, short.LOAD, 1500) for n in (100, 50))
    assert abs(2.0 * near.error - far.error - long) < 3.0 * math.hypot(2.0 * near.uncertain, far.uncertain)


def test_weights_on_a_simplex_are_those_drawn_evenly(rng):
    """Without fields the mean square is 2 n / (n + 1); with fields, against weights drawn evenly and reweighted."""
    second = short.on_simplex(np.zeros((1, 12)), 1e-3, 0.0, points=400)[1].mean()
    weaker = short.on_simplex(np.zeros((1, 12)), 5e-4, 0.0, points=400)[1].mean()
    np.testing.assert_allclose(2.0 * weaker - second, 24.0 / 13.0, rtol=1e-5)  # without the quadratic field
    z, A, q_hat = rng.standard_normal((1, 4)), 0.5, 2.5
    every = 4.0 * rng.dirichlet(np.ones(4), 400_000)
    weight = np.exp(math.sqrt(q_hat) * every @ z[0] - 0.5 * A * (every**2).sum(axis=1))
    weight /= weight.sum()
    first, second = short.on_simplex(z, A, q_hat, points=400)
    share = math.sqrt(float(weight @ weight))  # relative error of a reweighted mean
    np.testing.assert_allclose(first[0], weight @ every, atol=5.0 * share)
    np.testing.assert_allclose(second[0], weight @ every**2, atol=20.0 * share)


def test_long_branches_are_the_limit_of_short_ones():
    """The stored table, n = 20 and 40: twice the length, half the distance, but for the error of the average."""
    found, long = short.table(), sampled.theory("random", "linear")
    for key in ("synaptic_0.2", "synaptic_0.5", "flips_0.1"):
        assert 0.3 < (found[40][key] - long[key]) / (found[20][key] - long[key]) < 0.7


@pytest.mark.slow
def test_the_table_of_short_branches_is_what_the_code_gives():
    row = stored(short.TABLE)[0]
    found = short.typical(int(row["n"]), short.LOAD, 300)
    np.testing.assert_allclose(found, [float(row["Q"]), float(row["q"])], rtol=0.01)


LIMITS = [(labels, key) for labels, keys in one_more.KEYS.items() for key in keys]


@pytest.mark.parametrize(("labels", "key"), LIMITS)
def test_polsky_neurons_become_those_of_the_theory(labels, key):
    """Beyond what one pattern says, a plane in 1 / n and 1 / K fits all sizes and ends at zero: 2.5 standard errors."""
    found, expected = one_more.limit(labels, key), sampled.theory(labels, "polsky")
    assert abs(found.limit.value) < 2.5 * found.limit.error
    assert found.limit.error < 0.015 * expected[key]
    assert found.chi2 < chi2.ppf(0.99, found.free)


def test_the_size_of_a_neuron_is_most_of_what_keeps_it_from_the_theory():
    """Rare flips on short branches: up to a factor of two from the theory, and up to a twentieth from one pattern."""
    key, limit = "flips_0.01", sampled.theory("random", "polsky")["flips_0.01"]
    drawn = {
        size: sampled.averages(rows, key)
        for size, rows in sampled.by_size(stored(sampled.TABLES["random"]), "polsky").items()
    }
    one = one_more.table_of("random", key)
    assert set(one) == {*drawn, *((K, 0) for K in one_more.LONG)}
    for size, (value, _) in drawn.items():
        assert value < 0.8 * limit
        assert abs(value - one[size].value) < 0.05 * value
    errors = {size: one_more.Estimate(*found) for size, found in drawn.items()}
    plane = one_more.plane(errors, 5, one_more.in_common("random", key))
    assert plane.chi2 > 20.0  # no plane goes through the errors themselves


def test_a_plane_is_found_and_knows_what_sizes_have_in_common():
    sizes = [(10, 20), (20, 20), (10, 40), (20, 40), (10, 80)]
    exact = {(K, n): one_more.Estimate(0.3 - 0.2 / n + 0.1 / K, 0.001) for K, n in sizes}
    alone, common = (one_more.plane(exact, 10, shared) for shared in ({}, {((10, 80), (20, 40)): 0.5e-6}))
    for found in (alone, common):
        assert found.limit.value == pytest.approx(0.3, abs=1e-12)
        assert found.chi2 == pytest.approx(0.0, abs=1e-12)
        assert found.free == 2
    # by plain least squares once the numbers are made independent
    covariance = 1e-6 * np.eye(5)
    covariance[3, 4] = covariance[4, 3] = 0.5e-6
    white = np.linalg.solve(np.linalg.cholesky(covariance), [(1.0, 1.0 / n, 1.0 / K) for K, n in sizes])
    assert common.limit.error == pytest.approx(math.hypot(*np.linalg.pinv(white)[0]))
    assert abs(common.limit.error / alone.limit.error - 1.0) > 0.01
    assert one_more.plane(exact | {(5, 40): one_more.Estimate(1.0, 0.001)}, 10, {}) == alone


def test_weights_in_fields_have_the_norm_and_the_overlap_of_the_theory(rng):
    state = saddle_point(sampled.NEURONS["polsky"], alpha=0.3)
    h = math.sqrt(state.q_hat) * rng.standard_normal((50, 2000)) + state.M_hat
    weights = one_more.in_fields(h, state.A_hat, 4, 1.0, rng)
    np.testing.assert_allclose(weights.mean(axis=-1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.mean(weights**2), state.Q, rtol=0.02)
    np.testing.assert_allclose(np.mean(weights[0] * weights[1]), state.q, rtol=0.02)


def test_errors_are_counted_among_the_neurons_that_had_learned_the_pattern():
    clean = np.array([[1.0, -1.0], [2.0, -0.5], [-3.0, -2.0], [1.0, -4.0]])  # nobody has learned the second pattern
    noisy = np.array([[-1.0, 0.0], [2.0, -0.7], [-3.0, 0.0], [1.0, 0.0]])
    assert one_more.wrong(clean, noisy) == pytest.approx((1.0 / 3.0 + 1.0) / 2.0)
    noisy[1, 1] = -0.4
    assert one_more.wrong(clean, noisy) == pytest.approx(1.0 / 6.0)


@pytest.mark.parametrize("key", sampled.NOISES[:3])
def test_flips_on_many_long_branches_are_the_theory(key):
    """The stored table: 160 branches within three standard errors, and 20 branches below them."""
    found, expected = one_more.table_of("random", key), sampled.theory("random", "polsky")[key]
    many, few = found[160, 0], found[20, 0]
    assert abs(many.value - expected) < 3.0 * many.error
    assert many.error < 0.003 * expected
    assert few.value < expected - 3.0 * few.error


@pytest.mark.parametrize(
    ("labels", "K", "n", "sets"), [("random", 20, 0, 40), ("random", 10, 20, 12), ("teacher", 10, 40, 40)]
)
def test_one_pattern_gives_what_the_table_says(labels, K, n, sets):
    """The first draws of those that the table has."""
    found = one_more.expected(labels, K, n, sets)
    assert tuple(found) == (one_more.KEYS[labels] if n else sampled.NOISES[:3])
    for key, one in found.items():
        assert abs(one.value - one_more.table_of(labels, key)[K, n].value) < 3.5 * one.error, key


@pytest.mark.slow
def test_one_pattern_before_a_large_neuron_is_the_theory():
    """80 branches of 200 synapses; flips of 1 % are two in a branch even there, and are left out."""
    for labels, sets in (("teacher", 60), ("random", 15)):
        found, expected = one_more.expected(labels, 80, 200, sets), sampled.theory(labels, "polsky")
        for key in set(found) - {"flips_0.01"}:
            assert abs(found[key].value - expected[key]) < 3.0 * found[key].error + 0.01 * expected[key], key


def test_chains_from_different_ends_agree():
    rows = stored(sampled.TABLES["random"])
    for name in sampled.NEURONS:
        for own in sampled.by_size(rows, name).values():
            for key in ("flips_0.1 apart", "Q apart"):
                mean, error = sampled.averages(own, key)
                assert abs(mean) < 3.0 * error


def test_students_have_the_norm_of_their_teacher():
    """A teacher is one of its students: E W^2 = 2 n / (n + 1) at prescribed sums, exactly, at every load."""
    rows = stored(sampled.TABLES["teacher"])
    for name in sampled.NEURONS:
        for (_, n), own in sampled.by_size(rows, name).items():
            mean, error = sampled.averages(own, "Q")
            assert abs(mean - 2.0 * n / (n + 1.0)) < 3.5 * error


def test_a_chain_keeps_branch_sums_and_makes_no_error():
    sampler = sampled.Sampler(sampled.NEURONS["polsky"], 0.5, (4, 10), 0, taught=True)
    start = sampler.weights.copy()
    sampler.sweep(20)
    assert not np.allclose(sampler.weights, start)
    np.testing.assert_allclose(sampler.weights.sum(axis=1), start.sum(axis=1), rtol=1e-12)
    assert sampler.weights.min() >= 0.0
    assert np.all(sampler.signs * sampler.soma(sampler.weights, sampler.inputs) > -1e-9)


def test_a_chain_may_start_at_a_solution_with_a_margin():
    sampler = sampled.Sampler(sampled.NEURONS["polsky"], 0.2, (5, 20), 0, taught=False)
    sampler.settle(0.1)
    assert np.min(sampler.signs * sampler.soma(sampler.weights, sampler.inputs)) > 0.1 - 1e-9


@pytest.mark.slow
def test_students_drawn_at_random_generalise_as_theory_says():
    values = [sampled.measured("teacher", "linear", 10, 40, seed, (200, 400))["error"] for seed in range(6)]
    mean, error = float(np.mean(values)), float(np.std(values, ddof=1)) / math.sqrt(len(values))
    # 400 synapses: at load 0 alone the overlap is larger by 1 / 2n of the norm, here 1 %
    assert abs(mean - sampled.theory("teacher", "linear")["error"]) < 3.0 * error + 0.01


LOCAL = (ROOT / "docs" / "theory" / "local_entropy.md").read_text(encoding="utf-8")


def test_the_page_of_local_entropy_holds_the_table_of_learned_solutions():
    assert "\n".join(local.table(stored(local.TABLE))) in LOCAL


@pytest.mark.slow
def test_the_page_of_local_entropy_holds_the_table_of_typical_solutions():
    assert "\n".join(local.answer()) in LOCAL


def test_solutions_of_message_passing_are_wider_than_typical_ones():
    rows = stored(local.TABLE)
    for name in local.NEURONS:
        typical = local.typical(rows, name, "0.2", [0.1]).log_fraction[0]
        assert all(one > typical for one in local.at_distance(rows, name, "0.2", "message passing", 0.1))
