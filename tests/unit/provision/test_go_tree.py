"""Sources in Go that are no release: all that they require comes from the proxy of modules, which is a folder here."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from longlook.core import MachineError, SourceTree
from longlook.provision.go import compile_go
from tests.support.go_proxy import GoProxy

LIB, EXTRA = "example.org/lib", "example.org/extra"
GO_MOD = f"module {LIB}\n\ngo 1.21\n"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An assembled adapter, which is built with a library of the proxy."""
    proxy = GoProxy(tmp_path, monkeypatch, "direct")
    monkeypatch.setenv("GOTOOLCHAIN", "auto")
    proxy.publish(LIB, {"go.mod": GO_MOD, "code.go": "package lib\n\nfunc Answer() int { return 42 }\n"})
    code = "package extra\n\nfunc Answer() int { return 43 }\n"
    proxy.publish(EXTRA, {"go.mod": f"module {EXTRA}\n\ngo 1.21\n", "code.go": code})
    work = tmp_path / "cache" / "work"
    work.mkdir(parents=True)
    (work / "go.mod").write_text(f"module main\n\ngo 1.21\n\nrequire {LIB} v1.0.0\n")
    (work / "main.go").write_text(f'package main\n\nimport "{LIB}"\n\nfunc main() {{ println(lib.Answer()) }}\n')
    subprocess.run(("go", "mod", "tidy"), cwd=work, check=True, capture_output=True)
    return work


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The way to every host for a program that knows the variables for proxies."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
            monkeypatch.setenv(name, address)
        yield server


def tree(mod: str = GO_MOD, code: str = "package lib\n\nfunc Answer() int { return 41 }\n", **more: str) -> SourceTree:
    made = SourceTree("thing", "main-1234567", "1.0.0", "./lib", "d1")
    made.folder.mkdir(parents=True)
    for name, text in {"go.mod": mod, "code.go": code, **more}.items():
        (made.folder / name).write_text(text)
    return made


def answer(work: Path, of: SourceTree) -> str:
    out = work.with_name("program")
    compile_go(work, out, LIB, None, of)
    return subprocess.run((str(out),), capture_output=True, text=True, check=True).stderr.strip()


USES_EXTRA = f'package lib\n\nimport "{EXTRA}"\n\nfunc Answer() int {{ return extra.Answer() }}\n'


def test_a_tree_stands_in_for_the_library_and_its_requirements_come_from_the_proxy(work: Path) -> None:
    assert answer(work, tree(f"{GO_MOD}\nrequire {EXTRA} v1.0.0\n", USES_EXTRA)) == "43"


@pytest.mark.parametrize(
    "mod",
    [
        f"{GO_MOD}\nrequire {EXTRA} v1.0.0\nreplace {EXTRA} => elsewhere.invalid/extra v1.0.0\n",
        f"{GO_MOD}\nrequire {EXTRA} v1.2.0\n",
    ],
    ids=["another host", "a version that the proxy lacks"],
)
def test_no_host_that_sources_name_is_asked(mod: str, work: Path, listener: socket.socket) -> None:
    with pytest.raises(MachineError, match="failed with exit code"):
        answer(work, tree(mod, USES_EXTRA))
    with pytest.raises(TimeoutError):
        listener.accept()


def test_a_compiler_that_sources_ask_for_is_not_fetched(work: Path, listener: socket.socket) -> None:
    wanted = GO_MOD.replace("go 1.21", "go 1.99.0\n\ntoolchain go1.99.0")
    with pytest.raises(MachineError, match=r"requires go >= 1\.99"):
        answer(work, tree(wanted))
    with pytest.raises(TimeoutError):
        listener.accept()


def test_settings_that_lie_in_sources_do_not_count(work: Path, listener: socket.socket) -> None:
    settings = "GOPROXY=https://elsewhere.invalid\nGOFLAGS=-mod=vendor -toolexec=/bin/false\nCGO_ENABLED=1\n"
    assert answer(work, tree(**{"go.env": settings, "env": settings})) == "41"
    with pytest.raises(TimeoutError):
        listener.accept()


def test_code_that_go_would_generate_or_compile_in_c_does_not_run(work: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    code = f"package lib\n\n//go:generate touch {outside}\nfunc Answer() int {{ return 40 }}\n"
    c = f'package lib\n\n// #cgo CFLAGS: -fplugin={outside}\nimport "C"\n'
    assert answer(work, tree(code=code, **{"c.go": c})) == "40"
    assert not outside.exists()


def test_an_unpacked_module_that_was_changed_is_compiled_into_no_tree(work: Path, tmp_path: Path) -> None:
    mod = f"{GO_MOD}\nrequire {EXTRA} v1.0.0\n"
    again = shutil.copytree(work, work.with_name("again"))
    answer(work, tree(mod, USES_EXTRA))
    (tmp_path / "modules" / f"{EXTRA}@v1.0.0" / "code.go").write_text(
        "package extra\n\nfunc Answer() int { return 1 }\n"
    )
    with pytest.raises(MachineError, match="dir has been modified"):
        answer(again, SourceTree("thing", "main-1234567", "1.0.0", "./lib", "d1"))
