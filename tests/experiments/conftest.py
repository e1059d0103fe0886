import pytest

from tests.experiments.clusters import Cluster


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.stop()


@pytest.fixture
def lone_scheduler(tmp_path):
    """A scheduler without workers."""
    cluster = Cluster(tmp_path, workers=0)
    yield cluster
    cluster.stop()
