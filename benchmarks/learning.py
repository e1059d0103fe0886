"""One training step (batch of one pattern) against what a user would write instead, and how it grows.

All sides run interleaved in this process on one core, on the same patterns in the same order, and are checked
against each other before they are timed; the 10th percentile over rounds is reported. PyTorch and JAX are compared
with if they are installed (`pip install torch jax`), the C kernel if `cc` or `gcc` is there.

Usage: python benchmarks/learning.py [--rounds 60] [--only step|growth|cores|start]
"""

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# JAX reads its flags when it is imported: one thread, like everyone else here.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np

from dendrocap import Branches, DendriticNeuron, Inhibition, NeuronSpec, Polsky, ReLU, random_patterns
from dendrocap.learning import SGD, HalveOnPlateau, Recipe, train_many
from dendrocap.learning.engine import CompiledEngine

THETA_D, THETA_S, RATE, GAMMA_CE = 0.1, 0.5, 0.01, 100.0


def neuron_of(n_inputs, n_branches):
    return DendriticNeuron(NeuronSpec(Polsky(), THETA_D, THETA_S), n_inputs, n_branches)


class Problem:
    """N = 999, K = 27, alpha = 1."""

    def __init__(self, n_patterns=999):
        rng = np.random.default_rng(0)
        self.neuron = neuron_of(999, 27)
        self.patterns = random_patterns(n_patterns, 999, rng=rng)
        self.inputs, self.labels, self.signs = *self.patterns, self.patterns.signs.astype(np.float32)
        self.weights = self.neuron.initial_weights(0.5, rng).astype(np.float32)
        self.order = rng.permutation(n_patterns)


def ours(problem) -> CompiledEngine:
    engine = SGD(RATE, GAMMA_CE).engine(problem.neuron, problem.patterns)
    engine.set_weights(problem.neuron.flat_weights(problem.weights))
    return engine


def dendrocap_side(problem):
    engine = ours(problem)
    return (lambda: engine.epoch(problem.order, RATE)), lambda: engine.weights(), len(problem.order)


def c_side(problem):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    engine = ours(problem)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "step.so"
        source = Path(__file__).with_suffix(".c")
        flags = ["-O3", "-march=native", "-ffp-contract=fast", "-Wno-psabi", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, "-o", library, source, "-lm"], check=True)
        step = ctypes.CDLL(str(library)).epoch
    weights, constants = engine._weights, engine._neuron[0]
    # ctypes sees bare addresses: engine and problem, which own the memory, must outlive the step.
    arrays = [ctypes.c_void_p(a.ctypes.data) for a in (weights, engine._bits, engine._signs, problem.order)]
    numbers = [ctypes.c_float(x) for x in (engine._neuron[1], RATE, GAMMA_CE, 0.33, 15.0)]
    arguments = [*arrays, ctypes.c_int64(len(problem.order)), ctypes.c_void_p(constants.ctypes.data), *numbers]
    return (lambda: step(*arguments)), lambda: engine.weights(), len(problem.order)


def torch_side(problem, n_steps=None):
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    k, n = problem.weights.shape
    inputs = torch.from_numpy(problem.inputs.reshape(-1, k, n).astype(np.float32))
    weights = torch.from_numpy(problem.weights.copy())
    signs, order = problem.signs.tolist(), problem.order[:n_steps].tolist()
    root, x_min, gamma = n**0.5, 0.33, 15.0
    somatic = k**0.5

    @torch.no_grad()
    def run():
        for mu in order:
            xi, sign = inputs[mu], signs[mu]
            lam = (weights * xi).sum(1).div_(root).sub_(root * THETA_D)
            sigmoid = torch.sigmoid((lam - x_min).mul_(gamma))
            high, positive = lam >= x_min, lam > 0
            g = torch.where(high, 2 * (1 - x_min) * sigmoid - 1 + 2 * x_min, lam.clamp(min=0))
            slope = torch.where(high, 2 * (1 - x_min) * gamma * sigmoid * (1 - sigmoid), positive.float())
            delta = g.sum() / somatic - somatic * THETA_S
            error = torch.sigmoid(-2 * GAMMA_CE * sign * delta)
            slope.mul_(error).mul_(RATE * sign / (root * somatic))
            weights.addcmul_(xi, slope.unsqueeze(1)).clamp_(min=0)

    return run, lambda: weights.numpy().reshape(-1), len(order)


def jax_side(problem, unroll, lanes):
    """JAX's scan over patterns; ``lanes`` is our layout, synapses first and branches padded to 32."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    k, n = problem.weights.shape
    inputs = problem.inputs.reshape(-1, k, n).astype(np.float32)
    weights = problem.weights
    if lanes:
        inputs, weights = (np.pad(a, [(0, 0)] * (a.ndim - 2) + [(0, 32 - k), (0, 0)]) for a in (inputs, weights))
        inputs, weights = np.ascontiguousarray(inputs.transpose(0, 2, 1)), np.ascontiguousarray(weights.T)
    over_synapses, along = (0, (None, slice(None))) if lanes else (1, (slice(None), None))
    live = jnp.asarray(np.arange(32) < k, dtype=jnp.float32) if lanes else 1.0
    inputs, signs, order = jnp.asarray(inputs), jnp.asarray(problem.signs), jnp.asarray(problem.order)
    root, somatic, x_min, gamma = n**0.5, k**0.5, 0.33, 15.0

    def step(weights, mu):
        xi, sign = inputs[mu], signs[mu]
        lam = (weights * xi).sum(over_synapses) / root - root * THETA_D
        sigmoid = jax.nn.sigmoid(gamma * (lam - x_min))
        high = lam >= x_min
        g = jnp.where(high, 2 * (1 - x_min) * sigmoid - 1 + 2 * x_min, jnp.maximum(lam, 0)) * live
        slope = jnp.where(high, 2 * (1 - x_min) * gamma * sigmoid * (1 - sigmoid), jnp.where(lam > 0, 1.0, 0.0))
        delta = g.sum() / somatic - somatic * THETA_S
        error = sign * jax.nn.sigmoid(-2 * GAMMA_CE * sign * delta)
        change = RATE * error * slope / (root * somatic)
        return jnp.maximum(weights + change[along] * xi, 0), None

    epoch = jax.jit(lambda weights: jax.lax.scan(step, weights, order, unroll=unroll)[0])
    state = {"weights": jnp.asarray(weights)}

    def run():
        state["weights"] = epoch(state["weights"]).block_until_ready()

    def learned():
        now = np.asarray(state["weights"])
        return (now.T[:k] if lanes else now).reshape(-1)

    return run, learned, len(problem.order)


def step_benchmark(rounds):
    problem = Problem()
    sides = {"dendrocap": dendrocap_side(problem), "C, tuned for this size": c_side(problem)}
    sides |= {f"JAX scan, unroll {unroll}": jax_side(problem, unroll, False) for unroll in (1, 2, 4, 8)}
    sides |= {f"JAX, our layout, unroll {unroll}": jax_side(problem, unroll, True) for unroll in (1, 2, 4)}
    sides["PyTorch loop"] = torch_side(problem)
    sides = {name: side for name, side in sides.items() if side is not None}
    reference = None
    for name, (run, weights, _) in sides.items():
        run()
        reference = weights().copy() if reference is None else reference
        apart = np.abs(weights() - reference).max()
        if apart > 1e-4:
            raise RuntimeError(f"{name} learns something else: weights differ by {apart:.1e} after one epoch")
    # Samples of about a millisecond on every side: a longer one is more likely to be interrupted by another job.
    if "PyTorch loop" in sides:
        sides["PyTorch loop"] = torch_side(problem, n_steps=12)
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, (run, _, n_steps) in sides.items():
            repeats = 1 if "PyTorch" in name or "JAX" in name else 5
            start = time.perf_counter()
            for _ in range(repeats):
                run()
            times[name].append((time.perf_counter() - start) / (repeats * n_steps))
    print(f"one step at N = 999, K = 27, Polsky, float32, {rounds} rounds, all on one core")
    print(f"{'':<28}{'ns per step':>12}{'median':>10}{'/ dendrocap':>14}")
    mine = np.percentile(times["dendrocap"], 10)
    for name, samples in times.items():
        low = np.percentile(samples, 10)
        print(f"{name:<28}{low * 1e9:>12.0f}{np.median(samples) * 1e9:>10.0f}{low / mine:>14.2f}")
    full = full_epoch(problem, rounds)
    print(f"{'with shuffle and test':<28}{full * 1e9:>12.0f}{'':>10}{full / mine:>14.2f}")


def full_epoch(problem, rounds):
    """An epoch as `train` runs it: shuffled, and followed by a test of every pattern."""
    from dendrocap.learning import Recipe, Training

    times = []
    recipe = Recipe(SGD(RATE, GAMMA_CE), max_epochs=10**6, stop_when_solved=False)
    run = Training(problem.neuron, problem.inputs, problem.labels, recipe, seed=0)
    for _ in range(5 * rounds):
        start = time.perf_counter()
        next(run)
        times.append((time.perf_counter() - start) / len(problem.order))
    return np.percentile(times, 10)


def growth_benchmark(rounds):
    inhibited = NeuronSpec(Polsky(), THETA_D, THETA_S, inhibition=Inhibition(0.2, 0.05))
    basal, apical = Branches(Polsky(), THETA_D, 0.6), Branches(ReLU(), THETA_D, 0.4)
    cases = {
        "1,000 x 27 branches": (neuron_of(999, 27), 500),
        "the same, inhibition": (DendriticNeuron(inhibited, 999, 27), 500),
        "the same, two kinds": (
            DendriticNeuron(NeuronSpec(populations=(basal, apical), theta_s=THETA_S), 999, 27),
            500,
        ),
        "3,000 x 81 branches": (neuron_of(2997, 81), 500),
        "10,000 x 270 branches": (neuron_of(9990, 270), 500),
        "30,000 x 810 branches": (neuron_of(29970, 810), 200),
        "100,000 x 2700 branches": (neuron_of(99900, 2700), 100),
        "100,000 x 27 branches": (neuron_of(99900, 27), 100),
        "linear, 1,000": (neuron_of(1000, 1), 500),
        "10,000 x 100, P = 20,000": (neuron_of(10_000, 100), 20_000),
    }
    sides = {}
    for name, (neuron, n_patterns) in cases.items():
        n_inputs = neuron.n_inputs
        patterns = random_patterns(n_patterns, n_inputs, rng=0, packed=True)
        engine = SGD(RATE, GAMMA_CE).engine(neuron, patterns)
        engine.set_weights(neuron.flat_weights(neuron.initial_weights(0.5, 0)))
        order = np.random.default_rng(0).permutation(n_patterns)[:500]
        engine.epoch(order, RATE)
        sides[name] = (engine, order, n_inputs)
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, (engine, order, n_inputs) in sides.items():
            start = time.perf_counter()
            engine.epoch(order, RATE)
            times[name].append((time.perf_counter() - start) / (len(order) * n_inputs))
    print(f"\n{'synapses x branches':<28}{'ns per synapse':>15}{'of the first':>14}{'patterns, MB':>14}")
    first = None
    for name, (engine, _, _) in sides.items():
        low = np.percentile(times[name], 10) * 1e9
        first = first or low
        print(f"{name:<28}{low:>15.4f}{low / first:>14.2f}{engine.pattern_bytes / 1e6:>14.1f}")


def cores_benchmark(rounds):
    problem = Problem(1300)
    recipe = Recipe(SGD(RATE, GAMMA_CE), HalveOnPlateau(1000), max_epochs=300)
    times = {1: [], 2: []}
    for _ in range(max(5, rounds // 3)):
        for workers, samples in times.items():
            start = time.perf_counter()
            train_many(problem.neuron, problem.inputs, problem.labels, recipes=recipe, seeds=range(2), workers=workers)
            samples.append(time.perf_counter() - start)
    one, two = (1e3 * np.percentile(times[workers], 10) for workers in (1, 2))
    print(f"\ntwo runs of 300 epochs: {one:.1f} ms on one core, {two:.1f} ms on two, {one / two:.2f} times faster")


def start_benchmark():
    code = (
        "import time; start = time.perf_counter()\n"
        "from dendrocap import DendriticNeuron, NeuronSpec, Polsky, random_patterns\n"
        "from dendrocap.learning import train\n"
        "neuron = DendriticNeuron(NeuronSpec(Polsky(), 0.1, 0.5), 999, 27)\n"
        "task = random_patterns(300, 999, rng=0)\n"
        "ready = time.perf_counter(); train(neuron, *task, seed=0, max_epochs=1)\n"
        "print(ready - start, time.perf_counter() - ready)"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, capture_output=True)
    outcomes = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(5)]
    imports, first = np.min(np.array(outcomes, dtype=float), axis=0)
    print(f"\nfresh process, compiled code on disk: import {imports:.2f} s, first call of train {first:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", choices=["step", "growth", "cores", "start"])
    given = parser.parse_args()
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if cores:
        os.sched_setaffinity(0, {min(cores)})
    if given.only in (None, "step"):
        step_benchmark(given.rounds)
    if given.only in (None, "growth"):
        growth_benchmark(max(10, given.rounds // 3))
    if cores:
        os.sched_setaffinity(0, cores)
    if given.only in (None, "cores"):
        cores_benchmark(given.rounds)
    if given.only in (None, "start"):
        start_benchmark()


if __name__ == "__main__":
    main()
