import pytest

from tests.sweeps.clusters import Cluster


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and two workers that have both registered: a sweep may be over before a slow one would have."""
    cluster = Cluster(tmp_path)
    try:
        cluster.wait_for(len(cluster.workers))
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def lone_scheduler(tmp_path):
    """A scheduler without workers."""
    cluster = Cluster(tmp_path, workers=0)
    yield cluster
    cluster.stop()
