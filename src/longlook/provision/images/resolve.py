"""Text such as `image:./picoquic.tar` → the record of an image, which is the version of a stack without releases."""

import re
from pathlib import Path

from longlook.core import (
    SOURCE_RECORD,
    InputError,
    MachineError,
    Program,
    SourceTree,
    codec,
    find_tree,
    tree_folder,
    write_json,
)
from longlook.provision.build_cache import filled
from longlook.provision.images.record import RECORD, image_folder, is_unpacked
from longlook.provision.images.unpack import Chosen, chosen, unpacked

STACK_NAME = "image"
PREFIX = f"{STACK_NAME}:"
_PATHS = ("./", "../", "/", "~/")
_SHORT = 7
_HINT = "write image:./FILE.tar, or image:./FILE.tar#NAME:TAG if it has several"


def is_image(text: str) -> bool:
    """Return whether a text names an image by its path."""
    return text.startswith(PREFIX) and text.removeprefix(PREFIX).startswith(_PATHS)


def image_named(text: str, below: Path | None = None) -> str:
    """Return the version of the stack `image` that `image:PATH` or `image:PATH#TAG` names, unpacked in the cache.

    Relative paths begin at the folder `below`, by default the present one. InputError if there is no such image, or
    it is damaged, hostile, or for other machines.
    """
    if not is_image(text):
        raise InputError(f"{text}: no path behind image:", _HINT)
    path, tag = _parted(text.removeprefix(PREFIX), below or Path.cwd())
    with chosen(path, tag) as found:
        unpacked(found)
        return _kept(found, f"{path}#{tag}" if tag else str(path)).version


def image_program(tree: SourceTree) -> Program:
    """Return the program of a known image; unpack it again if it was removed from the cache.

    MachineError if the file that it came from is gone, or has another image by now.
    """
    folder = image_folder(tree.digest)
    if not is_unpacked(folder):
        path, tag = _parted(tree.origin, Path("/"))
        try:
            with chosen(path, tag) as found:
                is_same = found.digest == tree.digest
                if is_same:
                    unpacked(found)
        except InputError as error:
            raise _gone(tree, error.message) from error
        if not is_same:
            raise _gone(tree, f"{path} has another image by now")
    return Program(str(folder / RECORD), tree.digest)


def _gone(tree: SourceTree, reason: str) -> MachineError:
    return MachineError(
        f"{STACK_NAME}@{tree.version} is not in the cache any more: {reason}",
        f"name its file again: longlook setup {PREFIX}PATH",
    )


def is_image_unpacked(tree: SourceTree) -> bool:
    """Return whether `image_program` has nothing to do."""
    return is_unpacked(image_folder(tree.digest))


def _parted(text: str, below: Path) -> tuple[Path, str]:
    """Return path and tag; a path that exists is no path with a tag."""
    whole = (below / Path(text).expanduser()).absolute()
    if whole.exists() or "#" not in text:
        return whole, ""
    path, _, tag = text.rpartition("#")
    if not path or not tag:
        raise InputError(f"{PREFIX}{text}: no path or no tag beside #", _HINT)
    return (below / Path(path).expanduser()).absolute(), tag


def _kept(found: Chosen, origin: str) -> SourceTree:
    """Return the record of an image, which is written if it is new."""
    name = f"{_label(found, origin)}-{found.digest[:_SHORT]}"
    other = find_tree(STACK_NAME, name)
    if other is not None and other.digest != found.digest:
        name = f"{_label(found, origin)}-{found.digest}"
    says = found.described.names[0] if found.described.names else ""
    tree = SourceTree(STACK_NAME, name, "", origin, found.digest, says=says, authored=found.config.created)

    def fill(into: Path) -> None:
        (into / "tree").mkdir()
        write_json(into / SOURCE_RECORD, codec.encode(tree))

    filled(tree_folder(STACK_NAME, name), lambda _folder: find_tree(STACK_NAME, name) == tree, fill)
    return tree


def _label(found: Chosen, origin: str) -> str:
    """Return what an image is called: by its own name without registry and tag, else by its file."""
    first = next(iter(found.described.names), "")
    is_name = ":" in first or "/" in first  # a bare word is a tag, which names no program
    named = re.sub(r"[:@].*", "", first.rpartition("/")[2]) if is_name else ""
    if not named:
        named = Path(origin.partition("#")[0]).name.removesuffix(".gz").removesuffix(".tar")
    label = re.sub(r"[^A-Za-z0-9._~]+", "-", named).strip("-._~")
    return label or "root"
