"""Text behind `@` → the name of a version: a known one, or sources that are copied into the cache.

The sources of a release that no stack declares come from the registry of its stack.
"""

import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from longlook.core import (
    SOURCE_RECORD,
    InputError,
    SourceTree,
    Stack,
    codec,
    content_hash,
    find_tree,
    is_build,
    is_tunable,
    registry,
    tree_folder,
    tunable_name,
    untuned_name,
    write_json,
)
from longlook.provision.build_cache import filled
from longlook.provision.images.resolve import PREFIX, STACK_NAME, image_named, is_image
from longlook.provision.progress import report_step
from longlook.provision.registries.declared import registry_of
from longlook.provision.registries.registry import nearest_releases, numbers_of
from longlook.provision.sources import git
from longlook.provision.sources.patches import apply_patch, read_patch
from longlook.provision.sources.snapshot import File, Files, digest_of, read_copy, read_folder, write_files
from longlook.provision.sources.spec import Folder, Patched, RegistryRelease, Revision, Spec, parse_release, parse_spec

_SHORT = 7
_MAYBE_SOURCES = re.compile(
    r"(?P<stack>[A-Za-z0-9][A-Za-z0-9+._~-]*)@(?P<version>[./~].*|git:.*|.*\.(?:patch|diff)(?:,of=.*)?|\d+\.\d.*)"
)
_PATCH_HINT = "make it of the version that stands before it: git diff VERSION..BRANCH"
_HINT = "sources are ./PATH, /PATH, git:PATH#REV, or a known version with +FILE.patch"
_OTHERWISE = "longlook stacks list names the versions that need no registry"


def parse_program(text: str, below: Path | None = None) -> tuple[Stack, str]:
    """Return stack and version of `quic-go`, `quic-go@0.65.0`, `quic-go@SOURCES` or `image:PATH`; see `version_of`."""
    if text.startswith(PREFIX):
        return registry.stack(STACK_NAME), image_named(text, below)
    name, at, version = text.partition("@")
    stack = registry.stack(name)
    if at and not version:
        raise InputError(f"{text}: no version behind @", f"known: {', '.join(stack.version_names)}; {_HINT}")
    return stack, version_of(stack, version, below) if at else stack.default_version


def is_sources(text: str) -> bool:
    """Return whether a text, such as `quic-go@./tree` or `image:./a.tar`, names sources rather than a known version."""
    if is_image(text):
        return True
    found = _MAYBE_SOURCES.fullmatch(text)
    stacks = registry.stacks() if found else {}
    if found is None or found["stack"] not in stacks:
        return False
    return _parsed(stacks[found["stack"]], found["version"], Path()) is not None


def _parsed(stack: Stack, text: str, below: Path) -> Spec | None:
    """Return the sources that a text names; None if it is a known version, or nothing."""
    if text in stack.version_names:
        return None
    spec = parse_spec(text, stack.version_names, below)
    registry = registry_of(stack.name) if spec is None and stack.from_sources is not None else None
    return parse_release(text) if registry is not None and registry.has_sources else spec


def stack_of(folder: Path, called: str = "") -> Stack:
    """Return the stack whose sources a folder has; InputError if it is none's, or several could be built from it.

    The error names the folder as it is `called`.
    """
    found, reasons = [], []
    for stack in registry.stacks().values():
        if stack.from_sources is None:
            continue
        try:
            stack.from_sources.state_version(folder)
        except InputError as error:
            reasons.append(f"{stack.name}: {error.message}")
        else:
            found.append(stack)
    if len(found) != 1:
        which = f"{', '.join(stack.name for stack in found)} could each be built from it" if found else reasons
        said = which if isinstance(which, str) else "; ".join(which)
        raise InputError(f"{called or folder}: which stack is this? {said}", "name the stack: --stack NAME")
    return found[0]


def version_of(stack: Stack, text: str, below: Path | None = None) -> str:
    """Return the name of the version that a text names; sources are copied into the cache first.

    Relative paths begin at the folder `below`, by default the present one. InputError if there is neither such a
    version nor such sources, or if these are not the stack's.
    """
    if text in stack.version_names or find_tree(stack.name, text) is not None:
        return text
    spec = _parsed(stack, text, below or Path.cwd())
    if spec is None:
        try:
            return stack.version(text).name
        except InputError as error:
            raise InputError(error.message, f"{error.hint}; {_HINT}") from error
    if stack.from_sources is None:
        raise InputError(f"{stack.name} is not built from sources", f"known: {', '.join(stack.version_names)}")
    return _copied(stack, spec).version


def _copied(stack: Stack, spec: Spec) -> SourceTree:
    """Return sources, which are copied beside their tunable build, if there is one; this build if it is asked for."""
    if isinstance(spec, Patched) or not is_tunable(spec.of):
        plain = _plain(stack, spec)
        _tuned(stack, plain)
        return plain
    plain = _plain(stack, replace(spec, of=untuned_name(stack.version(spec.of).name)))
    tuned = _tuned(stack, plain)
    if tuned is None:
        reason = stack.why_untunable(plain.version) or f"{plain.of} has none"
        raise InputError(f"{stack.name}@{plain.version} cannot have knobs: {reason}", f"write ,of={plain.of}")
    return tuned


def _plain(stack: Stack, spec: Spec) -> SourceTree:
    """Return sources without the patches of knobs."""
    if isinstance(spec, Folder):
        return _of_folder(stack, spec)
    if isinstance(spec, Revision):
        return _of_revision(stack, spec)
    if isinstance(spec, RegistryRelease):
        return _of_registry(stack, spec)
    return _of_patches(stack, spec)


def _of_folder(stack: Stack, spec: Folder) -> SourceTree:
    if not spec.path.is_dir():
        raise InputError(f"there is no folder {spec.path}", "name the folder of a stack's sources")
    if not git.is_in_repository(spec.path):
        files = read_folder(spec.path)
        digest = digest_of(files)
        name = f"{_clean(spec.path.resolve().name)}-{digest[:_SHORT]}"
        return _kept(stack, spec, files, SourceTree(stack.name, name, "", str(spec), digest))
    commit = git.commit_of(spec.path, "HEAD")
    dirty = git.changed(spec.path)
    files = read_folder(spec.path, git.listed(spec.path, _unneeded(stack)))
    digest = digest_of(files)
    label = _clean(git.branch_of(spec.path) or spec.path.resolve().name)
    name = f"{label}-{commit.name[:_SHORT]}" + (f"-dirty-{digest[:_SHORT]}" if dirty else "")
    found = _committed(stack, spec, name, digest, commit)
    return _kept(stack, spec, files, replace(found, dirty=dirty), git.described(spec.path, commit.name))


def _of_revision(stack: Stack, spec: Revision) -> SourceTree:
    commit = git.commit_of(spec.path, spec.revision)
    files = read_commit(spec.path, commit.name, _unneeded(stack))
    short = commit.name[:_SHORT]
    is_name = commit.name.startswith(spec.revision)  # a commit needs no second name
    name = short if is_name else f"{_clean(spec.revision)}-{short}"
    found = _committed(stack, spec, name, digest_of(files), commit)
    return _kept(stack, spec, files, found, git.described(spec.path, commit.name))


def read_commit(repository: Path, commit: str, unneeded: Sequence[str] = ()) -> Files:
    """Return the files that a commit has below a folder of its repository.

    InputError if one is a sub-module, unless it is `unneeded` for a build.
    """
    blobs = git.blobs(repository, commit, unneeded)
    return {blob.path: File(blob.contents, blob.is_executable, blob.is_link) for blob in blobs}


def _unneeded(stack: Stack) -> tuple[str, ...]:
    return stack.from_sources.unneeded if stack.from_sources else ()


def _committed(stack: Stack, spec: Spec, name: str, digest: str, commit: git.Commit) -> SourceTree:
    return SourceTree(
        stack.name, name, "", str(spec), digest,
        commit=commit.name, title=commit.title, author=commit.author, authored=commit.authored,
    )  # fmt: skip


def _of_patches(stack: Stack, spec: Patched) -> SourceTree:
    support = stack.from_sources
    if support is None:
        raise InputError(f"{stack.name} is not built from sources", "name one of its versions")
    with tempfile.TemporaryDirectory(prefix="longlook-sources-") as temporary:
        folder = Path(temporary, "tree")
        support.unpack(spec.release, folder)
        texts = []
        for patch in spec.patches:
            texts.append(read_patch(patch))
            apply_patch(texts[-1], patch, folder, _PATCH_HINT)
        files = read_folder(folder)
    label = "-".join(_clean(patch.stem) for patch in spec.patches)
    name = f"{spec.release}+{label}-{content_hash(texts)[:_SHORT]}"
    released = stack.version(spec.release).released
    return _kept(stack, spec, files, SourceTree(stack.name, name, "", str(spec), digest_of(files), authored=released))


def _of_registry(stack: Stack, spec: RegistryRelease) -> SourceTree:
    spec = replace(spec, of=_nearest(stack, spec.of, spec.version))
    known = find_tree(stack.name, spec.name)
    if known is not None and known.folder.is_dir() and digest_of(read_copy(known.folder)) == known.digest:
        return known
    registry = registry_of(stack.name)
    if registry is None:
        raise InputError(f"no registry of {stack.name} is known", f"known: {', '.join(stack.version_names)}")
    found = registry.find(spec.version)
    if found is None:
        near = ", ".join(nearest_releases(registry.versions(), spec.version))
        raise InputError(
            f"{stack.name} has no version {spec.version!r}, and {registry.title} has no such release of it",
            f"nearest there: {near or 'none'}; {_OTHERWISE}",
        )
    with tempfile.TemporaryDirectory(prefix="longlook-sources-") as temporary:
        folder = Path(temporary, "tree")
        fetched = registry.fetch(stack.name, spec.version, folder)
        files = read_folder(folder)
    origin = f"{fetched} of {registry.title}"
    tree = SourceTree(stack.name, spec.name, "", origin, digest_of(files), authored=found.date)
    try:
        return _kept(stack, spec, files, tree, spec.version)
    except InputError as error:  # its hint is for sources of the user's
        raise InputError(
            f"{stack.name} {spec.version} cannot be built by the recipe of {spec.of}: {error.message}", _OTHERWISE
        ) from error


def _kept(stack: Stack, spec: Spec, files: Files, tree: SourceTree, tag: str = "") -> SourceTree:
    """Return the record of sources after they were copied; a copy that is there and intact stays."""
    support = stack.from_sources
    if support is None or not files:
        raise InputError(f"there are no sources in {tree.origin}", "name the folder of a stack's sources")
    other = find_tree(stack.name, tree.version)
    if other is not None and other.digest != tree.digest:  # the same commit, of another folder of its repository
        tree = replace(tree, version=f"{tree.version}-{tree.digest[:_SHORT]}")
    folder = tree_folder(stack.name, tree.version)
    kept = [tree]

    def fill(into: Path) -> None:
        copy = into / "tree"
        write_files(files, copy)
        says = support.state_version(copy) or tag.removeprefix("v")
        kept[0] = replace(tree, says=says, of=_nearest(stack, spec.of, says))
        write_json(into / SOURCE_RECORD, codec.encode(kept[0]))

    def is_intact(_folder: Path) -> bool:
        known = find_tree(stack.name, tree.version)
        if known is None or known.digest != tree.digest or (spec.of and known.of != spec.of):
            return False
        kept[0] = known
        return digest_of(read_copy(known.folder)) == tree.digest

    filled(folder, is_intact, fill)
    return kept[0]


def _tuned(stack: Stack, tree: SourceTree) -> SourceTree | None:
    """Return the tunable build of copied sources, copied as well; None if there is none, and then say why.

    It has the knobs' patches of the version that the sources are nearest to. The record of the sources has the reason
    if these do not apply.
    """
    support = stack.from_sources
    tunable = tunable_name(tree.of)
    patches = support.knob_patches(tree.of) if support and tunable != tree.of and tunable in stack.version_names else ()
    if not patches:
        return None
    made_of = content_hash([tree.digest, *map(read_patch, patches)], length=64)
    name = tunable_name(tree.version)
    known = find_tree(stack.name, name)
    if known is not None and known.made_of == made_of and digest_of(read_copy(known.folder)) == known.digest:
        return known
    with tempfile.TemporaryDirectory(prefix="longlook-sources-") as temporary:
        copy = Path(temporary, "tree")
        write_files(read_copy(tree.folder), copy)
        try:
            for patch in patches:
                apply_patch(read_patch(patch), patch, copy, "")
        except InputError as error:
            shutil.rmtree(tree_folder(stack.name, name), ignore_errors=True)
            report_step(f"{stack.name}@{tree.version} has no knobs: {error.message}")
            write_json(tree.folder.with_name(SOURCE_RECORD), codec.encode(replace(tree, untunable=error.message)))
            return None
        files = read_folder(copy)
    made = replace(tree, version=name, of=tunable, digest=digest_of(files), made_of=made_of, untunable="")

    def fill(into: Path) -> None:
        write_files(files, into / "tree")
        write_json(into / SOURCE_RECORD, codec.encode(made))

    filled(tree_folder(stack.name, name), lambda _folder: False, fill)
    return made


def _nearest(stack: Stack, declared: str, says: str) -> str:
    """Return the known version that sources are nearest to: the one declared, else the newest that is no newer."""
    if declared:
        return stack.version(declared).name
    releases = [name for name in stack.version_names if not is_build(name)]
    own = numbers_of(says)
    older = [name for name in releases if numbers_of(name) <= own]
    return (older or releases[:1])[-1] if own else releases[-1]


def _clean(text: str) -> str:
    """Return a text as part of a version's name."""
    found = re.sub(r"[^A-Za-z0-9._~]+", "-", text).strip("-._~")
    return found or "sources"
