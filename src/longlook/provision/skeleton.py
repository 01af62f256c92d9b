"""Writes a new stack that works before anything is edited: a copy of a shipped adapter, its declaration and its test.

There are no templates that could fall behind: the copy is of the adapter as it is now, for the newest version.
"""

import re
import shutil
import tempfile
from pathlib import Path

from longlook.core import InputError, MachineError, Stack, adapter_dir, registry

MODELS = {"go": "quic-go", "rust": "quinn", "python": "aioquic", "c": "ngtcp2"}
"""Language → the shipped stack that is copied; `c` is C libraries that Python calls."""

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_OF_A_VERSION = ("locks", "packages", "versions")
"""Folders of adapters with a file or a folder for each version."""
_LEFT_OUT = ("_older", "_patches", "__pycache__", "README.md", "lock.py")

_DECLARATION = '''"""{name}: begun as a copy of {model} {version} (`longlook new stack {name} --like {like}`)."""

from pathlib import Path

from longlook.provision import variant
from longlook.stacks.{module} import STACK as MODEL

STACK = variant(MODEL, "{name}", of="{version}", adapter=Path(__file__).resolve().parents[1] / "adapter")
'''

_TEST = '''"""{name} does what it declares, in trials over an emulated link (`pytest tests`)."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_it_does_what_it_declares(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "longlook", "stacks", "check", "{name}", "--out", str(tmp_path / "out"))
    environment = {{**os.environ, "LONGLOOK_PLUGINS": str(ROOT)}}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
'''

_README = """# {name}

A stack for Longlook that began as a copy of {model} {version}.

    export LONGLOOK_PLUGINS=$PWD
    longlook setup {name}           # builds adapter/
    longlook stacks check {name}    # does it do what stacks/{module_file} declares?
    longlook compare {model}@{version} {name} --on 10mbit,36ms

| file | job |
|---|---|
| `stacks/{module_file}` | the declaration: roles, protocols, knobs, how it is built and called |
| `adapter/` | the program; adapters/CONTRACT.md of Longlook has all that it must do |
| `tests/` | the check as a test |

1. Change `adapter/` to call your library. {libraries}
2. Declare what differs: `STACK = replace(variant(…), protocols=("h3",), knobs={{…}})`.
   Any field of `longlook.core.Stack` can be replaced.
3. Give `variant` the `version` that your program reports in its `ready` line.
"""

_LIBRARIES = {
    "go": "`go.mod` and `go.sum` say which modules it is built from.",
    "rust": "`versions/{version}/` has its manifest and its lock file.",
    "python": "`locks/{version}.txt` has its packages, each with a digest.",
    "c": "`packages/{version}.txt` has its libraries of Debian, the file `.lock` beside it their digests.",
}


def write_skeleton(name: str, like: str, into: Path) -> Path:
    """Write a new stack into the folder `into`, which is made whole or not at all, and return it.

    Raise InputError for a language that is none of `MODELS`, a name that cannot be one or is taken, and a folder that
    exists.
    """
    if like == "container":
        raise InputError(
            "a container image is no stack to be written", "name it as it is: image:./FILE.tar (docs/guide/images.md)"
        )
    if like not in MODELS:
        raise InputError(f"--like {like}: there is no such model", f"known: {', '.join(MODELS)}")
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} cannot be a stack's name", "small letters, digits and -, first a letter")
    if name in registry.stacks():
        raise InputError(f"there is a stack {name} already", "choose another name")
    if into.exists():
        raise InputError(f"{into} exists already", "name a folder that does not: --into FOLDER")
    model = registry.stack(MODELS[like])
    if not adapter_dir(model.name).is_dir():
        raise MachineError(
            f"there is no {adapter_dir(model.name)}", "set LONGLOOK_ADAPTERS to the adapters/ of a checkout"
        )
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".longlook-", dir=into.parent) as temporary:
        made = Path(temporary, "made")
        _write(name, like, model, made)
        made.rename(into)
    return into


def _write(name: str, like: str, model: Stack, into: Path) -> None:
    version, module = model.default_version, model.name.replace("-", "_")
    words = {
        "name": name, "like": like, "model": model.name, "version": version, "module": module,
        "module_file": f"{name.replace('-', '_')}.py", "libraries": _LIBRARIES[like].format(version=version),
    }  # fmt: skip
    _copy(adapter_dir(model.name), version, into / "adapter")
    for path, text in (
        (f"stacks/{words['module_file']}", _DECLARATION),
        (f"tests/test_{words['module_file']}", _TEST),
        ("README.md", _README),
    ):
        (into / path).parent.mkdir(exist_ok=True)
        (into / path).write_text(text.format(**words))


def _copy(adapter: Path, version: str, into: Path) -> None:
    """Copy an adapter's files without tests and without files of other versions."""

    def left_out(folder: str, names: list[str]) -> list[str]:
        of_versions = Path(folder).name in _OF_A_VERSION and Path(folder).parent == adapter
        own = (version, f"{version}.txt", f"{version}.lock")
        return [
            name for name in names
            if name in _LEFT_OUT or name.endswith("_test.go") or (of_versions and name not in own)
        ]  # fmt: skip

    shutil.copytree(adapter, into, ignore=left_out)
    for folder in _OF_A_VERSION:
        if (into / folder).is_dir() and not any((into / folder).iterdir()):
            (into / folder).rmdir()
