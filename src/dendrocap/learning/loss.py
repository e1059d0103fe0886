"""The cross-entropy loss, and the error signal that it sends back.

Labels are +-1 here. With ``margin = sign * Delta``, positive where the neuron is right, a pattern costs
``f(margin) = -margin / 2 + ln(2 cosh(gamma_ce margin)) / (2 gamma_ce)`` [cross-entropy]: nearly nothing when
the margin is large on the scale 1 / gamma_ce, and ``-margin`` when it is very negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dendrocap.validation import real_number

__all__ = ["cross_entropy", "soft_error"]


def cross_entropy(margin: ArrayLike, gamma_ce: float) -> Any:
    """Loss of a pattern with the given margin.

    Examples
    --------
    >>> round(float(cross_entropy(0.0, gamma_ce=2.0)), 6)  # ln(2) / (2 gamma_ce)
    0.173287
    """
    gamma_ce = real_number("gamma_ce", gamma_ce, 0.0, low_open=True)
    # [cross-entropy] rewritten as softplus(-2 gamma margin) / (2 gamma), which cannot overflow.
    return np.logaddexp(0.0, -2.0 * gamma_ce * np.asarray(margin, dtype=np.float64)) / (2.0 * gamma_ce)


def soft_error(margin: ArrayLike, gamma_ce: float) -> Any:
    """How wrong the neuron is about a pattern, from 0 (right by far) to 1 (wrong by far): -f'(margin).

    The first of the three factors of the local rule [local-rule]; times the sign of the label it tells the
    whole neuron which way to go.

    Examples
    --------
    >>> soft_error([-100.0, 0.0, 100.0], gamma_ce=10.0).tolist()
    [1.0, 0.5, 0.0]
    """
    gamma_ce = real_number("gamma_ce", gamma_ce, 0.0, low_open=True)
    exponent = np.clip(2.0 * gamma_ce * np.asarray(margin, dtype=np.float64), -700.0, 700.0)
    return np.where(exponent < 700.0, 1.0 / (1.0 + np.exp(exponent)), 0.0)[()]
