"""The files of a run folder that go into a bundle, and what each of them is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from longlook.core import RUN_RECORD, RunFolder, files
from longlook.instruments.bundle.portable import paths_named, without_paths
from longlook.pipeline import PUBLISH

SEALS = "seals.jsonl"
MANIFEST = "manifest.json"
_TRIALS, _LEFT_OUT = "trials", ("altered", "divergent", PUBLISH)
_DERIVED = ("timeline.parquet", "events.parquet", "ledger.parquet")
_TEXTS = (".json", ".jsonl", ".html", ".csv", ".svg", ".md", ".xml", ".txt", ".toml")


@dataclass(frozen=True)
class Contents:
    """The contents of a bundle by name. `rewritten` are files from which paths of this machine were cut, and
    `with_paths` raw files of trials that name one: these stay as they are, since their digests are the evidence.
    """

    files: Mapping[str, Path | bytes]
    rewritten: tuple[str, ...]
    with_paths: tuple[str, ...]


def gather(folder: RunFolder, *, artefacts: bool) -> Contents:
    """Return the contents of a run folder: all but raw files of trials, without `artefacts`.

    Never in it is what an analysis of a trial makes again, what was set aside, and the folder for a publication, in
    which its author works.
    """
    paths = paths_named(folder.path, folder.study, folder.manifest)
    found: dict[str, Path | bytes] = {}
    rewritten, with_paths = [], []
    for name in sorted(_names(folder, artefacts=artefacts)):
        file = folder.path / name
        found[name] = file
        if not name.endswith(_TEXTS):
            continue
        data = files.read_bytes(file)
        if (changed := without_paths(data, paths)) == data:
            continue
        if name.startswith(f"{_TRIALS}/"):
            with_paths.append(name)
        else:
            found[name] = changed
            rewritten.append(name)
    return Contents(found, tuple(rewritten), tuple(with_paths))


def _names(folder: RunFolder, *, artefacts: bool) -> Iterator[str]:
    """Yield the files of a run folder that a bundle has, by relative path."""
    for name, what in files.below(folder.path, (_TRIALS, *_LEFT_OUT)):
        if what is None and name.split("/")[0] not in (_TRIALS, *_LEFT_OUT) and not _is_hidden(name):
            yield name
    for trial in folder.plan.trials:
        for path, run in folder.attempts(trial.id):
            yield f"{_TRIALS}/{path.name}/{RUN_RECORD}"
            if artefacts:
                yield from (f"{_TRIALS}/{path.name}/{name}" for name in run.artefacts if name not in _DERIVED)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))
