"""The place of the certificate of the link in a guest's kernel, and a run's note of it.

Every run reads a certificate. This module names the code that measures and judges, and does not import it: only
`longlook calibrate` needs that code.
"""

import json
from pathlib import Path
from typing import Any

from longlook.core import codec, digests, paths

TABLE = "calibration.json"
MODULE = "longlook.instruments.calibrate.link.guest"
"""The module that runs in the guest."""


def certificate_entry(link_digest: str, kernel_digest: str) -> dict[str, Any] | None:
    """Return the manifest's entry on the calibration of this link in this kernel, or None if there is none.

    `path` is below the cache: a manifest names no place of the machine.
    """
    folder = certificate_folder(link_digest, kernel_digest)
    try:
        passed = json.loads((folder / TABLE).read_text())["passed"]
    except (OSError, ValueError, KeyError):
        return None
    return {"key": folder.name, "passed": passed, "path": str((folder / TABLE).relative_to(paths.cache_dir()))}


def calibration_code_digest() -> str:
    """Return the digest of the code that measures and judges."""
    return digests.code_digest("longlook.instruments.calibrate.link.virtual", MODULE)


def certificate_folder(link_digest: str, kernel_digest: str) -> Path:
    """Return the folder of the certificate in the cache, whether there is one or not."""
    key = codec.content_hash({"link": link_digest, "kernel": kernel_digest, "code": calibration_code_digest()})
    return paths.cache_dir() / "calibration" / key
