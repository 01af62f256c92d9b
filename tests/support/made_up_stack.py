"""A stack that needs no building: quic-go's declaration as a plug-in, with versions and a program of a test's own."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from longlook.core import registry

_PLUGIN = """
from dataclasses import replace
from pathlib import Path

from longlook.core import FromSources, InputError, MachineError
from longlook.core.job import Program
from longlook.core.stack import Version
from longlook.stacks import quic_go

HERE = Path(__file__).parent.parent


def build(tree):
    program = tree.folder / "program"
    if "broken" in program.read_text():
        raise MachineError("make failed with exit code 2:\\nmade.c:1:1\\nsyntax error\\n")
    return Program(str(program), program.read_text())


def state_version(folder):
    if not (folder / "program").is_file():
        raise InputError("the sources have no program")
    return ""


STACK = replace(
    quic_go.STACK,
    name="{name}",
    versions=tuple(Version(*line.split(" ")) for line in (HERE / "versions.txt").read_text().splitlines()),
    knobs={{}},
    install=lambda version: Program(str(HERE / "program"), version),
    installed=lambda _version: True,
    from_sources=FromSources(build, lambda _tree: False, state_version, lambda _version, _into: None),
)
"""


def add_stack(root: Path, monkeypatch: pytest.MonkeyPatch, name: str, versions: Iterable[tuple[str, str]]) -> None:
    """Make a stack known that has these versions, each with its day of release; `registry.forget` undoes it.

    Its sources are a file `program`: equal texts are equal programs, and a text with `broken` cannot be built.
    """
    (root / "stacks").mkdir(parents=True)
    (root / "stacks" / f"{name}.py").write_text(_PLUGIN.format(name=name))
    (root / "program").write_text("made up")
    (root / "versions.txt").write_text("\n".join(f"{version} {released}" for version, released in versions))
    monkeypatch.setenv("LONGLOOK_PLUGINS", str(root))
    registry.forget()
