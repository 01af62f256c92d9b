"""For tests: a stack whose builds are quick, slow or broken."""

import os
from pathlib import Path

from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.stack import Stack, Version
from longlook.provision import build_steps
from longlook.provision.build_cache import build, is_built

SOURCES = Path(__file__).parents[1] / "sources"


def install(version: str) -> Program:
    def compiled(work: Path, out: Path) -> None:
        build_steps.run(("sh", "build.sh", version, str(out)), cwd=work, env=dict(os.environ))

    return build("workshop", version, SOURCES, lambda: "sh", compiled)


STACK = Stack(
    name="workshop",
    summary="for tests: builds that take time or fail",
    roles=("client",),
    protocols=("h3",),
    connections=(ConnectionState.COLD,),
    versions=tuple(Version(name, "") for name in ("held", "broken", "slow-1", "slow-2", "quick-1", "quick-2")),
    knobs={},
    log_formats=(),
    install=install,
    installed=lambda version: is_built("workshop", version, SOURCES, lambda: "sh"),
)
