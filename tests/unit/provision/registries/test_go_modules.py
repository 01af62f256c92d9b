"""The proxy of Go's modules, which is a folder here, is asked by the go command."""

from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.provision.registries.go_modules import GoModules
from longlook.provision.registries.registry import Published
from tests.support.go_proxy import GoProxy

NOW, BEFORE = "example.org/new/lib", "example.org/old/lib"
LIB = GoModules((NOW, BEFORE))


@pytest.fixture(autouse=True)
def proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GoProxy:
    proxy = GoProxy(tmp_path, monkeypatch)
    proxy.publish(BEFORE, {"go.mod": f"module {BEFORE}\n"}, "0.1.0", "2024-05-06")
    for version in ("0.9.0", "0.10.0", "0.11.0-rc.1"):
        proxy.publish(NOW, {"go.mod": f"module {NOW}\n", "code.go": "package lib\n"}, version, "2026-03-04")
    return proxy


def test_versions_of_all_names_with_their_dates() -> None:
    assert sorted(LIB.versions()) == ["0.1.0", "0.10.0", "0.11.0-rc.1", "0.9.0"]
    assert LIB.find("0.10.0") == Published("0.10.0", "2026-03-04")
    assert LIB.find("0.1.0") == Published("0.1.0", "2024-05-06"), "under the name that it had then"
    assert LIB.find("0.10.1") is None


def test_sources_come_with_the_checksum_that_go_has_compared(tmp_path: Path) -> None:
    said = LIB.fetch("lib", "0.10.0", tmp_path / "into")
    assert said.startswith(f"{NOW}@v0.10.0 h1:")
    assert (tmp_path / "into" / "code.go").read_text() == "package lib\n"
    (tmp_path / "into" / "code.go").write_text("may be changed")


def test_a_proxy_that_gives_no_answer_is_not_one_without_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOPROXY", "http://127.0.0.1:1")
    with pytest.raises(MachineError, match=f"the proxy of Go's modules cannot be asked for {NOW}: .*refused"):
        LIB.find("0.10.0")
