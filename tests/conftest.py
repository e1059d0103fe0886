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

SHARED = "tests/reproduction/"

# Hypothesis stores its examples and Numba its compiled code beside the sources by default; both are ignored by git.


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Tests of a file run in one process, so that its fixtures are made once; tests of the reproduction share theirs.

    Not with ``--dist loadgroup``: pytest 9.2 and pytest-xdist 3.8 ignore its groups in silence (pytest-xdist #1386).
    """
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            path = nodeid.partition("::")[0]
            return SHARED if path.startswith(SHARED) else path

    return ByFile(config, log)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(int(os.environ.get("DENDROCAP_TEST_SEED", "20240710")))
