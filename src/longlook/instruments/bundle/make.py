"""A run folder into one file that a stranger can check: the same folder gives the same bytes."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longlook import __version__
from longlook.core import SCHEMA_VERSION, InputError, MachineError, RunFolder, codec, files
from longlook.instruments.bundle.archive import write_bundle
from longlook.instruments.bundle.contents import SEALS, Contents, gather
from longlook.instruments.bundle.crate import Person, crate
from longlook.instruments.bundle.layout import ABOUT, CRATE, FORMAT, README, About
from longlook.instruments.bundle.programs import carried
from longlook.instruments.bundle.readme import readme
from longlook.pipeline import described


@dataclass(frozen=True)
class BundleOptions:
    """The parts of a bundle that the user chooses, and who made it."""

    artefacts: bool = False
    programs: bool = False
    authors: Sequence[Person] = ()
    licence: str = ""


@dataclass(frozen=True)
class MadeBundle:
    """A bundle that was written, and its digest. `with_paths` are raw files that name paths of this machine."""

    path: Path
    sha256: str
    size_bytes: int
    files: int
    about: About
    with_paths: tuple[str, ...]


def make_bundle(run: Path, out: Path, options: BundleOptions, *, overwrite: bool) -> MadeBundle:
    """Write a run folder as a bundle to the file `out`.

    InputError if the run has no report, is not as it was sealed, or `out` is taken; MachineError if it cannot be
    written.
    """
    refuse_taken(out, overwrite=overwrite)
    with RunFolder.open(run) as folder:
        _expect_whole(folder)
        contents = gather(folder, artefacts=options.artefacts)
        programs = carried(folder) if options.programs else None
        about = _about(
            folder, contents, options, programs.carried if programs else (), programs.others if programs else {}
        )
        found: dict[str, Path | bytes] = {**contents.files, **(programs.files if programs else {})}
        if contents.rewritten:
            found[SEALS] = _sealed_anew(folder, contents)
        found[README] = readme(folder.study, about).encode()
        found[ABOUT] = _json(codec.encode(about))
        sizes = {name: _size(found[name]) for name in sorted(found)}
        found[CRATE] = _json(crate(folder, about, sizes, options.authors, options.licence))
        executables = frozenset(each.file for each in about.programs)
        try:
            digest = write_bundle(out, found, executables)
        except OSError as error:
            raise MachineError(f"--out {out} cannot be written: {error.strerror}", "choose another --out") from error
    return MadeBundle(out, digest, out.stat().st_size, len(found) + 1, about, contents.with_paths)


def refuse_taken(out: Path, *, overwrite: bool) -> None:
    """Raise InputError if a file cannot be written, or is there and must stay."""
    if out.is_dir() or not out.absolute().parent.is_dir():
        raise InputError(f"--out {out}: no such folder, or a folder itself", "name a file: --out FILE")
    if out.exists() and not overwrite:
        raise InputError(f"{out} exists", "choose another --out, or overwrite it: --force")


def _expect_whole(folder: RunFolder) -> None:
    """Raise InputError if a run is not finished, was not analysed, or is not as it was sealed."""
    again = f"longlook report {folder.path}"
    if not (folder.path / "samples.parquet").is_file():
        raise InputError(f"{folder.path} has no results", f"{again} makes them")
    altered = folder.added() | folder.altered(trial.id for trial in folder.plan.trials)
    if altered:
        raise InputError(
            f"{folder.path}: {described(altered)}",
            f"the run's command with --resume {folder.path} in place of --out runs them again",
        )
    names = [name for name, what in files.below(folder.path, ("trials",)) if what is None and "/" not in name]
    for what in filter(None, map(folder.broken, names)):
        raise InputError(f"{folder.path}: {what} since the run was analysed", f"{again} writes it again")


def _about(
    folder: RunFolder, contents: Contents, options: BundleOptions, programs: Sequence[Any], others: Mapping[str, str]
) -> About:
    manifest = folder.manifest
    runs = [run for trial in folder.plan.trials if (run := folder.result(trial.id)) is not None]
    exact = Counter(run.exact for run in runs)[True]
    return About(
        format=FORMAT,
        longlook=str(manifest["host"].get("longlook", __version__)),
        schema_version=SCHEMA_VERSION,
        study=folder.study.id,
        plan_hash=str(manifest["plan_hash"]),
        trials=len(runs),
        exact=exact,
        results=manifest["results"]["digest"] if manifest.get("results") else None,
        artefacts=options.artefacts,
        programs=tuple(programs),
        without_paths=contents.rewritten,
        not_carried=others,
    )


def _sealed_anew(folder: RunFolder, contents: Contents) -> bytes:
    """Return the seals with a line more for each sealed file from which paths were cut."""
    text = files.read_bytes(folder.path / SEALS) if (folder.path / SEALS).is_file() else b""
    sealed = {json.loads(line)["file"] for line in text.splitlines()}
    for name in contents.rewritten:
        content = contents.files[name]
        if name in sealed and isinstance(content, bytes):
            line = {"file": name, "sha256": hashlib.sha256(content).hexdigest()}
            text += json.dumps(line).encode() + b"\n"
    return text


def _size(content: Path | bytes) -> tuple[int, str]:
    if isinstance(content, bytes):
        return len(content), hashlib.sha256(content).hexdigest()
    return content.stat().st_size, files.digest(content)


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode()
