"""Pin Debian's packages: write the file of pins next to every list of them, and the pin of the guest kernel's source.

`python -m scripts.pin_packages` asks this machine's mirror for the newest of each, which apt verifies by its signed
index; `python -m scripts.pin_packages nginx` does so for one stack, and `kernel` names the kernel's source. A new pin
is another program: its trials run again, and a new kernel is built.
"""

import sys
import tempfile
from importlib import import_module
from pathlib import Path

from longlook.core import adapters_dir, kernel_dir
from longlook.provision.apt import Package, PrivateApt
from longlook.provision.debian import listed_packages, open_archive, pins_of
from longlook.provision.guest_kernel.source import PIN, SUITE, newest_source
from longlook.provision.pins import pin_lines

KERNEL = "kernel"


def main(names: list[str]) -> None:
    """Write the files of pins of stacks, or of all."""
    with tempfile.TemporaryDirectory() as folder:
        archives: dict[str, PrivateApt] = {}

        def archive(suite: str) -> PrivateApt:
            if suite not in archives:
                (Path(folder) / suite).mkdir()
                archives[suite] = open_archive(suite, Path(folder) / suite, "what is pinned")
            return archives[suite]

        for listed in sorted(adapters_dir().glob("*/packages/*.txt")):
            stack = listed.parent.parent.name
            if not names or stack in names:
                suite = import_module(f"longlook.stacks.{stack}").SUITES[listed.stem]
                found = [_expect(archive(suite).show(name), name) for name in listed_packages(listed)]
                _write(pins_of(listed), found)
        if not names or KERNEL in names:
            _write(kernel_dir() / PIN, [newest_source(archive(SUITE))])


def _expect(found: Package | None, name: str) -> Package:
    if found is None:
        raise SystemExit(f"the mirror has no {name}")
    return found


def _write(file: Path, packages: list[Package]) -> None:
    file.write_text(pin_lines(packages))
    sys.stdout.write(f"{file}: {', '.join(f'{each.name} {each.version}' for each in packages)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
