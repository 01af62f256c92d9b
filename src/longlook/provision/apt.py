"""Fetches packages of Debian without touching the machine's own: with a private apt state that needs no root.

The mirror is taken from the machine's own package sources; proxies, credentials and certificates of its apt.conf stay
in force. apt verifies every index against Debian's keyring, and every package against its index.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longlook.core import MachineError, file_digest
from longlook.provision.build_steps import BuildProgress, run

INSTEAD = "or set LONGLOOK_KERNEL to a kernel built after kernel/README.md, or use `--engine live`"
NETWORK_HINT = f"this needs the network once, and a rerun continues; {INSTEAD}"

_SUITES = frozenset(
    (
        *("oldoldstable", "oldstable", "stable", "testing", "unstable", "sid"),
        *("bullseye", "bookworm", "trixie", "forky", "duke"),
    )
)
_KEYRINGS = tuple(f"/usr/share/keyrings/debian-archive-keyring.{ending}" for ending in ("gpg", "pgp"))
_CLEARED = (  # settings of a machine's apt.conf that would act on the machine, or fail with a private state
    *("APT::Update::Pre-Invoke", "APT::Update::Post-Invoke", "APT::Update::Post-Invoke-Success"),
    *("DPkg::Pre-Invoke", "DPkg::Post-Invoke", "APT::Default-Release", "Acquire::Languages"),
)


@dataclass(frozen=True)
class SourceEntry:
    """One entry of a machine's package sources, with the fields that matter here."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str | None = None  # path of a keyring, or any other value of the field


@dataclass(frozen=True)
class Mirror:
    """The mirror from which this machine gets Debian's main archive, and the suite it runs."""

    uri: str
    suite: str


@dataclass(frozen=True)
class Package:
    """One version of a package as the signed index describes it."""

    name: str
    version: str
    architecture: str
    size: int  # bytes
    sha256: str
    depends: str = ""
    path: str = ""  # in the archive, below the mirror's address

    @property
    def file_name(self) -> str:
        """Return the file name that `apt-get download` gives it."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"


def machine_mirror(etc: Path = Path("/etc")) -> Mirror:
    """Return the mirror of Debian's main archive in this machine's sources; raise MachineError if no source has one."""
    mirror = choose_mirror(machine_entries(etc / "apt"), _codename(etc / "os-release"))
    if mirror is None:
        raise MachineError(
            "this machine's package sources name no mirror of Debian, from which the guest kernel is made",
            f"add one, {INSTEAD}",
        )
    return mirror


def machine_entries(apt: Path) -> list[SourceEntry]:
    """Return every entry that is in force below /etc/apt; files that cannot be read are ignored."""
    entries: list[SourceEntry] = []
    for file in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))):
        try:
            if file.suffix == ".list":
                entries += parse_one_line(file.read_text())
            elif file.suffix == ".sources":
                entries += parse_deb822(file.read_text())
        except (OSError, UnicodeDecodeError):
            continue
    return entries


def parse_one_line(text: str) -> Iterator[SourceEntry]:
    """Yield the entries of a `.list` file: `deb [options] URI SUITE COMPONENT…`."""
    for line in text.splitlines():
        found = re.fullmatch(r"deb\s+(?:\[([^]]*)\]\s*)?(\S+)\s+(\S+)\s*(.*)", line.partition("#")[0].strip())
        if found:
            options = dict(part.split("=", 1) for part in (found[1] or "").split() if "=" in part)
            yield SourceEntry((found[2],), (found[3],), tuple(found[4].split()), options.get("signed-by"))


def parse_deb822(text: str) -> Iterator[SourceEntry]:
    """Yield the enabled binary entries of a `.sources` file (stanzas of `Field: value`)."""
    for stanza in re.split(r"\n\s*\n", "\n".join(line for line in text.splitlines() if not line.startswith("#"))):
        fields = parse_stanza(stanza)
        if fields.get("enabled", "yes").lower() in {"no", "false", "0", "off"}:
            continue
        if "deb" in fields.get("types", "").split():
            uris, suites, components = (
                tuple(fields.get(name, "").split()) for name in ("uris", "suites", "components")
            )
            yield SourceEntry(uris, suites, components, fields.get("signed-by"))


def parse_stanza(stanza: str) -> dict[str, str]:
    """Return the fields of one stanza, names in lower case; continuation lines belong to the field above."""
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line[:1].isspace():
            if name:
                fields[name] += f"\n{line.strip()}"
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
    return fields


def choose_mirror(entries: Sequence[SourceEntry], codename: str | None) -> Mirror | None:
    """Return the likeliest mirror of Debian's main archive, None if no entry looks like one.

    Third parties publish suites of the same names. Their entries have a keyring of their own, or have neither Debian's
    keyring, nor the archive's name in their address, nor the updates that go with a release.
    """
    best: tuple[int, Mirror] | None = None
    for entry in entries:
        suites = [suite for suite in entry.suites if suite in _SUITES or suite == codename]
        if not suites or "main" not in entry.components or not _debian_signed(entry):
            continue
        uri = next((uri for uri in entry.uris if not uri.startswith(("cdrom:", "file:", "copy:"))), None)
        signs = (
            3 * (entry.signed_by is not None)
            + 2 * (uri is not None and re.search(r"/debian(\.list)?/?$", uri) is not None)
            + 1 * any(suite.endswith("-updates") for suite in entry.suites)
        )
        if uri is None or signs == 0:
            continue
        suite = codename if codename in suites else suites[0]
        score = 2 * signs + (suite == codename)
        if best is None or score > best[0]:
            best = (score, Mirror(uri, suite or suites[0]))
    return best[1] if best else None


def _debian_signed(entry: SourceEntry) -> bool:
    return entry.signed_by is None or Path(entry.signed_by).name.startswith("debian-archive")


def _codename(os_release: Path) -> str | None:
    """Return the suite that this machine runs, None if it does not run Debian."""
    try:
        lines = os_release.read_text().splitlines()
    except OSError:
        return None
    facts = {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}
    return facts.get("VERSION_CODENAME") if facts.get("ID") == "debian" else None


def archive_keyring() -> str:
    """Return the path of the keyring of Debian's archive; raise MachineError if it is not installed."""
    for keyring in _KEYRINGS:
        if Path(keyring).is_file():
            return keyring
    raise MachineError("the keys of Debian's archive are missing", "sudo apt-get install debian-archive-keyring")


class PrivateApt:
    """apt with one suite, and with its state, cache and configuration below `folder`."""

    def __init__(self, folder: Path, mirror_uri: str, suite: str, keyring: str, log: Path) -> None:
        """Write the configuration; nothing is fetched yet."""
        self.suite = suite
        self._mirror_uri = mirror_uri
        self._log = log
        self._configuration = folder / "apt.conf"
        for part in ("state/lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "state" / "status").touch()
        (folder / "sources.list").write_text(source_line(mirror_uri, suite, keyring))
        self._configuration.write_text(configuration(folder))

    def update(self) -> None:
        """Fetch and verify the suite's index."""
        run(self._command("apt-get", "-q", "update"), self._log, env=_environment(), hint=NETWORK_HINT)

    def names(self, prefix: str) -> list[str]:
        """Return the names of all packages that begin with a prefix."""
        return sorted(self._ask("apt-cache", "pkgnames", prefix).split())

    def show(self, name: str, version: str | None = None) -> Package | None:
        """Return a version of a package, the newest by default; None if the suite has none (or a virtual one)."""
        wanted = name if version is None else f"{name}={version}"
        fields = parse_stanza(self._ask("apt-cache", "show", "--no-all-versions", wanted).partition("\n\n")[0])
        if fields.get("package") != name:
            return None
        depends = ", ".join(filter(None, (fields.get("pre-depends"), fields.get("depends"))))
        return Package(
            name,
            fields["version"],
            fields["architecture"],
            int(fields["size"]),
            fields["sha256"],
            depends,
            fields.get("filename", ""),
        )

    def download(self, package: Package, into: Path, say: Callable[[str], None]) -> Path:
        """Download a package of the index into the folder `into`, check its digest and return the file.

        An interrupted download is continued. Raise MachineError if it fails, or the digest is not the index's.
        """
        return self._download(package, self._uri, into, say)

    def download_unlisted(self, package: Package, into: Path, say: Callable[[str], None]) -> Path | None:
        """Download a package that the index has no more, as `download` does; None if the mirror lacks it too.

        Its digest alone says that it is the right one.
        """
        try:
            return self._download(package, lambda package: f"{self._mirror_uri.rstrip('/')}/{package.path}", into, say)
        except MachineError as error:
            if re.search(r"\b(404|410)\b|File not found", error.message):
                return None
            raise

    def _download(
        self, package: Package, uri: Callable[[Package], str], into: Path, say: Callable[[str], None]
    ) -> Path:
        file = into / package.file_name
        if is_file_of(package, file):
            return file
        into.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.name}.part")
        progress = BuildProgress(say, f"downloading {package.name}", step=20)
        try:
            run(
                # `apt-get download` would start from the beginning where a part is there
                self._command(_helper(), "download-file", uri(package), str(part), f"SHA256:{package.sha256}"),
                self._log,
                env=_environment(),
                hint=NETWORK_HINT,
                each=lambda line: progress.at(downloaded(line)),
            )
        finally:
            if part.exists() and part.stat().st_size >= package.size and not is_file_of(package, part):
                part.unlink()  # it cannot be continued: the next attempt starts from the beginning
        if not is_file_of(package, part):
            raise MachineError(
                f"{package.file_name} is not the file with the SHA-256 {package.sha256}",
                "run it again; if it stays so, do not trust the mirror",
            )
        return part.rename(file)

    def _uri(self, package: Package) -> str:
        what = f"{package.name}={package.version}"
        found = re.search(r"^'([^']+)' ", self._ask("apt-get", "--print-uris", "download", what), re.MULTILINE)
        if found is None:
            raise MachineError(f"apt does not print the address of {what}", NETWORK_HINT)
        return found[1]

    def _command(self, program: str, *arguments: str) -> list[str]:
        return [program, "-c", str(self._configuration), *arguments]

    def _ask(self, program: str, *question: str) -> str:
        done = subprocess.run(
            self._command(program, *question),
            capture_output=True,
            text=True,
            check=False,
            env=_environment(),
            cwd=self._configuration.parent,
        )
        return done.stdout


def _helper() -> str:
    """Return apt's own downloader, which is not in PATH."""
    return shutil.which("apt-helper", path=f"{os.environ.get('PATH', os.defpath)}:/usr/lib/apt") or "apt-helper"


def is_file_of(package: Package, file: Path) -> bool:
    """Return whether `file` is there and is exactly the file that the index describes."""
    return file.is_file() and file.stat().st_size == package.size and file_digest(file) == package.sha256


def expect_apt() -> None:
    """Raise MachineError if this machine has no apt."""
    for program in ("apt-get", "apt-cache", "dpkg-deb", "dpkg-query"):
        if shutil.which(program) is None:
            raise MachineError(f"the guest kernel is made from a Debian package, and {program} is missing", INSTEAD)


def source_line(uri: str, suite: str, keyring: str) -> str:
    """Return the line of a sources.list for one suite, which fetches only the list of its packages."""
    return f"deb [arch=amd64 signed-by={keyring} target=Packages] {uri} {suite} main\n"


def configuration(folder: Path) -> str:
    """Return apt's settings; they are read after the machine's own and so override them."""
    settings = {
        "Dir::State": folder / "state",
        "Dir::State::lists": folder / "state" / "lists",
        "Dir::State::status": folder / "state" / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Cache::archives": folder / "cache" / "archives",
        "Dir::Cache::pkgcache": folder / "cache" / "pkgcache.bin",  # images of containers often switch it off
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferences": "-",
        "Dir::Etc::preferencesparts": "-",
        "APT::Sandbox::User": "",
        "APT::Architecture": "amd64",
        "APT::Update::Error-Mode": "any",  # without it an unreachable mirror is a mere warning
        "APT::Status-Fd": "1",
        "Acquire::Languages": "none",
        "Acquire::PDiffs": "false",
        "Acquire::AllowInsecureRepositories": "false",
        "Acquire::AllowDowngradeToInsecureRepositories": "false",
        "APT::Get::AllowUnauthenticated": "false",
    }
    lines = [f"#clear {name};" for name in _CLEARED] + [f'{name} "{value}";' for name, value in settings.items()]
    return "\n".join(lines) + "\n"


def downloaded(line: str) -> float:
    """Return the percentage of a download that apt reports in a line of its status, 0 for other lines."""
    found = re.match(r"dlstatus:\d+:([\d.]+):", line)
    return float(found[1]) if found else 0.0


def _environment() -> Mapping[str, str]:
    return {**os.environ, "LC_ALL": "C"}
