"""Images for tests with a program of the laboratory: quic-go's, which speaks by the interop runner's contract."""

import subprocess
from pathlib import Path

from longlook.core import registry
from longlook.provision import parse_program
from tests.support.images import Entry, Image, layer, write_saved


def libraries(program: str) -> list[str]:
    shown = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return [word for word in shown.split() if word.startswith("/") and ":" not in word]


def image_of_quic_go(file: Path, start: bytes) -> str:
    """Write an image of quic-go's program, /endpoint, and a shell with its own libc, which begins with a script.

    Return its name as a version of a stack.
    """
    program = registry.stack("quic-go").program("0.65.0").path
    files = {"bin/sh": "/bin/sh", "endpoint": program}
    files |= {place.lstrip("/"): place for name in ("/bin/sh", program) for place in libraries(name)}
    low = layer(*(Entry(name, Path(place).read_bytes(), mode=0o755) for name, place in files.items()))
    high = layer(Entry("run_endpoint.sh", start, mode=0o755), Entry("var/state/old", b"1"))
    write_saved(file, Image((low, high), names=("lab/quic-go:latest",)))
    stack, version = parse_program(f"image:{file}")
    return f"{stack.name}@{version}"
