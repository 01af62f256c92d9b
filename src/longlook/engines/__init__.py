"""The engines: each runs the laboratory in its kind of time, and turns a `Job` into a `Run`.

`VirtualEngine` boots a guest for each trial, `LiveEngine` runs the agent on this host, and the engine `fake` makes
results up, for tests of what comes after an engine. All are a `core.Engine`; `make_engine` makes one by its name.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.engines.choice import DEFAULT as DEFAULT
    from longlook.engines.choice import ENGINES as ENGINES
    from longlook.engines.choice import make_engine as make_engine
    from longlook.engines.doctor import examine as examine
    from longlook.engines.virtual import agent_digest as agent_digest
    from longlook.engines.virtual.bundle import make_bundle as make_bundle
    from longlook.engines.virtual.guest_run import GuestRun as GuestRun
    from longlook.engines.virtual.guest_run import run_guest as run_guest
    from longlook.engines.virtual.probe import find_guest as find_guest
    from longlook.engines.virtual.scratch import exchange_directory as exchange_directory
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "choice": "DEFAULT ENGINES make_engine",
            "doctor": "examine",
            "virtual": "agent_digest",
            "virtual.bundle": "make_bundle",
            "virtual.guest_run": "GuestRun run_guest",
            "virtual.probe": "find_guest",
            "virtual.scratch": "exchange_directory",
        },
    )
