from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.core.errors import MachineError
from longlook.provision.apt import (
    Mirror,
    SourceEntry,
    choose_mirror,
    configuration,
    downloaded,
    machine_entries,
    machine_mirror,
    parse_deb822,
    parse_one_line,
    source_line,
)

DEB822 = """\
Types: deb
# a remark within
URIs: http://mirror.invalid/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://mirror.invalid/debian-security
Suites: bookworm-security
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.invalid/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source.invalid/debian
Suites: bookworm
Components: main
"""

THIRD_PARTIES = [
    SourceEntry(("https://php.invalid/php",), ("bookworm",), ("main",), "/usr/share/keyrings/php.gpg"),
    SourceEntry(("https://charts.invalid/apt",), ("stable",), ("main",)),
    SourceEntry(
        ("https://containers.invalid/linux/debian",), ("bookworm",), ("stable",), "/etc/apt/keyrings/containers.asc"
    ),
    SourceEntry(("https://cloud.invalid/apt",), ("cloud-sdk-bookworm",), ("main",)),
    SourceEntry(("http://mirror.invalid/debian-security",), ("bookworm-security",), ("main",)),
]


def test_deb822_entries() -> None:
    main, security = parse_deb822(DEB822)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    assert main == SourceEntry(("http://mirror.invalid/debian",), ("bookworm", "bookworm-updates"), ("main",), keyring)
    assert security.suites == ("bookworm-security",)


def test_deb822_key_in_the_entry_is_a_third_partys() -> None:
    (entry,) = parse_deb822(
        "Types: deb\nURIs: http://x.invalid/debian\nSuites: stable\nComponents: main\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"
    )
    assert choose_mirror([entry], "bookworm") is None


def test_one_line_entries() -> None:
    text = """\
# deb http://remark.invalid/debian bookworm main
deb http://mirror.invalid/debian/ trixie main contrib # my mirror
deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://other.invalid/d bookworm main
deb-src http://mirror.invalid/debian trixie main
deb http://flat.invalid/ ./
"""
    plain, signed, flat = parse_one_line(text)
    assert plain == SourceEntry(("http://mirror.invalid/debian/",), ("trixie",), ("main", "contrib"))
    assert signed.signed_by == "/usr/share/keyrings/debian-archive-keyring.gpg"
    assert flat.components == ()


@pytest.mark.parametrize(
    ("entry", "codename", "suite"),
    [
        (
            SourceEntry(("http://m.invalid/debian",), ("bookworm", "bookworm-updates"), ("main",)),
            "bookworm",
            "bookworm",
        ),
        (SourceEntry(("http://m.invalid/debian/",), ("stable",), ("main", "contrib")), "bookworm", "stable"),
        (SourceEntry(("http://m.invalid/debian",), ("unstable",), ("main",)), None, "unstable"),
        (
            SourceEntry(("mirror+file:/etc/apt/mirrors/debian.list",), ("trixie", "trixie-updates"), ("main",)),
            "trixie",
            "trixie",
        ),
        (
            SourceEntry(("http://m.invalid/proxy/7",), ("zurg",), ("main",), "/k/debian-archive-keyring.pgp"),
            "zurg",
            "zurg",
        ),
        (SourceEntry(("cdrom:[Debian]/", "http://m.invalid/debian"), ("trixie",), ("main",)), "trixie", "trixie"),
    ],
)
def test_mirrors_of_debian_are_recognised(entry: SourceEntry, codename: str | None, suite: str) -> None:
    assert choose_mirror([*THIRD_PARTIES, entry], codename) == Mirror(entry.uris[-1], suite)


def test_third_parties_are_not_taken_for_debian() -> None:
    assert choose_mirror(THIRD_PARTIES, "bookworm") is None


def test_own_suite_comes_before_others() -> None:
    others = [
        SourceEntry((f"http://{name}.invalid/debian",), (name,), ("main",)) for name in ("sid", "trixie", "testing")
    ]
    assert choose_mirror(others, "trixie") == Mirror("http://trixie.invalid/debian", "trixie")


def test_files_of_both_formats_are_read_and_broken_ones_passed_over(tmp_path: Path) -> None:
    parts = tmp_path / "apt" / "sources.list.d"
    parts.mkdir(parents=True)
    (parts / "debian.sources").write_text(DEB822)
    (parts / "third.list").write_text("deb http://third.invalid/apt stable main\n")
    (parts / "broken.list").write_bytes(b"\xff\xfe")
    (parts / "old.list.save").write_text("deb http://old.invalid/debian stable main\n")
    (tmp_path / "os-release").write_text('ID=debian\nVERSION_CODENAME="bookworm"\n')
    assert len(machine_entries(tmp_path / "apt")) == 3
    assert machine_mirror(tmp_path) == Mirror("http://mirror.invalid/debian", "bookworm")


def test_machine_without_debian_gives_a_hint(tmp_path: Path) -> None:
    (tmp_path / "apt").mkdir()
    (tmp_path / "apt" / "sources.list").write_text("deb http://archive.invalid/ubuntu noble main universe\n")
    (tmp_path / "os-release").write_text("ID=ubuntu\nVERSION_CODENAME=noble\n")
    with pytest.raises(MachineError) as caught:
        machine_mirror(tmp_path)
    assert "LONGLOOK_KERNEL" in (caught.value.hint or "")
    assert "--engine live" in (caught.value.hint or "")


def test_options_keep_apt_in_its_folder(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    options = configuration(tmp_path)
    for name in ("Dir::State", "Dir::State::lists", "Dir::State::status", "Dir::Cache", "Dir::Etc::sourcelist"):
        assert f'\n{name} "{tmp_path}/' in options
    for line in ('Dir::Etc::sourceparts "-";', 'APT::Sandbox::User "";', "#clear APT::Update::Post-Invoke;"):
        assert line in options
    assert 'Acquire::AllowInsecureRepositories "false";' in options
    assert source_line("http://m.invalid/debian", "sid", "/k.gpg") == snapshot


@pytest.mark.parametrize(
    ("line", "percent"), [("dlstatus:1:45.2500:Retrieving file 1 of 1\n", 45.25), ("Get:1 http://m.invalid\n", 0.0)]
)
def test_progress_of_a_download(line: str, percent: float) -> None:
    assert downloaded(line) == percent
