"""Programs in Go whose sources are the main module, beside an adapter in Python; the proxy of modules is a folder."""

import subprocess
from pathlib import Path

import pytest

from longlook.core import InputError, MachineError, SourceTree
from longlook.core.paths import adapters_dir
from longlook.provision.go_main import SUMS, GoMain
from longlook.stacks.caddy import STACK
from tests.support.go_proxy import GoProxy

MODULE = "example.org/serve"
SERVE = GoMain("serve", MODULE, "./cmd/serve", "small", "serve_bin")
GO_MOD = f"module {MODULE}\n\ngo 1.21\n"
MAIN = f'package main\n\nimport "{MODULE}"\n\nfunc main() {{ println(serve.Answer()) }}\n'
FILES = {
    "go.mod": GO_MOD,
    "cmd/serve/main.go": MAIN,
    "small.go": "//go:build small\n\npackage serve\n\nfunc Answer() int { return 42 }\n",
    "large.go": "//go:build !small\n\npackage serve\n\nfunc Answer() int { return 1 }\n",
}


@pytest.fixture(autouse=True)
def adapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    GoProxy(tmp_path, monkeypatch).publish(MODULE, FILES)
    monkeypatch.setenv("LONGLOOK_ADAPTERS", str(tmp_path / "adapters"))
    adapter = tmp_path / "adapters" / "serve"
    adapter.mkdir(parents=True)
    (adapter / "serve_main.py").write_text("")
    (tmp_path / "adapters" / "lib" / "python").mkdir(parents=True)
    return adapter


def tree(**changed: str) -> SourceTree:
    made = SourceTree("serve", "main-1234567", "1.0.0", "./serve", str(sorted(changed.items())))
    for name, text in {**FILES, **changed}.items():
        (made.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / name).write_text(text)
    return made


def answer(path: str) -> str:
    program = Path(path).with_name("serve")
    return subprocess.run((str(program),), capture_output=True, text=True, check=True).stderr.strip()


def test_the_program_of_the_sources_is_where_the_adapter_finds_it_with_the_version_that_it_reports() -> None:
    made = tree()
    sources = SERVE.from_sources
    assert not sources.is_built(made)
    program = sources.build(made)
    assert sources.is_built(made)
    assert answer(program.path) == "42"
    records = list(Path(program.path).parents[1].glob("lib/python3*/site-packages/*.dist-info"))
    assert [record.name for record in records] == ["serve_bin-1.0.0+sources.dist-info"]
    assert not list(made.folder.rglob("serve"))[1:]


def test_a_module_may_be_replaced_by_a_folder_of_the_sources_and_by_none_elsewhere() -> None:
    inner = {"inner/go.mod": "module example.org/inner\n\ngo 1.21\n", "inner/code.go": "package inner\n\nconst A = 7\n"}
    uses = '//go:build small\n\npackage serve\n\nimport "example.org/inner"\n\nfunc Answer() int { return inner.A }\n'
    mod = f"{GO_MOD}\nrequire example.org/inner v1.0.0\n\nreplace example.org/inner => ./inner\n"
    made = tree(**inner, **{"go.mod": mod, "small.go": uses})
    assert SERVE.from_sources.state_version(made.folder) == ""
    assert answer(SERVE.from_sources.build(made).path) == "7"
    for outside in ("../inner", "/inner", "./a/../../inner"):
        (made.folder / "go.mod").write_text(mod.replace("./inner", outside))
        with pytest.raises(InputError, match=r"go\.mod replaces example\.org/inner by the folder"):
            SERVE.from_sources.state_version(made.folder)


def test_sources_of_another_project_are_refused() -> None:
    with pytest.raises(InputError, match=r"the sources are those of example\.org/other"):
        SERVE.from_sources.state_version(tree(**{"go.mod": "module example.org/other\n"}).folder)


def test_a_release_that_has_not_the_repositorys_checksum_is_not_unpacked(adapters: Path, tmp_path: Path) -> None:
    (adapters / SUMS).write_text(f"{MODULE} v1.0.0 h1:other=\n")
    with pytest.raises(MachineError, match=r"has the checksum h1:.*sources\.sum has h1:other="):
        SERVE.from_sources.unpack("1.0.0", tmp_path / "into")
    download = ("go", "mod", "download", "-json", f"{MODULE}@v1.0.0")
    said = subprocess.run(download, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    checksum = next(line.split('"')[3] for line in said.splitlines() if '"Sum"' in line)
    (adapters / SUMS).write_text(f"{MODULE} v1.0.0 {checksum}\n")
    SERVE.from_sources.unpack("1.0.0", tmp_path / "into")
    assert (tmp_path / "into" / "small.go").read_text() == FILES["small.go"]


def test_every_release_of_caddy_has_a_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LONGLOOK_ADAPTERS")
    lines = [line.split() for line in (adapters_dir() / "caddy" / SUMS).read_text().splitlines()]
    assert [version for _, version, _ in lines] == [f"v{name}" for name in STACK.version_names]
    assert all(module == "github.com/caddyserver/caddy/v2" and sum_.startswith("h1:") for module, _, sum_ in lines)
