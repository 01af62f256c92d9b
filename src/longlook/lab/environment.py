"""The environment of the laboratory's programs: their variables and a scratch folder. Pure."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The same on every machine: a program in Go copies its environment, whose length then decides when it collects
garbage, and with that when it sends its next packet."""

_INHERITED = ("LD_LIBRARY_PATH", "TZ", "PYTHONHASHSEED", "PYTHONPYCACHEPREFIX")


@dataclass(frozen=True)
class Environment:
    """`scratch` is a folder of the programs that is removed with the laboratory; `marker` names it in every program."""

    scratch: Path
    marker: str

    def variables(self, own: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
        """Return a small environment, the same on every machine, with the laboratory's `own` and a stack's `extra`."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        place = str(self.scratch)
        basic = {"LONGLOOK_LAB": self.marker, "PATH": _PATH, "HOME": place, "TMPDIR": place, "LANG": "C.UTF-8"}
        return {**inherited, **basic, **own, **extra}

    def variables_of_root(self, own: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a program with a root of its own: nothing that is said of this machine."""
        return {"LONGLOOK_LAB": self.marker, "PATH": _PATH, "LANG": "C.UTF-8", **extra, **own}
