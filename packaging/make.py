"""`make wheel`: writes dist/ with the wheels of Longlook and longlook-prebuilt, and Longlook's source distribution.

The same sources and compilers give the same bytes in any folder.
"""

import hashlib
import json
import os
import sys
import sysconfig
import tempfile
import tomllib
from pathlib import Path

import backend
from prebuilt import build_prebuilt

from longlook.provision import cargo

_COMPATIBILITY = "pypi"  # maturin then refuses a wheel without a tag of manylinux


def main() -> None:
    """Make all three, from programs without paths of this machine."""
    root, dist = backend.ROOT, backend.ROOT / "dist"
    dist.mkdir(exist_ok=True)
    os.environ["RUSTFLAGS"] = f"--remap-path-prefix={cargo.cargo_home()}=/cargo --remap-path-prefix={root}=/longlook"
    os.environ["CARGO_TARGET_DIR"] = str(root / "target" / "wheel")
    make(dist)


def make(dist: Path) -> None:
    """Write the files into a folder, with programs compiled as the environment says, and print their digests."""
    os.chdir(backend.ROOT)
    os.environ["PATH"] = f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}"  # maturin is called by its name
    version = tomllib.loads((backend.ROOT / "pyproject.toml").read_text())["project"]["version"]
    prebuilt, pins = build_prebuilt(dist, version, _say)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(pins, file, indent=1)
        file.flush()
        os.environ[backend.PINS] = file.name
        wheel = dist / backend.build_wheel(str(dist), {"build-args": f"--compatibility {_COMPATIBILITY}"})
    sdist = dist / backend.build_sdist(str(dist))
    for made in (wheel, prebuilt, sdist):
        digest = hashlib.sha256(made.read_bytes()).hexdigest()
        _say(f"{digest}  {made.name}  {made.stat().st_size / 1e6:.1f} MB")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
