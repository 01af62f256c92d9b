"""The wheel longlook-prebuilt: the guest kernel and programs for a machine without compilers, with their licences."""

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from archive import write_wheel

from longlook.cli.demo import PARTS
from longlook.core import kernel_dir
from longlook.provision import KERNEL, guest_kernel, install, spelt_out

NAME, PACKAGE = "longlook-prebuilt", "longlook_prebuilt"
_TAG = "py3-none-manylinux_2_17_x86_64"
_METADATA = """\
Metadata-Version: 2.4
Name: {name}
Version: {version}
Summary: The guest kernel of Longlook and prebuilt programs, for x86-64 Linux
License-Expression: Apache-2.0 AND GPL-2.0-only AND MIT AND BSD-3-Clause
Requires-Python: >=3.11

Longlook takes these files instead of building them, if it would build them from the same sources.
The kernel is GPL-2.0-only: the folder kernel has its patch and configuration, and names the package of its sources.
"""
_WHEEL = """\
Wheel-Version: 1.0
Generator: longlook
Root-Is-Purelib: false
Tag: {tag}
"""


def build_prebuilt(folder: Path, version: str, say: Callable[[str], None]) -> tuple[Path, dict[str, str]]:
    """Build what the wheel holds, write the wheel into a folder, and return it with the digests of its files."""
    programs = [part for part in spelt_out(PARTS) if part != KERNEL]  # of Go, and static
    files = {**dict(_of_kernel(say)), **dict(_of_programs(programs, say))}
    info = f"{PACKAGE}-{version}.dist-info"
    packed = {
        f"{PACKAGE}/__init__.py": b'"""Files that Longlook takes instead of building them."""\n',
        **{f"{PACKAGE}/{path}": contents for path, contents in files.items()},
        f"{info}/METADATA": _METADATA.format(name=NAME, version=version).encode(),
        f"{info}/WHEEL": _WHEEL.format(tag=_TAG).encode(),
    }
    wheel = folder / f"{PACKAGE}-{version}-{_TAG}.whl"
    write_wheel(wheel, packed, f"{info}/RECORD", {name for name in packed if name.endswith(("/linux", "/program"))})
    return wheel, {path: hashlib.sha256(contents).hexdigest() for path, contents in files.items()}


def _of_kernel(say: Callable[[str], None]) -> Iterator[tuple[str, bytes]]:
    kernel = Path(install(KERNEL, say).path)
    if (wrong := guest_kernel.deviation()) is not None:
        raise SystemExit(f"{wrong}: that kernel goes into no wheel")
    yield from ((f"kernel/{name}", kernel.with_name(name).read_bytes()) for name in ("linux", "kernel.json"))
    yield from ((f"kernel/{path.name}", path.read_bytes()) for path in sorted(kernel_dir().iterdir()))


def _of_programs(parts: Iterable[str], say: Callable[[str], None]) -> Iterator[tuple[str, bytes]]:
    for part in parts:
        program = Path(install(part, say).path)
        place = f"stacks/{part.replace('@', '/')}"
        yield from ((f"{place}/{name}", program.with_name(name).read_bytes()) for name in ("program", "program.json"))
        yield from ((f"{place}/licences/{name}", text) for name, text in _licences(program))


def _licences(program: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the licence of each module that a Go program is linked from, and Go's own."""
    printed = _answer("go", "version", "-m", str(program))
    for line in printed.splitlines():
        if (facts := line.split())[:1] == ["dep"]:
            module = f"{facts[1]}@{facts[2]}"
            folder = Path(json.loads(_answer("go", "mod", "download", "-json", module))["Dir"])
            found = sorted(path for path in folder.glob("LICEN[CS]E*") if path.is_file())
            if not found:
                raise SystemExit(f"{module} has no licence: it goes into no wheel")
            yield from ((f"{facts[1].replace('/', '_')}-{path.name}", path.read_bytes()) for path in found)
    yield "go-LICENSE", (Path(_answer("go", "env", "GOROOT")) / "LICENSE").read_bytes()


def _answer(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
