"""Sources in Rust that are no release: what their manifests say, and how they stand in for crates of the registry.

They are copied below the program's manifest, into the folder `library`. There they are a workspace of their own, and
the program's manifest names the crates that they replace. Cargo heeds settings, patches and profiles of the program's
workspace alone: the sources' patches move there, and sources with settings that would change the program are refused.
"""

import json
import os
import re
import subprocess
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook.core import InputError, MachineError, adapters_dir
from longlook.provision.build_cache import toolchain_version
from longlook.provision.progress import report_step

LIBRARY = Path("library")
RUST_HINT = "install Rust with rustup, or sudo apt-get install cargo (1.85 or newer)"
_REGISTRY = "registry+"  # what the source of a crate of a registry begins with
_CRATES_IO = frozenset(("crates-io", "https://github.com/rust-lang/crates.io-index"))
_BLOCK = "[[package]]\n"
_SETTINGS = (".cargo/config.toml", ".cargo/config")
_TOOLCHAINS = ("rust-toolchain.toml", "rust-toolchain")
_WITHOUT_EFFECT = frozenset(
    ("alias", "cache", "cargo-new", "doc", "future-incompat-report", "http", "install", "net", "term")
)
"""Tables of cargo's settings that do not change what a program is compiled to."""


_NO_REPOSITORIES = {"CARGO_NET_GIT_FETCH_WITH_CLI": "true", "GIT_ALLOW_PROTOCOL": "none"}
"""Variables with which cargo fetches from no repository: sources could name any host."""


@dataclass(frozen=True)
class Crate:
    """A member of a workspace; `folder` is relative to the workspace's folder."""

    name: str
    version: str
    folder: Path
    dependencies: tuple[Mapping[str, Any], ...]  # as `cargo metadata` prints them

    @property
    def built_with(self) -> Iterator[Mapping[str, Any]]:
        """The dependencies, without dependencies of its tests alone."""
        return (each for each in self.dependencies if each["kind"] != "dev")


def read_crates(folder: Path) -> dict[str, Crate]:
    """Return the members of the workspace in a folder by name; InputError if cargo cannot read its manifests.

    Nothing of the sources runs, and nothing is fetched or written.
    """
    folder = folder.resolve()
    command = ("cargo", "metadata", "--no-deps", "--offline", "--format-version=1")
    try:
        done = subprocess.run(
            (*command, f"--manifest-path={folder / 'Cargo.toml'}"),
            cwd=adapters_dir(), capture_output=True, text=True, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise MachineError("cargo is not installed", RUST_HINT) from error
    if done.returncode != 0:
        said = " ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
        raise InputError(
            f"cargo cannot read the sources: {said.removeprefix('error: ')}",
            "name the folder of the whole workspace, with all that its manifests name by a path",
        )
    facts = json.loads(done.stdout)
    root = Path(facts["workspace_root"])
    if root != folder:
        raise InputError(f"the workspace of the sources is {root}", "name the folder of the whole workspace")
    return {each["name"]: _crate(each, root) for each in facts["packages"]}


def _crate(facts: Mapping[str, Any], root: Path) -> Crate:
    return Crate(
        facts["name"],
        facts["version"],
        Path(facts["manifest_path"]).parent.relative_to(root),
        tuple(facts["dependencies"]),
    )


def state_crate_version(folder: Path, libraries: Sequence[str], submodule: str = "") -> str:
    """Return the version of the first of `libraries` that sources state, "" if they have only others of them.

    InputError if they have none of these crates, or say anything about their build that would not be heeded.
    `submodule` is a folder in the first one with sources in C that its build script may name. It is empty if git was
    not asked to fetch it.
    """
    if not (folder / "Cargo.toml").is_file():
        raise InputError(
            f"the sources have no Cargo.toml, and are none of {libraries[0]}", "name the folder of the workspace"
        )
    manifest = _read(folder / "Cargo.toml")
    crates = read_crates(folder)
    if not (own := [name for name in libraries if name in crates]):
        raise InputError(
            f"the sources are those of {', '.join(sorted(crates)) or 'a workspace without members'}",
            f"name a folder with {libraries[0]}",
        )
    _expect_no_settings(folder)
    _expect_own_toolchain(folder)
    if "replace" in manifest:
        raise InputError("Cargo.toml has a table [replace]", "write it as [patch.crates-io], with a path")
    own_patches(folder)
    for crate in _reached(crates, own):
        _expect_inside(crate, folder)
    main = crates.get(libraries[0])
    if main is not None and submodule and _lacks(folder / main.folder, submodule):
        raise InputError(
            f"the sources have nothing in {main.folder / submodule}, a sub-module of their repository",
            "git submodule update --init --recursive, and name the folder: ./PATH",
        )
    return main.version if main is not None else ""


def _lacks(crate: Path, submodule: str) -> bool:
    """Return whether the build script of a crate names a folder in which there is nothing."""
    names = any(submodule in script.read_text(errors="replace") for script in crate.glob("**/build.rs"))
    return names and not any((crate / submodule).glob("*"))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name} of the sources cannot be read: {error}", "does cargo build succeed?") from error


def _expect_no_settings(folder: Path) -> None:
    for name in _SETTINGS:
        path = folder / name
        if not path.is_file():
            continue
        settings = _read(path)
        runners = all(each.keys() <= {"runner"} for each in settings.get("target", {}).values())
        if heeded := settings.keys() - _WITHOUT_EFFECT - ({"target"} if runners else set()):
            raise InputError(
                f"{name} sets {', '.join(sorted(heeded))}, and all programs are compiled with the same settings",
                f"remove {name}, or the tables that change what is compiled",
            )


def _expect_own_toolchain(folder: Path) -> None:
    path = next((folder / name for name in _TOOLCHAINS if (folder / name).is_file()), None)
    if path is None:
        return
    text = path.read_text().strip()
    table = _read(path).get("toolchain", {}) if text.startswith("[") or "=" in text else {"channel": text}
    named = str(table.get("channel") or table.get("path") or "")
    used = toolchain_version(("rustc", "--version"), RUST_HINT, adapters_dir()).split()[1]
    is_used = used == named or used.startswith(f"{named}.") or (named == "stable" and "-" not in used)
    if named and not is_used:
        raise InputError(
            f"{path.name} asks for Rust {named}, and the other programs are compiled with {used}",
            f"remove it, or compile all programs with that one: RUSTUP_TOOLCHAIN={named} longlook …",
        )


def own_patches(folder: Path) -> dict[str, Path]:
    """Return what the manifest of a workspace patches, name → folder below it; InputError for all other patches."""
    found: dict[str, Path] = {}
    for source, patches in _read(folder / "Cargo.toml").get("patch", {}).items():
        for name, patch in patches.items():
            path = patch.get("path") if isinstance(patch, dict) else None
            if source not in _CRATES_IO or path is None or "package" in patch or not _is_below(folder / path, folder):
                raise InputError(
                    f"Cargo.toml patches {name} of {source} by what is not in the sources",
                    "a path below the folder of the workspace",
                )
            found[name] = Path(os.path.normpath(path))
    return found


def _is_below(path: Path, folder: Path) -> bool:
    return Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder))


def _reached(crates: Mapping[str, Crate], names: Sequence[str]) -> list[Crate]:
    """Return the members of these names with the members that they are built with."""
    found: dict[str, Crate] = {}
    rest = list(names)
    while rest:
        crate = crates[rest.pop()]
        found[crate.name] = crate
        rest += [
            each["name"] for each in crate.built_with if each.get("path") and each["name"] in crates.keys() - found
        ]
    return list(found.values())


def _expect_inside(crate: Crate, folder: Path) -> None:
    for each in crate.built_with:
        if (path := each.get("path")) and not _is_below(Path(path), folder.resolve()):
            raise InputError(
                f"{crate.name} is built with {each['name']} in {path}, which is not in the sources",
                "name a folder that has both, or put a copy into the workspace",
            )
        if each["registry"] and not each["optional"]:
            raise InputError(
                f"{crate.name} is built with {each['name']} of the registry {each['registry']}",
                "put a copy into the workspace, and name it by its path",
            )
        if not each["optional"] and str(each["source"]).startswith("git+"):
            raise InputError(
                f"{crate.name} is built with {each['name']} of a repository, for which no digest vouches",
                "put a copy into the workspace, and name it by its path",
            )


@dataclass(frozen=True)
class StandIn:
    """Sources that stand in for crates of an adapter's lock."""

    folder: Path
    crates: tuple[Crate, ...]  # members of the workspace that the lock has, too
    patches: Mapping[str, Path]  # of the sources' own

    def manifest(self, text: str, version: str) -> str:
        """Return an adapter's manifest for its program from these sources; `version` is what that program reports."""
        text = re.sub(r'^version = "[^"]*"', f'version = "{version}"', text, count=1, flags=re.MULTILINE)
        text = text.replace('exclude = ["', f'exclude = ["{LIBRARY}", "', 1)
        for crate in self.crates:
            asked = rf'^({re.escape(crate.name)} = (?:\{{ version = )?)"=[^"]*"'
            text = re.sub(asked, rf'\g<1>"={crate.version}"', text, flags=re.MULTILINE)
        named = {**self.patches} | {crate.name: crate.folder for crate in self.crates}
        lines = (
            f"{name} = {{ path = {json.dumps(str(LIBRARY / folder), ensure_ascii=False)} }}"
            for name, folder in sorted(named.items())
        )
        return "\n".join((text, "[patch.crates-io]", *lines, ""))


def stand_in(folder: Path, lock: str) -> StandIn:
    """Return the sources in a folder as what stands in for crates of a lock: every member that the lock has, too."""
    named = {each["name"] for each in _packages(lock) if _is_of_registry(each)}
    workspace = read_crates(folder)
    crates = tuple(crate for name, crate in sorted(workspace.items()) if name in named)
    return StandIn(folder, crates, own_patches(folder))


def resolve_lock(work: Path, sources: StandIn, env: Mapping[str, str]) -> tuple[str, ...]:
    """Write the lock file of a program from sources beside its manifest, and return its changes; none if it is kept.

    `work` has the adapter's lock, whose versions stay wherever the sources' requirements allow it. For further crates
    versions of the sources' own lock come next, and then the newest, of which versions on this machine come first.
    InputError if a crate of the sources is not taken for the crate that it should replace.
    """
    path = work / "Cargo.lock"
    before = path.read_text()
    own_lock = sources.folder / "Cargo.lock"
    names = {crate.name for crate in sources.crates}
    path.write_text(_with_hints(before, own_lock.read_text() if own_lock.is_file() else "", names | {*sources.patches}))
    command, env = ("cargo", "update", "--workspace", "--quiet"), {**env, **_NO_REPOSITORIES}
    done = subprocess.run((*command, "--offline"), cwd=work, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        report_step("the sources need crates that are not here: asking the registry")
        done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MachineError(
            f"what the sources require cannot be had together with what the program requires:\n{done.stderr.strip()}",
            "if cargo build succeeds in the sources, they are of a version whose interface the program does not know",
        )
    after = path.read_text()
    _expect_taken(after, names)
    changes = lock_changes(before, after, names)
    report_step(f"the lock has changed: {', '.join(changes)}" if changes else "the lock is kept")
    return changes


def _expect_taken(lock: str, names: Collection[str]) -> None:
    packages = _packages(lock)
    for each in packages:
        if str(each.get("source", "")).startswith("git+"):
            raise InputError(
                f"{each['name']} comes from a repository, for which no digest vouches",
                "put a copy into the workspace, and name it by its path",
            )
        if each["name"] in names and _is_of_registry(each):
            asked = f"{each['name']} {each['version']}"
            by = sorted(other["name"] for other in packages if _depends(other, asked) and other is not each)
            raise InputError(
                f"{', '.join(by)} takes {asked} of the registry, and not the sources'",
                "the sources state a version that is not compatible with it: state one that is",
            )


def _depends(package: Mapping[str, Any], asked: str) -> bool:
    name, _, _ = asked.partition(" ")
    return any(each in (name, asked) or each.startswith(f"{asked} (") for each in package.get("dependencies", ()))


def lock_changes(before: str, after: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the crates of the registry that one lock has and the other has not, as `+name 1.2.3` and `-name 1.2.3`.

    Crates called by one of `names` do not count.
    """
    old, new = (
        {(each["name"], each["version"]) for each in _packages(lock) if _is_of_registry(each)}
        for lock in (before, after)
    )
    signs = {**dict.fromkeys(old - new, "-"), **dict.fromkeys(new - old, "+")}
    return tuple(f"{sign}{name} {version}" for (name, version), sign in sorted(signs.items()) if name not in names)


def _with_hints(lock: str, other: str, without: Collection[str]) -> str:
    """Return a lock without crates of these names, with those crates of another that it has in no compatible version.

    Cargo drops what nothing depends on.
    """
    head, *blocks = lock.split(_BLOCK)
    kept = [(each, block) for each, block in zip(_packages(lock), blocks, strict=True) if each["name"] not in without]
    known = {_series(each) for each, _ in kept}
    _, *blocks = other.split(_BLOCK)
    hints = [
        block
        for each, block in zip(_packages(other), blocks, strict=True)
        if "checksum" in each and each["name"] not in without and _series(each) not in known
    ]
    return "".join((head, *(f"{_BLOCK}{block.rstrip()}\n\n" for block in (*(block for _, block in kept), *hints))))


def _series(package: Mapping[str, Any]) -> tuple[str, str]:
    """Return a crate's name and the numbers that all compatible versions begin with: up to the first that is not 0."""
    found = re.match(r"(?:0\.)*\d+", package["version"])
    return package["name"], found[0] if found else package["version"]


def _packages(lock: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(lock).get("package", [])
    return found


def _is_of_registry(package: Mapping[str, Any]) -> bool:
    return str(package.get("source", "")).startswith(_REGISTRY)
