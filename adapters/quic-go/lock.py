"""Pin the modules that a version of quic-go is built with: writes versions/VERSION/go.mod and go.sum.

With the Python that has Longlook, for versions that stacks/quic_go.py names:
`python adapters/quic-go/lock.py 0.64.1`.
"""

import shutil
import sys
from pathlib import Path

from longlook.provision import build_steps
from longlook.provision.go import assembled, environment
from longlook.stacks.quic_go import library_of, older_go, renamed

ADAPTER = Path(__file__).parent


def lock(version: str) -> None:
    """Let the release of Go that builds a version choose the modules, and keep what it chose."""
    older = older_go(version)
    language = "1.26.0" if older is None else ".".join(older.split(".")[:2])
    with assembled(ADAPTER, version, renamed(version)) as folder:
        required = f"require {library_of(version)} v{version}"
        (folder / "go.mod").write_text(f"module longlook.example/adapters/quic-go\n\ngo {language}\n\n{required}\n")
        (folder / "go.sum").unlink(missing_ok=True)
        build_steps.run(("go", "mod", "tidy"), cwd=folder, env={**environment(older), "GOFLAGS": "-mod=mod"})
        pinned = ADAPTER / "versions" / version
        pinned.mkdir(parents=True, exist_ok=True)
        for name in ("go.mod", "go.sum"):
            shutil.copy(folder / name, pinned)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        lock(each)
