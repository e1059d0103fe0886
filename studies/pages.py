"""The tables of the documentation, made from the stored tables when the site is built.

On a page, the directive ``stored-table`` with a name stands for the lines that the name has here.
"""

from collections.abc import Callable, Mapping

from dendrocap.theory import scope
from studies import (
    any_dendrite,
    bethe,
    classifiers,
    local_entropy,
    settings_of_gradient_descent,
    solvers,
    success_of_solvers,
    trained_states,
    which_dendrite,
)
from studies import bounded_weights as bounded
from studies import branches_of_solutions as solutions
from studies import breaking_by_steps as breaking
from studies import capacity_of_a_real_neuron as real_neuron
from studies import free_entropy_of_unequal_branches as entropy
from studies import how_many_branches as branches
from studies import linear_programming as programming
from studies import solving_extensions as solving
from studies.tables import loads_reached, stored

TABLES: Mapping[str, Callable[[], list[str]]] = {
    "capacity": lambda: real_neuron.table(stored(real_neuron.TABLE), loads_reached()),
    "ladder": lambda: real_neuron.ladder(stored(real_neuron.TABLE), loads_reached()),
    "shares": lambda: real_neuron.shares(stored(real_neuron.TABLE), loads_reached()),
    "learned": lambda: real_neuron.learned(stored(real_neuron.TABLE), loads_reached()),
    "steps": lambda: breaking.table(stored(breaking.TABLE)),
    "short": lambda: breaking.short(stored(breaking.TABLE)),
    "dendrites": any_dendrite.table,
    "best-dendrite": lambda: which_dendrite.table(stored(which_dendrite.TABLE)),
    "entropy": lambda: entropy.table(stored(entropy.TABLE)),
    "solutions": lambda: solutions.table(stored(solutions.TABLE)),
    "branches": lambda: branches.table(branches.found()),
    "factors": lambda: branches.factors(branches.found(), "0.5"),
    "settings": lambda: settings_of_gradient_descent.table(stored(settings_of_gradient_descent.TABLE)),
    "solving": lambda: solving.table(stored(solving.TABLE)),
    "programming": lambda: programming.table(stored(programming.TABLE)),
    "programming-sizes": lambda: programming.sizes(stored(programming.TABLE)),
    "bounded": lambda: bounded.table(stored(bounded.TABLE)),
    "solvers-10": lambda: solvers.table(stored(solvers.TABLE), 10.0),
    "solvers-120": lambda: solvers.table(stored(solvers.TABLE), 120.0),
    "bethe-limits": lambda: bethe.limits(stored(bethe.TABLE)),
    "success": success_of_solvers.table,
    "trained-states": lambda: trained_states.table(stored(trained_states.TABLE)),
    **{
        name: lambda name=name: classifiers.table(stored(classifiers.TABLE), name)  # type: ignore[misc]
        for name in classifiers.DATA
    },
    "neurons": lambda: classifiers.neurons_table(stored(classifiers.NEURONS)),
    "learned-entropy": lambda: local_entropy.table(stored(local_entropy.TABLE)),
    "scope": scope.table,
    "wirings": lambda: classifiers.wirings_table(stored(classifiers.WIRED)),
}
