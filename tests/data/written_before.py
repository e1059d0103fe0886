"""Writes results.db, run_*.npz, classifier_*.npz and written_before.json, for test_written_before.py.

They are files of version 0.1.0, written once with fixed seeds by the tree of commit 57fb11d. They stay as they are, so
that later versions show that they still read them; solvers named in them may be gone by then. To write them again, run
``python -m tests.data.written_before`` in a tree of that commit. A new format gets files of its own beside them.
"""

import json
import sqlite3
from pathlib import Path

import numpy as np

import dendrocap as dc
from dendrocap.learning import load_run, save_run

HERE = Path(__file__).parent
CELL = {"nonlinearity": "polsky", "theta_d": 0.1, "theta_s": 0.5, "n_inputs": 60, "n_branches": 3}
SWEEPS = {
    "capacity": dc.Sweep(
        "capacity", grid={"theta_s": [0.3, 0.5, 1.5]}, parameters={"nonlinearity": "saturating_relu", "theta_d": 0.5}
    ),
    "train": dc.Sweep("train", grid={"alpha": [0.3, 0.6]}, seeds=2, parameters={**CELL, "max_epochs": 40}),
    "solve": dc.Sweep(
        "solve", grid={"solver": ["sharpening", "least-action", "selected"]}, parameters={**CELL, "alpha": 0.4}
    ),
}
TWO_KINDS = dc.NeuronSpec(
    populations=(dc.Branches(dc.Polsky(0.33, 15), 0.2, 0.5), dc.Branches(dc.ReLU(), 0.3, 0.5)), theta_s=0.5
)


def features():
    """Samples of three classes in six features, and a quarter of them to predict."""
    rng = np.random.default_rng(5)
    samples = rng.random((80, 6))
    samples[np.arange(80), np.arange(80) % 3] += 1.0
    return samples[:60], np.array(["axon", "dendrite", "soma"])[np.arange(60) % 3], samples[60:]


def runs():
    """A trained neuron, its run and its patterns for each file."""
    neuron = dc.DendriticNeuron(dc.NeuronSpec(dc.Polsky(0.33, 15), 0.1, 0.5), 60, 3)
    patterns = dc.random_patterns(36, 60, rng=1)
    yield "sgd", dc.train(neuron, *patterns, algorithm=dc.SGD(0.05), seed=2, max_epochs=6), patterns
    for solver in ("sharpening", "least-action", "selected"):
        yield solver, dc.solve(neuron, *patterns, solver=solver, seed=3, time_limit=None, max_epochs=2000), patterns
    several = dc.DendriticNeuron(TWO_KINDS, 60, 6)
    inputs, labels = dc.random_patterns(30, 60, rng=4)
    packed = dc.pack_patterns(inputs)
    surrogate = dc.SGD(0.05, surrogate=dc.Lorentzian(0.3))
    yield "populations", dc.train(several, packed, labels, algorithm=surrogate, seed=5, max_epochs=4), (packed, labels)
    linear = dc.LinearNeuron(0.5, 60, dc.Inhibition(0.2, 0.25))
    yield "linear", dc.train(linear, inputs, labels, algorithm=dc.SGD(0.5), seed=6, max_epochs=4), (inputs, labels)


def classifiers():
    """Fitted classifiers."""
    samples, classes, _ = features()
    yield "default", dc.DendriticClassifier(n_branches=3, random_state=0).fit(samples, classes == "soma")
    encoded = dc.DendriticClassifier(
        dc.SaturatingReLU(), n_branches=2, binarize="threshold", n_thresholds=2, wiring="correlated",
        surrogate=dc.Lorentzian(), class_weight="balanced", max_iter=30, random_state=1,
    )  # fmt: skip
    yield "encoded", encoded.fit(samples, classes)
    median = dc.DendriticClassifier(
        n_branches=2, branch_size=6, n_neurons=2, combine="vote", binarize="median", solver="surrogate", max_iter=30,
        inhibition=dc.Inhibition(0.2, 0.05), random_state=2,
    )  # fmt: skip
    yield "median", median.fit(samples, classes)


def run_as_read(path):
    """What a run holds, for the comparison with what it held when it was written."""
    run = load_run(path)
    return {
        "neuron": [run.neuron.n_inputs, run.neuron.n_branches],
        "branches": [[kind.nonlinearity.name, kind.theta_d] for kind in run.neuron.kinds],
        "algorithm": run.algorithm,
        "errors": int(run.errors),
        "errors_now": int(np.sum(run.neuron.predict(run.weights, run.inputs) != run.labels)),
        "patterns": [len(run.labels), run.inputs.n_inputs, int(run.inputs.unpack().sum())],
        "labels": int(run.labels.sum()),
        "weights": summary(run.weights),
        "histories": [[len(one), one[0].item(), one[-1].item()] for one in (run.error_history, run.rate_history)],
    }


def resumed():
    """Three more epochs of a run."""
    run = load_run(HERE / "run_sgd.npz")
    return dc.train(run.neuron, run.inputs, run.labels, algorithm=dc.SGD(0.05), max_epochs=9, resume=run.state)


def classifier_as_read(path):
    """What a classifier answers to the samples that it has not seen."""
    classifier = dc.DendriticClassifier.load(path)
    samples = features()[2][:6]
    return {
        "classes": classifier.classes_.tolist(),
        "predictions": classifier.predict(samples).tolist(),
        "decisions": classifier.decision_function(samples).tolist(),
        "probabilities": classifier.predict_proba(samples).tolist(),
        "theta_d": classifier.theta_d_,
        "learning_rate": classifier.learning_rate_,
        "weights": summary(classifier.weights_),
        "synapses": len(classifier.synapses_),
    }


def sweep_as_read(path, name):
    """The cells of a sweep in a store, without what differs from run to run."""
    with dc.Store(path) as store:
        (sweep,) = (one for one in store.sweeps() if one.job == name)
        records = store.records(sweep)
        table = store.to_dataframe(sweep)
        return {
            "digest": sweep.digest,
            "columns": list(table.columns),
            "cells": [
                {
                    "parameters": record.parameters, "seed": record.seed, "status": record.status,
                    "metrics": {key: value for key, value in record.metrics.items() if "seconds" not in key},
                    "reason": record.reason,
                }
                for record in records
            ],
        }  # fmt: skip


def summary(weights):
    """Shape, sum and sum of squares."""
    return [*weights.shape, float(weights.sum()), float(np.sum(weights**2))]


def expected():
    """The content of all files, as this version reads it."""
    return {
        "resumed": resumed().error_history.tolist(),
        "runs": {path.name: run_as_read(path) for path in sorted(HERE.glob("run_*.npz"))},
        "classifiers": {path.name: classifier_as_read(path) for path in sorted(HERE.glob("classifier_*.npz"))},
        "sweeps": {name: sweep_as_read(HERE / "results.db", name) for name in SWEEPS},
    }


def write():
    """All files."""
    for name, result, patterns in runs():
        save_run(HERE / f"run_{name}.npz", result, *patterns)
    for name, classifier in classifiers():
        classifier.save(HERE / f"classifier_{name}.npz")
    path = HERE / "results.db"
    path.unlink(missing_ok=True)
    for sweep in SWEEPS.values():
        dc.run_sweep(sweep, path, workers=1)
    impersonal(path)
    (HERE / "written_before.json").write_text(json.dumps(expected(), separators=(",", ":")) + "\n")
    print(sum(file.stat().st_size for file in HERE.iterdir() if file.is_file()), "bytes")


def impersonal(path):
    """Take the names of folders and of the machine out of a store, and pack it in small pages."""
    with dc.Store(path, write=True) as store:
        for _, row in list(store.rows()):
            texts = [column.decode() if isinstance(column, bytes) else column for column in row[:-1]]
            texts[7] = texts[7].replace(str(HERE.parents[1]) + "/", "")
            texts[9] = "laboratory"
            store.save_row("cells", tuple(texts), replace=True)
    database = sqlite3.connect(path)
    for command in ("journal_mode = DELETE", "page_size = 512"):
        database.execute(f"PRAGMA {command}")
    database.execute("VACUUM")
    database.close()
    path.with_name(path.name + ".lock").unlink(missing_ok=True)


if __name__ == "__main__":
    write()
