"""Sources that are no release: what people write, what is copied, what it is called, and what is refused."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from longlook.core.errors import InputError, MachineError
from longlook.core.job import Program
from longlook.core.model import ConnectionState
from longlook.core.source_tree import SourceTree, find_tree, remember
from longlook.core.stack import FromSources, Stack, Version
from longlook.provision.progress import listening
from longlook.provision.sources import git
from longlook.provision.sources.patches import apply_patch
from longlook.provision.sources.resolve import is_sources, version_of
from longlook.provision.sources.snapshot import File, digest_of, read_folder, write_files
from longlook.provision.sources.spec import Folder, Patched, Revision, parse_spec

KNOWN = ("0.64.1", "0.65.0+knobs", "0.65.0")


def _state_version(folder: Path) -> str:
    text = (folder / "VERSION").read_text() if (folder / "VERSION").exists() else None
    if text is None:
        raise InputError("the sources have no VERSION", "name the folder that has it")
    return text.strip()


def _unpack(version: str, into: Path) -> None:
    into.mkdir()
    (into / "VERSION").write_text(f"{version.partition('+')[0]}\n")
    (into / "window.txt").write_text("one\nwindow = 32\nthree\n")


STACK = Stack(
    name="planted",
    summary="",
    roles=("server",),
    protocols=("h3",),
    connections=(ConnectionState.COLD,),
    versions=tuple(Version(name, "2026-01-01") for name in KNOWN),
    knobs={},
    log_formats=(),
    install=lambda version: Program(f"/release/{version}", "00"),
    installed=lambda _version: True,
    from_sources=FromSources(
        lambda tree: Program(str(tree.folder), tree.digest), lambda _tree: False, _state_version, _unpack
    ),
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def commit(tmp_path: Path) -> Callable[..., str]:
    """A repository in `tree`: each call writes files and commits them."""
    tree = tmp_path / "tree"
    tree.mkdir()
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}

    def run(*arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(("git", "-C", str(tree), *who, *arguments), env=env, capture_output=True, check=True)
        return done.stdout.decode().strip()

    run("init", "-q", "-b", "main")

    def make(message: str, tag: str = "", /, **files: str) -> str:
        for name, text in files.items():
            (tree / name).write_text(text)
        run("add", "-A")
        run("commit", "-q", "-m", message)
        if tag:
            run("tag", tag)
        return run("rev-parse", "HEAD")

    return make


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("./tree", Folder(Path("/here/tree"), "")),
        ("/abs/tree,of=0.64.1", Folder(Path("/abs/tree"), "0.64.1")),
        ("git:tree#main~3", Revision(Path("/here/tree"), "main~3", "")),
        ("git:/a#b#feature/x", Revision(Path("/a#b"), "feature/x", "")),
        ("0.65.0+fix.patch", Patched("0.65.0", (Path("/here/fix.patch"),))),
        ("0.65.0+knobs+a+b.diff+/c.patch", Patched("0.65.0+knobs", (Path("/here/a+b.diff"), Path("/c.patch")))),
        ("main", None),
        ("0.65.0+mine", None),
        ("1.0+fix.patch", None),
    ],
)
def test_what_people_write(text: str, spec: object) -> None:
    assert parse_spec(text, KNOWN, Path("/here")) == spec


@pytest.mark.parametrize("text", ["git:", "git:tree", "git:#main", "git:tree#"])
def test_half_a_revision_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="git:"):
        parse_spec(text, KNOWN, Path())


def test_a_study_recognises_sources_by_their_form() -> None:
    assert is_sources("quic-go@./tree") and is_sources("quic-go@git:tree#main")
    assert not is_sources("quic-go@0.65.0") and not is_sources("nobody@./tree") and not is_sources("./tree")


KNOBS = """\
The window can be set.
--- a/window.txt
+++ b/window.txt
@@ -1,3 +1,3 @@
 one
-window = 32
+window = WINDOW or 32
 three
"""


@pytest.fixture
def tunable(tmp_path: Path) -> Stack:
    """The stack, of which version 0.65.0 has a tunable build."""
    (tmp_path / "knobs.patch").write_text(KNOBS)
    assert STACK.from_sources is not None
    patches = {"0.65.0": (tmp_path / "knobs.patch",)}
    return replace(STACK, from_sources=replace(STACK.from_sources, knob_patches=lambda of: patches.get(of, ())))


def test_sources_have_a_tunable_build_if_the_knobs_patch_applies(
    tunable: Stack, commit: Callable[..., str], tmp_path: Path
) -> None:
    name = commit("First", VERSION="0.65.0\n", **{"window.txt": "one\nwindow = 32\nthree\n"})
    version = version_of(tunable, "git:tree#main", tmp_path)
    assert tunable.with_knobs(version) == (version, f"main-{name[:7]}+knobs")
    plain, tuned = (find_tree("planted", each) for each in tunable.with_knobs(version))
    assert plain is not None and tuned is not None
    assert (plain.of, tuned.of, tuned.reported) == ("0.65.0", "0.65.0+knobs", "0.65.0+knobs+sources")
    assert (tuned.folder / "window.txt").read_text() == "one\nwindow = WINDOW or 32\nthree\n"
    assert tuned.digest == digest_of(read_folder(tuned.folder)) != plain.digest
    assert version_of(tunable, "git:tree#main,of=0.65.0+knobs", tmp_path) == tuned.version
    assert tunable.with_knobs(tuned.version) == (tuned.version,)
    (tmp_path / "knobs.patch").write_text(KNOBS.replace("or 32", "or 33"))
    version_of(tunable, "git:tree#main", tmp_path)
    assert "or 33" in (tuned.folder / "window.txt").read_text()


def test_sources_to_which_the_knobs_patch_does_not_apply_say_file_and_hunk(tunable: Stack, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "VERSION").write_text("0.65.0\n")
    (tmp_path / "tree" / "window.txt").write_text("one\nwindow = 4\nthree\n")
    said: list[str] = []
    with listening(said.append):
        version = version_of(tunable, "./tree", tmp_path)
    assert tunable.with_knobs(version) == (version,)
    assert tunable.why_untunable(version) == (
        f"the patch {tmp_path / 'knobs.patch'} does not apply: window.txt: Hunk #1 FAILED at 1"
    )
    assert said == [f"planted@{version} has no knobs: {tunable.why_untunable(version)}"]
    with pytest.raises(InputError, match=r"cannot have knobs: .* window\.txt: Hunk #1 FAILED at 1"):
        version_of(tunable, "./tree,of=0.65.0+knobs", tmp_path)


def test_sources_near_a_version_without_knobs_have_none(tunable: Stack, tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "VERSION").write_text("0.64.1\n")
    version = version_of(tunable, "./tree", tmp_path)
    assert tunable.with_knobs(version) == (version,)
    assert tunable.why_untunable(version) == ""
    assert STACK.with_knobs("0.65.0") == ("0.65.0", "0.65.0+knobs")
    assert STACK.with_knobs("0.65.0+knobs") == ("0.65.0+knobs",)
    assert STACK.with_knobs("0.64.1") == ("0.64.1",)


def test_a_patch_of_the_user_is_of_the_tunable_build_as_well(tunable: Stack, tmp_path: Path) -> None:
    (tmp_path / "add.patch").write_text("--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+new\n")
    version = version_of(tunable, "0.65.0+add.patch", tmp_path)
    tuned = find_tree("planted", f"{version}+knobs")
    assert tuned is not None
    assert {path.name for path in tuned.folder.iterdir()} == {"VERSION", "window.txt", "new"}


def test_a_folder_without_git_is_called_after_its_digest(tmp_path: Path) -> None:
    folder = tmp_path / "my tree"
    _unpack("0.64.9", folder)
    name = version_of(STACK, "./my tree", tmp_path)
    tree = find_tree("planted", name)
    assert tree is not None and name == f"my-tree-{tree.digest[:7]}"
    assert (tree.says, tree.of, tree.dirty) == ("0.64.9", "0.64.1", False)
    assert (tree.folder / "window.txt").read_bytes() == (folder / "window.txt").read_bytes()
    assert STACK.program(name).digest == tree.digest
    assert STACK.version(name).of == "0.64.1"
    (folder / "window.txt").write_text("changed")
    assert version_of(STACK, "./my tree", tmp_path) != name
    assert version_of(STACK, name) == name  # the copy stays


def test_commits_and_changed_trees_have_names_of_their_own(tmp_path: Path, commit: Callable[..., str]) -> None:
    first = commit("First", "v0.64.1", VERSION="0.64.1\n", window="32")
    second = commit("Begin with 4 packets", VERSION="0.64.1\n", window="4")
    assert version_of(STACK, "git:tree#main~1", tmp_path) == f"main~1-{first[:7]}"
    assert version_of(STACK, f"git:tree#{first[:9]}", tmp_path) == first[:7]
    clean = version_of(STACK, "./tree", tmp_path)
    assert clean == f"main-{second[:7]}"
    tree = find_tree("planted", clean)
    assert tree is not None and (tree.title, tree.author, tree.dirty) == ("Begin with 4 packets", "Ada", False)
    (tmp_path / "tree" / "new").write_text("untracked files are read, too")
    dirty = find_tree("planted", version_of(STACK, "./tree", tmp_path))
    assert dirty is not None and dirty.version == f"main-{second[:7]}-dirty-{dirty.digest[:7]}"
    assert dirty.dirty and dirty.digest != tree.digest
    assert sorted(path.name for path in dirty.folder.iterdir()) == ["VERSION", "new", "window"]


def test_files_of_a_commit_are_its_blobs_and_nothing_of_a_repository_runs(
    tmp_path: Path, commit: Callable[..., str]
) -> None:
    commit("First", VERSION="0.65.0\n", data="plain\n")
    tree, ran = tmp_path / "tree", tmp_path / "ran"
    hostile = f"touch {ran}; cat"
    for key, value in (
        ("core.fsmonitor", hostile), ("core.pager", hostile), ("filter.evil.smudge", hostile),
        ("filter.evil.clean", hostile), ("filter.evil.process", hostile),
    ):  # fmt: skip
        subprocess.run(("git", "-C", str(tree), "config", key, value), check=True)
    (tree / ".git" / "info" / "attributes").write_text("data filter=evil\n")
    name = version_of(STACK, "git:tree#main", tmp_path)
    found = find_tree("planted", name)
    assert found is not None and (found.folder / "data").read_text() == "plain\n"
    (tree / "data").write_text("other\n")  # git has to look at it, which asks the filter for the file's contents
    dirty = find_tree("planted", version_of(STACK, "./tree", tmp_path))
    assert dirty is not None and dirty.dirty and (dirty.folder / "data").read_text() == "other\n"
    assert not ran.exists()


def test_patches_apply_to_a_known_version(tmp_path: Path) -> None:
    patch = tmp_path / "iw4.patch"
    patch.write_text("--- a/window.txt\n+++ b/window.txt\n@@ -1,3 +1,3 @@\n one\n-window = 32\n+window = 4\n three\n")
    tree = find_tree("planted", version_of(STACK, "0.65.0+iw4.patch", tmp_path))
    assert tree is not None and tree.version.startswith("0.65.0+iw4-") and tree.of == "0.65.0"
    assert (tree.folder / "window.txt").read_text() == "one\nwindow = 4\nthree\n"
    with pytest.raises(InputError, match=r"iw4.patch does not apply.*ignored") as refused:
        version_of(STACK, "0.65.0+iw4.patch+iw4.patch", tmp_path)
    assert "window.txt" in refused.value.message


def test_a_missing_patch_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="patch is not installed"):
        apply_patch("", tmp_path / "x.patch", tmp_path, "")


def test_wrong_sources_are_refused_with_what_to_do(tmp_path: Path, commit: Callable[..., str]) -> None:
    commit("First", other="of another project")
    for text, message in (
        ("./nothing", "no folder"),
        ("git:nothing#main", "no folder"),
        ("git:tree#nothing", "no revision 'nothing'"),
        ("./tree", "no VERSION"),
        ("0.65.0+nothing.patch", "cannot be read"),
        ("main", "no version 'main'"),
    ):
        with pytest.raises(InputError, match=message):
            version_of(STACK, text, tmp_path)
    with pytest.raises(InputError, match="not built from sources"):
        version_of(replace(STACK, from_sources=None), "./tree", tmp_path)
    assert not list((tmp_path / "cache").rglob("source.json"))


def test_a_shallow_clone_says_what_it_lacks(tmp_path: Path, commit: Callable[..., str]) -> None:
    commit("First", VERSION="1")
    commit("Second", VERSION="2")
    source = f"file://{tmp_path / 'tree'}"
    subprocess.run(("git", "clone", "-q", "--depth=1", source, str(tmp_path / "shallow")), check=True)
    with pytest.raises(InputError, match="no revision") as refused:
        git.commit_of(tmp_path / "shallow", "HEAD~1")
    assert "shallow" in str(refused.value.hint)


def test_merge_base_and_file_of_a_commit(tmp_path: Path, commit: Callable[..., str]) -> None:
    base = commit("Base", VERSION="0.65.0")
    tree = tmp_path / "tree"
    subprocess.run(("git", "-C", str(tree), "checkout", "-q", "-b", "feature"), check=True)
    commit("Change", suite="mine")
    assert git.merge_base(tree, "HEAD", "main").name == base
    assert git.file_at(tree, "HEAD", "suite") == b"mine" and git.file_at(tree, base, "suite") is None
    assert not git.changed(tree) and git.branch_of(tree) == "feature"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")
def test_a_repository_that_git_refuses_is_not_taken_for_a_plain_folder(
    tmp_path: Path, commit: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit("First", VERSION="0.65.0\n")
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in (tmp_path / "tree", tmp_path / "tree" / ".git"):
        os.chown(path, 65534, 65534)
    with pytest.raises(InputError, match="dubious ownership") as refused:
        version_of(STACK, "./tree", tmp_path)
    assert "safe.directory" in str(refused.value.hint)


def test_links_and_paths_stay_inside(tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "file").write_text("text")
    (folder / "inside").symlink_to("file")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    files = read_folder(folder)
    write_files(files, tmp_path / "copy")
    assert read_folder(tmp_path / "copy") == files and digest_of(files) == digest_of(read_folder(tmp_path / "copy"))
    (folder / "out").symlink_to("../secret")
    with pytest.raises(InputError, match="leads out"):
        write_files(read_folder(folder), tmp_path / "other")
    (folder / "out").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="is no file"):
        read_folder(folder)


@pytest.mark.parametrize("change", ["contents", "name", "mode", "link"])
def test_the_digest_says_every_change(change: str) -> None:
    from pathlib import PurePosixPath as At

    before = {At("a/b"): File(b"text")}
    after = {
        "contents": {At("a/b"): File(b"Text")},
        "name": {At("a/c"): File(b"text")},
        "mode": {At("a/b"): File(b"text", is_executable=True)},
        "link": {At("a/b"): File(b"text", is_link=True)},
    }[change]
    assert digest_of(before) != digest_of(after)


def test_sources_of_a_run_are_known_where_there_is_no_copy() -> None:
    record = {"stack": "planted", "version": "main-1234567", "of": "0.65.0", "origin": "/gone", "digest": "ab"}
    remember([record])
    assert find_tree("planted", "main-1234567") == SourceTree("planted", "main-1234567", "0.65.0", "/gone", "ab")
    assert STACK.version("main-1234567").of == "0.65.0"
    with pytest.raises(MachineError, match="not on this machine"):
        STACK.program("main-1234567")
