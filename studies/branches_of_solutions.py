"""What the branches of learned solutions are like, beside the theory of two populations at the same mean outputs.

Usage: python -m studies.branches_of_solutions {compute,table}

``compute`` fills branches_of_solutions.csv: random tasks near the limit of `solve` at N = 999, K = 27, up to a minute
of CPU time each; ``table`` prints the table of docs/results/real_neuron.md. Unsolved tasks are kept, with their errors.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dendrocap import Branches, DendriticNeuron, NeuronSpec, Polsky, critical_capacity, noise_error, solve
from dendrocap.learning import noise_robustness, patterns_at_load
from studies.tables import Row, complete, markdown, stored

TABLE = Path(__file__).with_suffix(".csv")
N, K = 999, 27
LOADS = {0.1: 1.45, 0.3: 1.75, 0.5: 1.85, 1.0: 1.9}
SEEDS = (0, 1)
BUDGET = 60.0  # CPU seconds
FLIPS, SYNAPTIC, SAMPLES = 0.05, 0.2, 20  # noise, and how often it is drawn


def measured(
    seed: int, theta_d: float, load: float, n_inputs: int = N, n_branches: int = K, budget: float = BUDGET
) -> Row:
    """One solution: its branches, its weights, and what theory says of branches with these mean outputs."""
    neuron = DendriticNeuron(NeuronSpec(Polsky(), theta_d, theta_s=0.5), n_inputs, n_branches)
    task, end = patterns_at_load(neuron, load, seed), time.process_time() + budget
    options = {"seed": seed, "time_limit": None, "max_epochs": 10**9}  # attempts until the time is up
    found = solve(neuron, *task, callback=lambda record: time.process_time() > end, **options)
    weights = neuron.flat_weights(found.weights)
    outputs = neuron.nonlinearity(neuron.branch_input(found.weights, task.inputs)).mean(axis=0)
    on = outputs > 0.5
    shaken = noise_robustness(
        neuron,
        found.weights,
        *task,
        flip_probabilities=[FLIPS],
        noise_amplitudes=[SYNAPTIC],
        samples=SAMPLES,
        seed=seed,
    )
    numbers = {
        "share_on": on.mean(),
        "off": outputs[~on].mean(),
        "on": outputs[on].mean(),
        "spread": outputs.std(),
        "W_bar": weights.mean(),
        "W_off": neuron.shaped_weights(weights)[~on].mean(),
        "ratio": (weights**2).mean() / weights.mean() ** 2,
        "silent": (weights < 1e-3 * weights.mean()).mean(),
        "small": (weights < 0.1 * weights.mean()).mean(),
        "flips": shaken.input_flips[0].error,
        "synaptic": shaken.synaptic_noise[0].error,
        **predicted(theta_d, float(on.mean()), float(outputs[~on].mean()), n_inputs / n_branches),
    }
    return {"errors": found.errors, **{name: f"{number:.4g}" for name, number in numbers.items()}}


def predicted(theta_d: float, share_on: float, off: float, branch_size: float) -> dict[str, float]:
    """The one-step capacity of two populations, off branches at their measured mean output."""
    on = (0.5 - (1.0 - share_on) * off) / share_on
    pair = ((1.0 - share_on, off), (share_on, on))
    kinds = tuple(Branches(Polsky(), theta_d, share, mean_output=output) for share, output in pair)
    found = critical_capacity(NeuronSpec(populations=kinds, theta_s=0.5), rsb=1, branch_size=branch_size)
    return {
        "theory_alpha": found.alpha_c,
        "theory_on": on,
        "theory_spread": float(np.sqrt(share_on * (1.0 - share_on))) * (on - off),
        "theory_W_bar": found.W_bar,
        "theory_W_off": found.populations[0].W_bar,
        "theory_ratio": found.Q / found.W_bar**2,
        "theory_silent": found.silent_fraction,
        "theory_flips": noise_error(found, flips=FLIPS),
        "theory_synaptic": noise_error(found, synaptic=SYNAPTIC),
    }


def table(rows: Sequence[Row]) -> list[str]:
    """The table of the page: found, then predicted."""
    header = ("theta_d", "load", "seed", "errors", "branches on", "mean outputs", "spread", "W", "W off", "Q / W²")
    lines = []
    for row in sorted(rows, key=lambda row: (float(row["theta_d"]), int(row["seed"]))):
        value = {name: float(number) for name, number in row.items()}

        def beside(name: str, value: dict[str, float] = value) -> str:
            return f"{value[name]:.2f} / {value['theory_' + name]:.2f}"

        lines.append(
            (
                row["theta_d"], row["load"], row["seed"], row["errors"], f"{value['share_on']:.2f}",
                f"{value['off']:.2f}, {value['on']:.2f} / {value['off']:.2f}, {value['theory_on']:.2f}",
                *(beside(name) for name in ("spread", "W_bar", "W_off", "ratio")),
                f"{value['silent']:.2f} to {value['small']:.2f} / {value['theory_silent']:.2f}",
                beside("flips"), beside("synaptic"),
                f"{value['theory_alpha']:.2f}",
            )
        )  # fmt: skip
    return markdown((*header, "silent", "5 % flips", "synaptic noise 0.2", "capacity at this split"), lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("compute", "table"))
    if parser.parse_args().part == "compute":
        settings = [(seed, theta_d, load) for seed in SEEDS for theta_d, load in LOADS.items()]
        complete(TABLE, measured, settings, workers=2)
    else:
        print("\n".join(table(stored(TABLE))))


if __name__ == "__main__":
    main()
