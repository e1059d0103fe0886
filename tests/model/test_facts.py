"""Facts stand at the fields of the model's classes, and everything else is made from them."""

from __future__ import annotations

import pytest

from dendrocap.answers.grids import PARAMETERS
from dendrocap.errors import InvalidParameter
from dendrocap.learning.recipe import RECIPE_FACTS, HalveOnPlateau
from dendrocap.model import Custom, Inhibition, NeuronSpec, Polsky, TaskSpec
from dendrocap.model.flat import FACTS, KINDS
from dendrocap.validation import Fact, facts_of


def test_every_number_of_a_grid_or_a_recipe_is_told():
    for name, known in {**FACTS, **RECIPE_FACTS, **PARAMETERS}.items():
        assert known.label, name
        assert known.told().endswith("."), name
    assert FACTS["gamma"].told(15.0) == "Polsky: steepness of the sigmoid, > 0; default 15."
    assert FACTS["f_in"].axis_label == r"input coding level $f_{\mathrm{in}}$"


def test_built_in_non_linearities_register_themselves_with_a_label_and_a_colour_of_their_own():
    assert [kind.name for kind in KINDS][:5] == ["polsky", "relu", "saturating_relu", "step", "linear"]
    for of in ("name", "label", "colour"):
        assert len({getattr(kind, of) for kind in (*KINDS, Custom)}) == len(KINDS) + 1


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Polsky(x_min=2.0), "x_min = 2.0 is not allowed: it must be a finite number in [0, 1]"),
        (lambda: Inhibition(1.0, 0.1), "share = 1.0 is not allowed: it must be a finite number in [0, 1)"),
        (lambda: TaskSpec(f_out=0), "f_out = 0 is not allowed: it must be a finite number in (0, 1)"),
        (lambda: TaskSpec(kappa="1"), "kappa = '1' is not allowed: it must be a finite number"),
        (lambda: NeuronSpec(Polsky(), 0.5), "theta_s = None is not allowed: it must be a finite number"),
        (lambda: HalveOnPlateau(0), "patience = 0 is not allowed: it must be a whole number >= 1"),
    ],
)
def test_fields_are_checked_by_their_facts(made, words):
    with pytest.raises(InvalidParameter) as refused:
        made()
    assert str(refused.value) == words


def test_a_field_without_a_fact_has_none():
    assert facts_of(Custom) == {}
    assert facts_of(int) == {}
    assert Fact("load").told() == "Load."
