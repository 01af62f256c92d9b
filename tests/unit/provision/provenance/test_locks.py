"""Lock files: what they hold is read whole, and where a package depends on others, only those."""

from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from longlook.core.paths import adapters_dir
from longlook.provision.provenance.locks import checksums, crates, locked, modules, requirements

CARGO = f"""version = 4

[[package]]
name = "ours"
version = "0.0.1"
dependencies = ["used", "twice 2.0.0"]

[[package]]
name = "used"
version = "1.0.0"
source = "registry+https://index.invalid"
checksum = "{"a" * 64}"
dependencies = ["ours"]

[[package]]
name = "twice"
version = "1.0.0"
source = "registry+https://index.invalid"
checksum = "{"b" * 64}"

[[package]]
name = "twice"
version = "2.0.0"
source = "registry+https://index.invalid"
checksum = "{"c" * 64}"
"""

PIP = f"""\
numpy==2.4.6 ; python_version < '3.12' \\
    --hash=sha256:{"a" * 64} \\
    --hash=sha256:{"b" * 64}
    # via something==1.0
numpy==2.5.0 ; python_version >= '3.12' \\
    --hash=sha256:{"c" * 64}
typing_extensions==4.16.0 \\
    --hash=sha256:{"d" * 64}
"""

PRINTED = """\
/program: go1.26.8
\tpath\tlonglook.example/adapter
\tmod\tlonglook.example/adapter\t(devel)\t
\tdep\tgolang.org/x/net\tv0.56.0\th1:net=
\tdep\tgithub.com/quic-go/quic-go\tv0.65.0
\t=>\t./library\t(devel)\t
\tbuild\t-trimpath=true
"""


def test_crates_of_a_lock_file(tmp_path: Path) -> None:
    (tmp_path / "Cargo.lock").write_text(CARGO)
    everything = [(each.name, each.version) for each in crates(tmp_path / "Cargo.lock")]
    assert everything == [("used", "1.0.0"), ("twice", "1.0.0"), ("twice", "2.0.0")]
    needed = crates(tmp_path / "Cargo.lock", ["ours"])
    assert [(each.name, each.version) for each in needed] == [("twice", "2.0.0"), ("used", "1.0.0")]
    assert needed[0].digests == (f"sha256:{'c' * 64}",)


def test_packages_of_a_requirements_file(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "one.txt").write_text(PIP)
    found = requirements(tmp_path / "one.txt")
    assert list(found) == [("numpy", "2.4.6"), ("numpy", "2.5.0"), ("typing-extensions", "4.16.0")]
    assert found["numpy", "2.4.6"].digests == (f"sha256:{'a' * 64}", f"sha256:{'b' * 64}")
    assert locked("Typing_Extensions", "4.16.0", found).digests == (f"sha256:{'d' * 64}",)
    assert locked("typing-extensions", "4.17.0", found).vouched_by == snapshot


def test_modules_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "go.sum").write_text(
        "github.com/quic-go/quic-go v0.65.0 h1:quic=\ngithub.com/quic-go/quic-go v0.65.0/go.mod h1:mod=\n"
    )
    found = modules(PRINTED, checksums(tmp_path / "go.sum"), "go.sum")
    assert [(each.name, each.digests) for each in found] == [
        ("golang.org/x/net", ("h1:net=",)),
        ("github.com/quic-go/quic-go", ("h1:quic=",)),  # patched: the program names none
    ]


def test_every_lock_file_of_the_adapters_is_read() -> None:
    cargo = sorted(adapters_dir().glob("*/versions/*/Cargo.lock"))
    assert cargo
    for lock in cargo:
        assert len(crates(lock)) > 50
    python = sorted(adapters_dir().glob("*/locks/*.txt"))
    assert python
    for lock in python:
        found = requirements(lock)
        assert len(found) == sum("==" in line for line in lock.read_text().splitlines())  # none: Python itself
        assert all(each.digests for each in found.values())
        assert all("in the repository" in each.vouched_by for each in found.values())
