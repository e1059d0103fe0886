"""Every refusal of the table names the parameter, its value and the question; nothing else is refused."""

import numpy as np
import pytest

import dendrocap as dc
from dendrocap.theory import scope

G = dc.ReLU()
NEURONS = {
    "levels": dc.NeuronSpec(levels=[dc.Level(G, 0.5)] * 2, theta_s=0.5),
    "inhibition": dc.NeuronSpec(G, 0.5, 0.5, inhibition=dc.Inhibition(0.2, 0.1)),
    "populations": dc.NeuronSpec(populations=[dc.Branches(G, 0.5, 0.5)] * 2, theta_s=0.5),
    "prior": dc.NeuronSpec(G, 0.5, 0.5, prior=dc.Ridge(1.0)),
    "sphere": dc.NeuronSpec(G, 0.5, prior=dc.model.Spherical()),
    "falling": dc.NeuronSpec(dc.Custom(np.sin), 0.5, 0.3),
}
TASKS = {
    "correlation": dc.TaskSpec(branch_correlation=1.0),
    "margin": dc.TaskSpec(kappa=0.1),
    "f_out": dc.TaskSpec(f_out=0.3),
}
CASES = {
    **{name: {"neuron": neuron} for name, neuron in NEURONS.items()},
    **{name: {"task": task} for name, task in TASKS.items()},
    "channel": {"channel": dc.Probit(0.1)},
}


@pytest.mark.parametrize("question", scope.REFUSED)
@pytest.mark.parametrize("feature", scope.FEATURES)
def test_the_check_follows_the_table(question, feature):
    if feature not in scope.REFUSED[question]:
        scope.check(question, **CASES[feature])
        return
    with pytest.raises(dc.InvalidParameter) as caught:
        scope.check(question, **CASES[feature])
    assert scope.FEATURES[feature].name in str(caught.value)
    assert f"for {question}" in str(caught.value)


def test_every_feature_is_known():
    assert {name for refused in scope.REFUSED.values() for name in refused} <= set(scope.FEATURES) == set(CASES)
