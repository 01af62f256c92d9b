"""Programs and kernels of longlook-prebuilt stand in for builds from the same inputs, and are verified."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from longlook.core import paths
from longlook.core.digests import file_digest
from longlook.core.errors import InputError, MachineError
from longlook.core.job import Program
from longlook.provision import guest_kernel, prebuilt
from longlook.provision.build_cache import build, is_built
from longlook.provision.provenance.rebuilt import rebuild
from tests.unit.provision.test_guest_kernel import fake_build, quiet


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a cache of another machine."""
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "elsewhere"))
    monkeypatch.setenv(prebuilt.FOLDER, "")
    monkeypatch.delenv("LONGLOOK_KERNEL", raising=False)
    prebuilt.read_pins.cache_clear()


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "main.sh").write_text("#!/bin/sh\necho hello\n")
    return tmp_path / "sources"


def compiled(sources: Path, toolchain: str = "cc 12", recipe: str = "") -> Program:
    return build(
        "thing", "1.0", sources, lambda: toolchain, lambda work, out: shutil.move(work / "main.sh", out), recipe
    )


def no_toolchain() -> str:
    raise MachineError("cc is not installed", "install it")


def taken(sources: Path, recipe: str = "") -> Program:
    """Return the program on a machine that has no compiler."""

    def fail(_work: Path, _out: Path) -> None:
        raise AssertionError("it was built")

    return build("thing", "1.0", sources, no_toolchain, fail, recipe)


@pytest.fixture
def package(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package; from here on the cache is this machine's, and empty."""
    made = Path(compiled(sources).path).parent
    shutil.copytree(made, tmp_path / "package" / "stacks" / "thing" / "1.0")
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(prebuilt.FOLDER, str(tmp_path / "package"))
    return tmp_path / "package"


def pin(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install Longlook from a wheel that was made with this package."""
    files = [path for path in package.rglob("*") if path.is_file()]
    pins = tmp_path / "share" / prebuilt.PINS
    pins.parent.mkdir()
    pins.write_text(json.dumps({path.relative_to(package).as_posix(): file_digest(path) for path in files}))
    monkeypatch.setattr(prebuilt, "packed_file", lambda name: pins.parent / name)


def test_a_program_of_the_same_inputs_is_taken_without_a_compiler(package: Path, sources: Path) -> None:
    assert is_built("thing", "1.0", sources, no_toolchain)
    program = taken(sources)
    assert program.digest == file_digest(package / "stacks" / "thing" / "1.0" / "program")
    record = json.loads(Path(program.path).with_name("program.json").read_text())
    assert record["toolchain"] == "cc 12"
    assert Path(program.path).is_relative_to(paths.cache_dir())
    assert compiled(sources, "cc 13") == program


def test_other_sources_or_another_recipe_are_built(package: Path, sources: Path) -> None:
    assert compiled(sources, "cc 13", "-O3").path != taken(sources).path
    (sources / "main.sh").write_text("#!/bin/sh\necho bye\n")
    assert not is_built("thing", "1.0", sources, lambda: "cc 13")
    with pytest.raises(MachineError, match="cc is not installed"):
        taken(sources)
    assert compiled(sources, "cc 13").digest == file_digest(sources / "main.sh")


def test_an_empty_variable_means_that_everything_is_built(
    package: Path, sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(prebuilt.FOLDER, "")
    with pytest.raises(MachineError, match="cc is not installed"):
        taken(sources)
    monkeypatch.setenv(prebuilt.FOLDER, str(package / "missing"))
    with pytest.raises(InputError, match="there is no such folder"):
        taken(sources)


@pytest.mark.parametrize("name", ["program", "program.json"])
@pytest.mark.parametrize("pinned", [True, False])
def test_a_file_that_was_changed_is_refused(
    name: str, pinned: bool, package: Path, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if pinned:
        pin(package, tmp_path, monkeypatch)
        assert taken(sources).digest
    file = package / "stacks" / "thing" / "1.0" / name
    file.write_text(file.read_text().replace("hello", "evil").replace("sha256", "other"))
    says = "is not what Longlook's wheel was made with" if pinned else "is not what program.json beside it says"
    with pytest.raises(MachineError, match=says) as refused:
        taken(sources)
    assert "install the wheel again" in str(refused.value.hint)


def test_a_program_and_a_record_that_agree_are_refused_if_the_wheel_pins_others(
    package: Path, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin(package, tmp_path, monkeypatch)
    folder = package / "stacks" / "thing" / "1.0"
    (folder / "program").write_text("#!/bin/sh\necho evil\n")
    record = json.loads((folder / "program.json").read_text())
    (folder / "program.json").write_text(json.dumps({**record, "sha256": file_digest(folder / "program")}))
    with pytest.raises(MachineError, match="is not what Longlook's wheel was made with"):
        taken(sources)


def kernel_of(package: Path, **changes: Any) -> None:
    (package / "kernel").mkdir()
    made = fake_build(paths.kernel_dir(), package / "work", package / "kernel" / "linux")
    (package / "kernel" / "kernel.json").write_text(json.dumps({**made, **changes}))


def test_the_kernel_of_the_same_recipe_is_taken(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_of(package)
    assert guest_kernel.installed()
    assert guest_kernel.readiness().detail == "Linux 7.2.13-tt, of longlook-prebuilt"
    program = guest_kernel.kernel_program(quiet)
    assert program.digest == file_digest(package / "kernel" / "linux")
    assert guest_kernel.deviation() is None
    monkeypatch.setenv(prebuilt.FOLDER, "")
    assert guest_kernel.kernel_program(quiet) == program


def test_the_kernel_of_another_recipe_is_built_here(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_of(package, config="0" * 64)
    assert not guest_kernel.installed()
    monkeypatch.setattr(guest_kernel, "build_kernel", fake_build)
    record = json.loads(Path(guest_kernel.kernel_program(quiet).path).with_name("kernel.json").read_text())
    assert record["config"] != "0" * 64


def test_a_rebuilt_kernel_is_compared(
    package: Path, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(package / "stacks")
    kernel_of(package)
    monkeypatch.setattr(guest_kernel, "build_kernel", fake_build)
    cache = str(paths.cache_dir())
    (same,) = rebuild(quiet)
    assert same.is_same
    assert same.part == "kernel"
    (package / "kernel" / "linux").write_text("another\n")
    record = json.loads((package / "kernel" / "kernel.json").read_text())
    changed = {**record, "sha256": file_digest(package / "kernel" / "linux"), "gcc": "gcc 9"}
    (package / "kernel" / "kernel.json").write_text(json.dumps(changed))
    (other,) = rebuild(quiet)
    assert (other.is_same, other.brought, other.brought_by) == (False, changed["sha256"], "gcc 9")
    assert str(paths.cache_dir()) == cache
    monkeypatch.setenv(prebuilt.FOLDER, "")
    with pytest.raises(InputError, match="longlook-prebuilt is not installed"):
        list(rebuild(quiet))
