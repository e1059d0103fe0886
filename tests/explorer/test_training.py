"""The training run behind the second tab."""

import threading
import time

import numpy as np

from dendrocap.explorer.parameters import Parameters
from dendrocap.explorer.plots import LearnedWeightPlot, bin_edges
from dendrocap.explorer.trainer import Trainer, weight_theory

LONG = Parameters(theta_d=0.05, slope="true", load=3.0, train_inputs=99, train_branches=9, pace=1000)  # never solved


def until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


def test_a_run_can_be_paused_resumed_and_stopped():
    trainer = Trainer()
    trainer.start(LONG)
    until(lambda: trainer.progress().epoch > 3)
    trainer.pause()
    assert trainer.progress().state == "paused"
    time.sleep(0.1)  # the epoch under way may end
    paused_at = trainer.progress().epoch
    time.sleep(0.2)
    assert trainer.progress().epoch == paused_at
    trainer.resume()
    until(lambda: trainer.progress().epoch > paused_at)
    trainer.stop()
    assert trainer.progress().state == "ended"
    assert trainer.progress().text == "asked to stop"
    assert not trainer.alive


def test_a_paused_run_can_be_stopped_and_a_new_one_replaces_the_old():
    trainer = Trainer()
    trainer.start(LONG)
    trainer.pause()
    trainer.stop()
    assert not trainer.alive
    before = threading.active_count()
    for _ in range(3):
        trainer.start(LONG)
    assert threading.active_count() == before + 1
    trainer.close()
    assert threading.active_count() == before


def test_nothing_happens_to_a_run_that_is_none():
    trainer = Trainer()
    trainer.pause()
    trainer.resume()
    trainer.stop()
    assert trainer.progress().state == "idle"


def test_a_run_that_fails_says_why():
    trainer = Trainer()
    trainer.start(LONG.changed({"rate": 10.0, "theta_d": 10.0, "nonlinearity": "saturating_relu"}))
    until(lambda: not trainer.alive or trainer.progress().epoch > 300)
    trainer.stop()
    progress = trainer.progress()
    assert progress.state == "ended"
    assert progress.text
    assert np.all(np.isfinite(progress.weights))


def test_long_histories_are_thinned_out_but_keep_their_ends():
    trainer = Trainer()
    trainer._errors, trainer._n_patterns = list(range(5000, 0, -1)), 5000
    progress = trainer.progress()
    assert progress.epoch == 5000
    assert len(progress.epochs) <= 600
    assert (progress.epochs[0], progress.epochs[-1]) == (1, 5000)
    assert progress.error[-1] == 1 / 5000


def test_theory_beside_the_histogram_has_the_mass_of_all_weights():
    parameters = Parameters(load=0.5)
    theory, mean = weight_theory(parameters), 1.0
    plot = LearnedWeightPlot()
    plot.show_theory(theory, mean)
    width = np.diff(bin_edges(mean))[0]
    for source, distribution in ((plot.at_load, theory.at_load), (plot.at_capacity, theory.at_capacity)):
        inside = source.data["y"][::2].sum() * width
        assert np.isclose(inside, distribution.cdf(5.0))
    assert np.isclose(plot.at_capacity.data["y"][0] * width, theory.at_capacity.cdf(width))


def test_beyond_capacity_the_theory_says_so():
    theory = weight_theory(Parameters(nonlinearity="linear", load=2.0))
    assert theory.at_load is None
    assert "not below the replica-symmetric capacity" in theory.problem
    assert weight_theory(Parameters(theta_s=1.5)).at_capacity is None
