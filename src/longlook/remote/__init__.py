"""Trials on other machines by an executor of others: jobs travel by digests, and sealed folders come back.

`remote_engine` puts an executor in front of the engine of virtual time: Dask's, or any `concurrent.futures.Executor`.
`worker.run` is the one function that workers call (docs/guide/executors.md).
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.remote.choice import remote_engine as remote_engine
    from longlook.remote.engine import ExecutorReport as ExecutorReport
    from longlook.remote.engine import Machine as Machine
    from longlook.remote.engine import RemoteEngine as RemoteEngine
    from longlook.remote.recheck import DistrustedWorkerError as DistrustedWorkerError
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "choice": "remote_engine",
            "engine": "ExecutorReport Machine RemoteEngine",
            "recheck": "DistrustedWorkerError",
        },
    )
