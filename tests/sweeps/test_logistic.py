"""Logistic regression with non-negative weights: a minimum, and the one that others find."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from dendrocap.datasets import binary_set
from dendrocap.errors import InvalidParameter
from dendrocap.sweeps.library import positive_logistic


def loss(x, inputs, labels, l2):
    margins = (2.0 * labels - 1.0) * (inputs @ x[:-1] + x[-1])
    return np.logaddexp(0.0, -margins).mean() + 0.5 * l2 * x[:-1] @ x[:-1]


@pytest.mark.parametrize("penalty", [0.2, 20.0])
def test_no_step_into_the_allowed_region_lowers_the_loss(rng, penalty):
    inputs = rng.integers(0, 2, (200, 12)).astype(float)
    labels = (inputs @ rng.normal(size=12) + rng.normal(size=200) > 0.0).astype(int)
    fitted = positive_logistic(inputs, labels, penalty=penalty)
    x = np.append(fitted.weights, fitted.bias)
    assert fitted.weights.min() == 0.0  # some sign is wrong for every random task of this size
    assert_allclose(fitted.loss, loss(x, inputs, labels, penalty / 200), rtol=1e-5)
    for _ in range(200):
        step = 0.03 * rng.normal(size=13)
        other = np.append(np.maximum(x[:-1] + step[:-1], 0.0), x[-1] + step[-1])
        assert loss(other, inputs, labels, penalty / 200) > fitted.loss - 1e-6
    with pytest.raises(InvalidParameter, match="penalty = 0"):
        positive_logistic(inputs, labels, penalty=0.0)


def test_with_both_versions_of_every_input_the_sign_is_no_restriction(rng):
    """Weights v of any sign on x are max(v, 0) on x and max(-v, 0) on 1 - x, with the same squared norm."""
    single = rng.integers(0, 2, (300, 8)).astype(float)
    labels = (single @ rng.normal(size=8) + rng.normal(size=300) > 0.0).astype(int)
    both = np.hstack([single, 1.0 - single])
    bounded = positive_logistic(both, labels, penalty=3.0)
    free = minimize(loss, np.zeros(9), args=(single, labels, 0.01), method="BFGS", options={"gtol": 1e-8})
    # A free bias makes up for the constant that the complements add, and a pair that shares its weight gains nothing.
    assert bounded.loss <= free.fun + 1e-7
    assert np.minimum(bounded.weights[:8], bounded.weights[8:]).max() < 1e-3
    assert_allclose(bounded.loss, free.fun, rtol=1e-5)


def test_it_separates_real_digits_better_than_chance_and_keeps_its_word_on_the_gradient():
    digits = binary_set("digits", rng=0)
    fitted = positive_logistic(digits.inputs.unpack(), digits.labels, penalty=1.0)
    wrong = np.mean(fitted.predict(digits.test_inputs.unpack()) != digits.test_labels)
    assert 0.05 < wrong < 0.2
    assert fitted.gradient < 1e-4
