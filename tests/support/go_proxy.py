"""A proxy of Go's modules that is a folder, with a cache of modules and of Longlook beside it."""

import json
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

    def publish(self, module: str, files: Mapping[str, str], version: str = "1.0.0", date: str = "2026-01-01") -> None:
        """Publish a version of a module of these files, one of which is its go.mod."""
        folder = self._folder / module / "@v"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "list").open("a") as listed:
            listed.write(f"v{version}\n")
        (folder / f"v{version}.info").write_text(json.dumps({"Version": f"v{version}", "Time": f"{date}T00:00:00Z"}))
        (folder / f"v{version}.mod").write_text(files["go.mod"])
        with zipfile.ZipFile(folder / f"v{version}.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(f"{module}@v{version}/{name}", text)
