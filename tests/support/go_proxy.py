"""A proxy of Go's modules that is a folder, with a cache of modules and of Longlook beside it."""

import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest


class GoProxy:
    """The proxy below a folder; Go asks it for modules, and whatever `also` names behind it."""

    def __init__(self, below: Path, monkeypatch: pytest.MonkeyPatch, *also: str) -> None:
        if shutil.which("go") is None:
            pytest.skip("no Go here")
        self._folder = below / "proxy"
        settings = {
            "LONGLOOK_CACHE": str(below / "cache"),
            "GOPROXY": ",".join((f"file://{self._folder}", *also)),
            "GOMODCACHE": str(below / "modules"),
            "GONOSUMDB": "*",
            "GOFLAGS": "-modcacherw",
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        (below / "modules").mkdir()

    def publish(self, module: str, files: Mapping[str, str]) -> None:
        """Publish version 1.0.0 of a module of these files, one of which is its go.mod."""
        folder = self._folder / module / "@v"
        folder.mkdir(parents=True)
        (folder / "list").write_text("v1.0.0\n")
        (folder / "v1.0.0.info").write_text('{"Version": "v1.0.0"}')
        (folder / "v1.0.0.mod").write_text(files["go.mod"])
        with zipfile.ZipFile(folder / "v1.0.0.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(f"{module}@v1.0.0/{name}", text)
