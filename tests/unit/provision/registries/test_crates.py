"""The registry of crates, which is a server of this machine here, is asked by cargo."""

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from longlook.core.errors import MachineError
from longlook.provision.registries.crates import Crates, fits
from longlook.provision.registries.registry import Published
from tests.unit.provision.test_crate_sources import archived, crate

OUTER = Crates(("outer", "inner", "other"))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None: ...


class Server:
    """A registry of crates below a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "index").mkdir(parents=True)
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"
        (folder / "index" / "config.json").write_text(json.dumps({"dl": f"{self.address}/dl/{{crate}}-{{version}}"}))

    def publish(self, name: str, version: str, date: str, needs: str = "", *, yanked: bool = False) -> None:
        files = {
            "Cargo.toml": crate(name, version),
            "src/lib.rs": f'pub const VERSION: &str = "{version}";\n',
            ".cargo_vcs_info.json": json.dumps({"git": {"sha1": "0"}, "path_in_vcs": name}),
        }
        packed = archived(name, version, files)
        place = self._folder / "index" / name[:2] / name[2:4] / name
        place.parent.mkdir(parents=True, exist_ok=True)
        deps = [
            {"name": "in", "package": "inner", "req": needs, "features": [], "optional": False,
             "default_features": True, "target": None, "kind": "normal"}
        ] if needs else []  # fmt: skip
        entry = {
            "name": name, "vers": version, "deps": deps, "cksum": hashlib.sha256(packed).hexdigest(), "features": {},
            "yanked": yanked, "pubtime": f"{date}T12:00:00Z",
        }  # fmt: skip
        with place.open("a") as index:
            index.write(json.dumps(entry) + "\n")
        (self._folder / "dl").mkdir(exist_ok=True)
        (self._folder / "dl" / f"{name}-{version}").write_bytes(packed)

    def spoil(self, name: str, version: str) -> None:
        (self._folder / "dl" / f"{name}-{version}").write_bytes(archived(name, version, {"Cargo.toml": "other"}))


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    if shutil.which("cargo") is None:
        pytest.skip("no Rust here")
    server = Server(tmp_path / "registry")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "here"\n[source.here]\nregistry = "sparse+{server.address}/index/"\n'
    )
    monkeypatch.setenv("CARGO_HOME", str(home))
    server.publish("inner", "0.3.0", "2026-01-01")
    server.publish("inner", "0.3.1", "2026-02-01")
    server.publish("inner", "0.3.2", "2026-02-02", yanked=True)
    server.publish("inner", "0.3.3", "2026-04-01")
    server.publish("inner", "0.4.0", "2026-01-02")
    server.publish("outer", "1.0.0", "2026-01-01", "^0.3.0")
    server.publish("outer", "1.1.0", "2026-03-01", "^0.3")
    server.publish("outer", "1.1.1", "2026-03-02", "^0.3", yanked=True)
    thread = threading.Thread(target=server.http.serve_forever, daemon=True)
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()


def test_versions_with_their_dates() -> None:
    assert OUTER.versions() == ["1.0.0", "1.1.0"], "without the withdrawn one"
    assert OUTER.find("1.1.0") == Published("1.1.0", "2026-03-01")
    assert OUTER.find("1.1.1") == Published("1.1.1", "2026-03-02"), "a withdrawn one can be measured, too"
    assert OUTER.find("1.2.0") is None


def test_crates_come_with_those_that_were_newest_when_they_were_released(tmp_path: Path) -> None:
    said = OUTER.fetch("thing", "1.1.0", tmp_path / "into")
    assert [part.split(" sha256:")[0] for part in said.split(", ")] == ["outer 1.1.0", "inner 0.3.1"]
    assert '"1.1.0"' in (tmp_path / "into" / "outer" / "src" / "lib.rs").read_text()
    assert '"0.3.1"' in (tmp_path / "into" / "inner" / "src" / "lib.rs").read_text()
    assert 'members = ["outer", "inner"]' in (tmp_path / "into" / "Cargo.toml").read_text()


def test_an_archive_with_another_digest_than_the_registrys_is_refused(tmp_path: Path, server: Server) -> None:
    server.spoil("outer", "1.0.0")
    with pytest.raises(MachineError, match=r"the registry of crates cannot be asked for outer: .*checksum"):
        OUTER.fetch("thing", "1.0.0", tmp_path / "into")


def test_a_registry_that_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARGO_NET_OFFLINE", "true")
    with pytest.raises(MachineError, match="the registry of crates cannot be asked for outer"):
        OUTER.find("1.0.0")


@pytest.mark.parametrize(
    ("version", "required", "holds"),
    [
        ("0.3.1", "^0.3.0", True),
        ("0.3.1", "0.3", True),
        ("0.4.0", "^0.3.0", False),
        ("0.2.9", "^0.3.0", False),
        ("1.9.0", "^1.2.3", True),
        ("1.2.2", "^1.2.3", False),
        ("2.0.0", "^1.2.3", False),
        ("0.0.4", "^0.0.3", False),
        ("1.2.4-rc.1", "^1.2.3", False),
        ("1.2.3", "=1.2.3", False),
        ("1.2.3", "*", False),
    ],
)
def test_requirements(version: str, required: str, holds: bool) -> None:
    assert fits(version, required) is holds
