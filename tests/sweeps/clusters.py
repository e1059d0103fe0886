"""A Dask cluster of real processes, to be killed and starved; on the loopback interface only."""

import json
import subprocess
import sys

from tests.sweeps.clients import environment, wait_until

LOCALHOST = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")


def start(*arguments, **changes):
    command = [sys.executable, "-P", "-m", "dask", *map(str, arguments)]  # modules of PYTHONPATH, not of this folder
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env={**environment(), **changes}, **quiet)


class Cluster:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, folder, workers=2, protocol="tcp"):
        self.file, self.protocol = folder / "scheduler.json", ("--protocol", protocol)
        self.scheduler = start("scheduler", *LOCALHOST, *self.protocol, "--port", 0, "--scheduler-file", self.file)
        self.workers = [self.start_worker() for _ in range(workers)]
        wait_until(lambda: self.file.exists() and self.file.stat().st_size > 0)
        self.address = json.loads(self.file.read_text())["address"]

    def start_worker(self, *options, nanny=False, **changes):
        """A worker in an environment with changes; with a nanny, which starts it again when it dies."""
        how = ("--nthreads", 1, "--nanny" if nanny else "--no-nanny", "--scheduler-file", self.file)
        return start("worker", *LOCALHOST, *self.protocol, *how, *options, **changes)

    def add_worker(self, *options, **changes):
        self.workers.append(self.start_worker(*options, **changes))
        return self.workers[-1]

    def wait_for(self, workers):
        """Wait until so many workers are there."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            return sorted(client.nthreads())

    def stop(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
