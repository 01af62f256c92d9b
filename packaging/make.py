"""`make wheel`: writes dist/ with the wheels of Longlook and longlook-prebuilt, and Longlook's source distribution.

The same sources and compilers give the same bytes in any folder.
"""

import hashlib
import json
import os
import sys
import tempfile
import tomllib
from pathlib import Path

import backend
from prebuilt import build_prebuilt

DIST = backend.ROOT / "dist"
_COMPATIBILITY = "pypi"  # maturin then refuses a wheel without a tag of manylinux


def main() -> None:
    """Make all three."""
    os.chdir(backend.ROOT)
    DIST.mkdir(exist_ok=True)
    version = tomllib.loads((backend.ROOT / "pyproject.toml").read_text())["project"]["version"]
    prebuilt, pins = build_prebuilt(DIST, version, _say)
    cargo_home = os.environ.get("CARGO_HOME") or Path.home() / ".cargo"
    os.environ["RUSTFLAGS"] = f"--remap-path-prefix={cargo_home}=/cargo --remap-path-prefix={backend.ROOT}=/longlook"
    os.environ["CARGO_TARGET_DIR"] = str(backend.ROOT / "target" / "wheel")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(pins, file)
        file.flush()
        os.environ[backend.PINS] = file.name
        wheel = DIST / backend.build_wheel(str(DIST), {"build-args": f"--compatibility {_COMPATIBILITY}"})
    sdist = DIST / backend.build_sdist(str(DIST))
    for made in (wheel, prebuilt, sdist):
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        _say(f"{digest}  dist/{made.name}  {made.stat().st_size / 1e6:.1f} MB")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
