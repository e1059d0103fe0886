"""Shared by all tests: randomness with one seed (any seed must pass) and a compile cache that outlives the run."""

import os

import numpy as np
import pytest
from hypothesis import settings

from tests.browser import browser, open_page
from tests.drawing import drawn
from tests.image_fixtures import real_data, small_sets

__all__ = ["browser", "drawn", "open_page", "real_data", "rng", "small_sets"]

# No test depends on the clock: a first example may have to compile, and machines are busy.
settings.register_profile("dendrocap", deadline=None)
settings.load_profile("dendrocap")

# Hypothesis stores its examples and Numba its compiled code beside the sources by default; both are ignored by git.


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(int(os.environ.get("DENDROCAP_TEST_SEED", "20240710")))
