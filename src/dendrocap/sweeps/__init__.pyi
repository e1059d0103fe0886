"""Public names, loaded when they are first used."""

from dendrocap.sweeps.dask import DaskExecutor as DaskExecutor
from dendrocap.sweeps.plan import (
    Crossing as Crossing,
    crossings as crossings,
)
from dendrocap.sweeps.process import (
    Environment as Environment,
    Executor as Executor,
    FuturesExecutor as FuturesExecutor,
    ProcessExecutor as ProcessExecutor,
    SerialExecutor as SerialExecutor,
)
from dendrocap.sweeps.runner import (
    Progress as Progress,
    SweepReport as SweepReport,
    run_sweep as run_sweep,
)
from dendrocap.sweeps.store import (
    Counts as Counts,
    Record as Record,
    Store as Store,
    merge_stores as merge_stores,
    salvage_store as salvage_store,
    verify_store as verify_store,
)
from dendrocap.sweeps.sweep import (
    Cell as Cell,
    Search as Search,
    Sweep as Sweep,
    read_sweep as read_sweep,
)
