"""Gives a program a root of its own: a folder under a layer in memory, with devices and files of the laboratory.

All places are made in the layer, before it is put over the folder: no link of the folder leads them elsewhere.
"""

import os
from pathlib import Path

from longlook.core import OwnRoot
from longlook.lab.linux import system

_SYSTEM = ("proc", "dev", "sys")
_OPEN = 0o1777
_RESULTS = "results"


def enter(root: OwnRoot, stage: Path) -> None:
    """Make the root of a program of a guest, as `make`, and change this process into it."""
    os.chroot(make(root, stage))
    os.chdir(f"/{root.begins_in}")


def make(root: OwnRoot, stage: Path, more: str = "") -> Path:
    """Make the root in the folder `stage`, whose file system has its layer, and return the folder that shows it.

    The mount namespace is the program's own; `more` is added to the layer's options. Raise OSError if the kernel
    refuses it.
    """
    upper, work, new = (stage / name for name in ("upper", "work", "new"))
    for folder in (upper, work, new):
        folder.mkdir()
    for name in _SYSTEM:
        _folder(upper, name)
    for name in (root.begins_in, *root.writable, *([root.results] if root.results else [])):
        _folder(upper, name)
    for name, text in root.texts.items():
        _file(upper, name).write_text(text)
        (upper / name).chmod(0o755)
    for name, source in root.shown.items():
        _folder(upper, name) if Path(source).is_dir() else _file(upper, name).touch()
    for name in root.writable:
        (upper / name).chmod(_OPEN)
    layers = f"lowerdir={root.folder},upperdir={upper},workdir={work}{more}"
    system.mount("root", str(new), "overlay", system.MS_NOSUID | system.MS_NODEV, layers)
    for name in _SYSTEM:
        system.mount(f"/{name}", str(new / name), None, system.MS_BIND | system.MS_REC)
    for name, source in root.shown.items():
        system.mount(source, str(new / name), None, system.MS_BIND)
    if root.results:
        (stage / _RESULTS).mkdir()
        (stage / _RESULTS).chmod(_OPEN)
        system.mount(str(stage / _RESULTS), str(new / root.results), None, system.MS_BIND)
    return new


def results_below(stage: Path) -> Path:
    """Return where a program left its results, by the folder that was its stage; a folder that it alone wrote to."""
    return stage / _RESULTS


def _folder(upper: Path, name: str) -> None:
    (upper / name).mkdir(parents=True, exist_ok=True)


def _file(upper: Path, name: str) -> Path:
    place = upper / name
    place.parent.mkdir(parents=True, exist_ok=True)
    return place
