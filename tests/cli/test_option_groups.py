"""Groups of options: what a command sees, what a user reads, and that all commands speak one language."""

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
import typer
from typer.testing import CliRunner

from dendrocap import SGD, DendriticNeuron, HalveOnPlateau, LinearNeuron, Lorentzian, NeuronSpec, Polsky, Recipe, ReLU
from dendrocap.cli import app
from dendrocap.cli.options import NEURON, RECIPE, TASK, Flat, spread
from dendrocap.model import TaskSpec
from tests.documentation.sources import script

runner = CliRunner()


@dataclass(frozen=True, kw_only=True)
class Fruit:
    panel: ClassVar[str] = "Fruit"

    colour: Annotated[str, typer.Option("--colour", "-c", help="As seen by daylight.")]
    weight: Annotated[float, typer.Option(help="In grams.")] = 100.0


@dataclass(frozen=True, kw_only=True)
class Box:
    panel: ClassVar[str] = "Box"

    count: Annotated[int | None, typer.Option(help="Pieces.")] = None


SIZE = ("--n-inputs", "4", "--theta-d", "1")


SIZED = Flat(panel="Size", n_inputs=..., theta_d=0.5)


def shop():
    made = typer.Typer()

    @made.command()
    @spread
    def pack(
        name: Annotated[str, typer.Argument(help="For whom.")],
        fruit: Fruit,
        box: Box = Box(count=6),
        size: Flat = SIZED,
        fast: Annotated[bool, typer.Option("--fast", help="Today.")] = False,
    ) -> None:
        """Pack a box."""
        typer.echo(f"{name} {fruit} {box} {fast} {size.given}")

    return made


def test_a_command_receives_groups_and_defaults_come_from_them():
    outcome = runner.invoke(shop(), ["Ann", "-c", "red", "--fast", "-N", "9"])
    assert outcome.stdout == "Ann Fruit(colour='red', weight=100.0) Box(count=6) True {'n_inputs': 9, 'theta_d': 0.5}\n"
    outcome = runner.invoke(shop(), ["Ann", "--colour", "red", "--weight", "2", "--count", "1", *SIZE])
    assert outcome.stdout == "Ann Fruit(colour='red', weight=2.0) Box(count=1) False {'n_inputs': 4, 'theta_d': 1.0}\n"
    for given in (["-c", "red"], SIZE):
        assert runner.invoke(shop(), ["Ann", *given]).exit_code == 2  # both the colour and N are required


def test_help_shows_every_group_under_its_heading():
    text = runner.invoke(shop(), ["--help"], env={"COLUMNS": "120"}).stdout
    assert re.search(r"─ Fruit ─.*--colour.*As seen by daylight.*--weight.*default: 100", text, flags=re.DOTALL)
    assert re.search(r"─ Box ─.*--count.*Pieces.*default: 6", text, flags=re.DOTALL)
    assert re.search(r"─ Size ─.*--n-inputs.*Number of inputs N, >= 1..*--theta-d.*default: 0.5", text, flags=re.DOTALL)
    assert "Pack a box." in text


def test_groups_become_objects():
    assert NEURON.neuron() == DendriticNeuron(NeuronSpec(Polsky(), 0.05, 0.5), 999, 27)
    relu = NEURON.but(nonlinearity="relu", n_branches=3).neuron(n_inputs=9)
    assert relu == DendriticNeuron(NeuronSpec(ReLU(), 0.05, 0.5), 9, 3)
    assert NEURON.but(linear=True, theta_d=0.5).neuron() == LinearNeuron(0.5, 999)
    assert RECIPE.recipe() == Recipe()
    asked = RECIPE.but(learning_rate=1.0, surrogate_width=0.3, patience=5).recipe(stop_when_solved=False)
    assert asked == Recipe(SGD(1.0, surrogate=Lorentzian(0.4, 0.3)), HalveOnPlateau(5), 1000, False)
    assert TASK.but(f_in=0.1).task() == TaskSpec(f_in=0.1)


# Lines with options that would do nothing, and what is said of them. Nothing is read: the files need not exist.
USELESS = {
    "capacity -g relu,linear --gamma 3 --x-min 0.1": "--x-min and --gamma do nothing for relu,linear: leave them out",
    "saddle-point -g linear --x-min 0.1,0.9": "--x-min does nothing for linear",
    "saddle-point --quantity q": "--quantity does nothing without --plot",
    "noise --alpha 0.1,0.2 --log": "--log does nothing without a range start:stop:count",
    "capacity --rsb 0 --accuracy fast --seed 3": "--accuracy and --seed do nothing for one given estimate",
    "capacity --accuracy fast --seed 3": "--seed does nothing with --accuracy fast",
    "train --linear -K 3 --theta-s 1": "--theta-s and --n-branches do nothing with --linear",
    "train --resume run.npz -N 5000 --alpha 9": "--n-inputs and --alpha do nothing with --resume",
    "train --data task.npz -N 5000 --alpha 9": "--alpha and --n-inputs do nothing with --data",
    "train --data task.npz --branch-correlation 1": "--branch-correlation does nothing with --data",
    "solve --solver sgd --anyway": "--anyway does nothing unless theory decides",
    "fit weights epsp.csv --kind smooth --sem 3": "--sem and --kind do nothing without --curve",
    "fit weights epsp.csv --curve curve.csv --gamma 3 --scale 2": "--gamma and --scale do nothing with --curve",
    "fit weights epsp.csv --synapses-per-um 2": "--synapses-per-um does nothing without --cell",
    "fit weights epsp.csv --cell cell.swc -K 5": "--n-branches does nothing with --cell",
    "fit weights epsp.csv --bin-width 0.2": "--bin-width does nothing without --method histogram or a figure",
    "fit weights epsp.csv --bootstrap 0 --level 0.9": "--level does nothing without a bootstrap",
    "cell cell.swc --seed 3": "--seed does nothing with --accuracy fast",
    "reproduce 1 --list --preset paper": "figures and --preset do nothing with --list",
}


@pytest.mark.parametrize("line", USELESS)
def test_an_option_without_effect_is_refused(line):
    outcome = runner.invoke(app, line.split())
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert USELESS[line] in outcome.stderr


# Option, its spelling everywhere, and words that earlier versions had for it.
SPELLINGS = {
    "--nonlinearity": ("-g", ()),
    "--n-inputs": ("-N", ("--inputs",)),
    "--n-branches": ("-K", ("--branches",)),
    "--learning-rate": (None, ("--rate",)),
    "--max-epochs": (None, ("--epochs",)),
    "--workers": (None, ("--jobs",)),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_an_option_has_one_spelling_in_all_commands(name):
    short, earlier = SPELLINGS[name]
    reference = script("_ext/command_line.py")
    seen = 0
    for path, command in reference.commands(reference.load("dendrocap.cli:app"), ("dendrocap",)):
        for parameter in command.params:
            assert not set(parameter.opts) & set(earlier), path
            if name in parameter.opts:
                seen += 1
                assert short is None or short in parameter.opts, path
    assert seen >= 2
