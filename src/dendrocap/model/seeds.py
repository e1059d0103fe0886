"""Seeds: how a seed becomes random numbers, in the same way everywhere.

A seed, a whole number or a `numpy.random.SeedSequence`, never feeds a generator directly. Each purpose has its own
child: patterns the first, a run (initial weights and shuffles) the second, noise the third, the function of a sweep the
fourth, a teacher the fifth. Children are independent, so that one seed serves all purposes, and fixed, so that the same
seed gives the same patterns and the same run from Python, the command line, a protocol, a sweep or the explorer. A
generator is used directly.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dendrocap.validation import whole_number

__all__ = ["Purpose", "Seed", "generator_for"]

Seed = int | np.random.SeedSequence | np.random.Generator | None
Purpose = Literal["patterns", "run", "noise", "job", "teacher"]

# The number of a purpose is that of its child. Append new ones at the end, because the order defines what a seed means.
CHILDREN: dict[str, int] = {"patterns": 0, "run": 1, "noise": 2, "job": 3, "teacher": 4}


def generator_for(purpose: Purpose, seed: Seed) -> np.random.Generator:
    """The generator of a seed for a purpose; with None it differs from call to call.

    A `SeedSequence` is not changed: its children are derived by number, not spawned.

    Examples
    --------
    >>> first, again = (generator_for("run", 7).random() for _ in range(2))
    >>> first == again, first == generator_for("patterns", 7).random()
    (True, False)
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(whole_number("seed", seed, 0))
    key = (*root.spawn_key, CHILDREN[purpose])
    return np.random.default_rng(np.random.SeedSequence(root.entropy, spawn_key=key, pool_size=root.pool_size))
