"""What the laboratory's programs find around them: their environment and a scratch folder."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_INHERITED = ("PATH", "LD_LIBRARY_PATH", "TZ", "PYTHONHASHSEED", "PYTHONPYCACHEPREFIX")


@dataclass(frozen=True)
class Environment:
    """`scratch` is a folder that goes away with the laboratory; `marker` names the laboratory in every program."""

    scratch: Path
    marker: str

    def variables(self, own: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
        """A small environment, alike on every machine; `own` is the laboratory's, `extra` a stack's."""
        inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        place = str(self.scratch)
        basic = {"LONGLOOK_LAB": self.marker, "HOME": place, "TMPDIR": place, "LANG": "C.UTF-8"}
        return {**inherited, **basic, **own, **extra}
