"""One seed, one run: how a seed becomes random numbers, the same way everywhere.

A seed, a whole number or a `numpy.random.SeedSequence`, never feeds a generator itself. Each purpose has a child of
it: patterns the first, a run (first weights and shuffles) the second, noise the third, a sweep's own function the
fourth, a teacher the fifth. Children are independent, so that one seed serves all purposes, and fixed, so that the same
seed gives the same patterns and the same run from Python, the command line, a protocol, a sweep or the explorer. A
generator is used as it stands.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dendrocap.validation import whole_number

__all__ = ["Purpose", "Seed", "generator_for"]

Seed = int | np.random.SeedSequence | np.random.Generator | None
Purpose = Literal["patterns", "run", "noise", "job", "teacher"]

# A purpose's number is its child's; new ones go to the end, for these decide what a seed means.
CHILDREN: dict[str, int] = {"patterns": 0, "run": 1, "noise": 2, "job": 3, "teacher": 4}


def generator_for(purpose: Purpose, seed: Seed) -> np.random.Generator:
    """The random numbers that a seed has for a purpose; those of None differ from call to call.

    A `SeedSequence` is not changed: its children are named, not spawned.

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
