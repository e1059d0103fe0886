"""Parts of a sweep in stores of their own, run anywhere, killed at will, and put together."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from dendrocap.errors import InvalidParameter, StoreError
from dendrocap.sweeps import Store, Sweep, merge_stores, run_sweep, verify_store
from tests.sweeps.clients import PATIENCE, client, environment, finished, sweep_file
from tests.sweeps.comparing import JOBS, contents, draws, stored

DOCS = Path(__file__).parents[2] / "docs" / "sweeps.md"


def shards(sweep, folder, n=3, **options):
    paths = [folder / f"{number}.db" for number in range(1, n + 1)]
    reports = [
        run_sweep(sweep, path, workers=1, shard=f"{number}/{n}", **options) for number, path in enumerate(paths, 1)
    ]
    return paths, reports


def rows(path):
    """All that a store holds, to the bit, in an order of its own."""
    database = sqlite3.connect(path)
    try:
        return sorted(database.execute("SELECT * FROM cells")), sorted(
            database.execute("SELECT digest, definition, shard FROM sweeps")
        )
    finally:
        database.close()


def test_shards_are_disjoint_complete_and_of_similar_size(tmp_path):
    sweep = draws(400)
    parts = Counter(sweep.share(cell, 3) for cell in sweep)
    assert set(parts) == {1, 2, 3}
    assert min(parts.values()) > 90
    paths, reports = shards(sweep, tmp_path)
    assert [report.counts.done for report in reports] == [parts[1], parts[2], parts[3]]
    with Store(paths[1]) as store:
        assert store.shard(sweep) == "2/3"
        assert (store.counts(sweep).cells, store.counts(sweep).missing) == (parts[2], 0)
    run_sweep(sweep, tmp_path / "single.db", workers=1)
    assert merge_stores(paths, tmp_path / "all.db") == 400
    assert contents(tmp_path / "all.db", sweep) == contents(tmp_path / "single.db", sweep)
    assert run_sweep(sweep, tmp_path / "all.db", workers=1).ran == 0


def test_merging_again_changes_nothing_in_whatever_order(tmp_path):
    paths, _ = shards(draws(40), tmp_path)
    merge_stores(paths, tmp_path / "all.db")
    once = rows(tmp_path / "all.db")
    merge_stores([paths[2], paths[0], paths[1], paths[0]], tmp_path / "all.db")
    assert rows(tmp_path / "all.db") == once
    merge_stores(paths[::-1], tmp_path / "reversed.db")
    assert rows(tmp_path / "reversed.db") == once


def test_a_growing_merge_takes_finished_cells_for_failed_ones(tmp_path):
    marker = tmp_path / "marker"
    sweep = Sweep(f"{JOBS}:succeeds_later", grid={"number": range(6)}, parameters={"marker": str(marker)})
    paths, _ = shards(sweep, tmp_path, 2)
    merge_stores(paths, tmp_path / "all.db")
    marker.touch()
    shards(sweep, tmp_path, 2, retry_failed=True)
    merge_stores(paths, tmp_path / "all.db")
    with Store(tmp_path / "all.db") as store:
        assert store.counts(sweep).done == 6
    os.replace(tmp_path / "all.db", tmp_path / "first.db")
    assert run_sweep(sweep, tmp_path / "first.db", workers=1).ran == 0


def test_contradictions_are_refused_and_nothing_is_written(tmp_path):
    sweep = draws(8)
    for name in ("one", "other"):
        run_sweep(sweep, tmp_path / f"{name}.db", workers=1)
    with Store(tmp_path / "other.db", write=True) as store:
        number, row = next(store.rows())
        values = [value.decode() if isinstance(value, bytes) else value for value in row[:-1]]
        values[5] = values[5].replace("4", "5")
        store.save_row("cells", tuple(values), replace=True)
    assert number
    assert verify_store(tmp_path / "other.db").sound
    with pytest.raises(StoreError, match=r"one.db and .*other.db contradict each other: .* different results for"):
        merge_stores([tmp_path / "one.db", tmp_path / "other.db"], tmp_path / "all.db")
    assert not (tmp_path / "all.db").exists()


def test_what_cannot_be_merged_is_named(tmp_path):
    run_sweep(draws(8), tmp_path / "one.db", workers=1)
    with pytest.raises(InvalidParameter, match="cannot be both a source and the target"):
        merge_stores([tmp_path / "one.db"], tmp_path / "one.db")
    with pytest.raises(StoreError, match="there is no store"):
        merge_stores([tmp_path / "none.db"], tmp_path / "all.db")
    with pytest.raises(InvalidParameter, match="at least one"):
        merge_stores([], tmp_path / "all.db")
    assert not (tmp_path / "all.db").exists()


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", "-1/3"])
def test_shards_that_are_none_are_refused(tmp_path, shard):
    with pytest.raises(InvalidParameter, match=r"must be i/n with i from 1 to n"):
        run_sweep(draws(8), tmp_path / "r.db", workers=1, shard=shard)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_shard_needs_no_memory_shared_with_readers(tmp_path):
    """SQLite's file for it cannot work between machines; while a shard is written, readers are refused in words."""
    seen = []

    def look(now):
        seen.append(sorted(path.name for path in tmp_path.iterdir()))
        if now.ran == 1:
            with pytest.raises(StoreError, match="is locked by another program, such as a run of a shard"):
                Store(tmp_path / "1.db")

    run_sweep(draws(8), tmp_path / "1.db", workers=1, shard="1/2", callback=look)
    assert all("1.db-shm" not in names for names in seen)


@pytest.mark.slow
def test_three_shards_killed_at_random_resumed_and_merged_equal_the_single_run(tmp_path):
    sweep = draws(240)
    file = sweep_file(tmp_path, sweep)
    stores = [tmp_path / f"all.{number}-of-3.db" for number in (1, 2, 3)]
    chance = random.Random(int(os.environ.get("DENDROCAP_TEST_SEED", "11")))

    def start(number, pause):
        how = ("--store", tmp_path / "all.db", "--workers", 1, "--shard", f"{number}/3")
        return client(file, *how, pause=pause)

    progress = [0]
    while progress[-1] < 12:  # kills may come before the first cell, as at any other moment
        running = [start(number, 0.2) for number in (1, 2, 3)]
        for process in running:
            time.sleep(chance.uniform(0.2, 1.0))
            process.kill()
            process.communicate()
            assert process.returncode == -signal.SIGKILL, "the shard was over before it could be killed"
        progress.append(sum(map(stored, stores)))
        assert progress[-1] >= progress[-2]
    assert progress[-1] < 240, "the kills came too late to prove anything"
    for process in [start(number, 0.0) for number in (1, 2, 3)]:
        code, _, errors = finished(process)
        assert code == 0, errors
    code, out, errors = finished(client(*stores, "-o", tmp_path / "all.db", "--json", command="merge"))
    assert code == 0, errors
    assert '"done": 240' in out
    run_sweep(sweep, tmp_path / "single.db", workers=1)
    assert contents(tmp_path / "all.db", sweep) == contents(tmp_path / "single.db", sweep)


@pytest.mark.slow
def test_the_slurm_script_of_the_docs_runs_as_plain_processes(tmp_path):
    """What SLURM does with an array job: the same script, once for each task."""
    page = DOCS.read_text(encoding="utf-8")
    script = page[page.index("#!/bin/bash\n#SBATCH --array") :].partition("```")[0]
    sweep = draws(40)
    (tmp_path / "fig3.toml").write_text(sweep_file(tmp_path, sweep).read_text())
    (tmp_path / "job.sh").write_text(script)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dendrocap").write_text(f'#!/bin/sh\nexec {sys.executable} -m dendrocap "$@"\n')
    (tmp_path / "bin" / "dendrocap").chmod(0o755)
    usual = environment()
    count = int(script.partition("--array=1-")[2].split()[0])
    path = {"PATH": f"{tmp_path / 'bin'}:{usual['PATH']}", "SLURM_ARRAY_TASK_COUNT": str(count)}
    for first in range(1, count + 1, 4):
        tasks = [
            subprocess.Popen(
                ["bash", "job.sh"],
                cwd=tmp_path,
                env={**usual, **path, "SLURM_ARRAY_TASK_ID": str(task), "SLURM_CPUS_PER_TASK": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for task in range(first, min(first + 4, count + 1))
        ]
        assert [(task.communicate(timeout=PATIENCE)[0][-300:], task.returncode)[1] for task in tasks] == [0] * len(
            tasks
        )
    merge = next(line for line in page.splitlines() if "dendrocap sweep merge fig3" in line).strip()
    subprocess.run(["bash", "-c", merge], cwd=tmp_path, env={**usual, **path}, check=True, capture_output=True)
    run_sweep(sweep, tmp_path / "single.db", workers=1)
    assert contents(tmp_path / "fig3.db", sweep) == contents(tmp_path / "single.db", sweep)
