"""Images of every form become one version, and damaged or foreign ones are refused with what to do."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from longlook.core import InputError, MachineError, find_tree
from longlook.provision.images import record
from longlook.provision.images.record import ROOT, image_folder, is_unpacked, prune, read_record
from longlook.provision.images.resolve import image_named, image_program
from tests.support.images import (
    GZIP,
    START,
    ZSTD,
    Entry,
    Image,
    folder,
    layer,
    link,
    oci_files,
    of,
    tree,
    write_archive,
    write_folder,
    write_oci,
    write_saved,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


IMAGE = of(Entry("etc/x", b"1"), folder("tmp", 0o1777), folder("usr/share"), folder("var/log"))


@pytest.mark.parametrize(
    "write",
    [
        lambda: write_saved(Path("a.tar"), IMAGE),
        lambda: write_oci(Path("a.tar"), IMAGE),
        lambda: write_folder(Path("a"), oci_files(IMAGE)),
        lambda: write_oci(Path("a.tar"), of(*(), packing=GZIP)),
        lambda: write_oci(Path("a.tar"), of(*(), packing=ZSTD)),
    ],
)
def test_every_form_of_an_image_is_the_same_version(write: Callable[[], Path]) -> None:
    path = write()
    version = image_named(f"image:./{path}")
    known = find_tree("image", version)
    assert known is not None
    assert version == f"a-{known.digest[:7]}"
    assert tree(image_folder(known.digest) / ROOT)[START.name] == START.content
    program = image_program(known)
    assert program.digest == known.digest
    assert image_named(f"image:./{path}") == version


def test_the_record_has_what_starting_the_program_needs() -> None:
    config = {"Entrypoint": ["start"], "Cmd": ["-x"], "Env": ["PATH=/opt:/bin", "A=b=c"], "WorkingDir": "/w"}
    image = Image(
        (layer(Entry("opt/start", b"\x7fELF", mode=0o755), folder("w"), folder("usr/lib/open", 0o777)),), config
    )
    write_saved(Path("a.tar"), image)
    image_named("image:./a.tar")
    found = read_record(image_folder(image.identity) / record.RECORD)
    assert (found.argv, found.env["A"], found.folder) == (("/opt/start", "-x"), "b=c", "/w")
    assert found.writable == ("opt", "w", "usr/lib/open")
    assert found.created == "2026-01-02"


@pytest.mark.parametrize(
    ("stated", "begins_in"), [("/.w", "/.w"), ("/a/.w/", "/a/.w"), ("/", "/"), ("/missing", "/"), ("/up", "/a/.w")]
)
def test_a_program_begins_in_the_folder_that_its_configuration_names(stated: str, begins_in: str) -> None:
    files = layer(START, folder(".w"), folder("a/.w"), link("up", "a/.w"))
    image = Image((files,), {"Entrypoint": [f"/{START.name}"], "WorkingDir": stated})
    write_saved(Path("a.tar"), image)
    image_named("image:./a.tar")
    assert read_record(image_folder(image.identity) / record.RECORD).folder == begins_in


def test_a_folder_with_the_runners_entry_point_is_an_image() -> None:
    write_folder(Path("root"), {"run_endpoint.sh": b"#!/sh\n", "sh": b"x"})
    for name in ("run_endpoint.sh", "sh"):
        Path("root", name).chmod(0o755)
    version = image_named("image:./root")
    os.utime("root/sh", (1, 1))
    assert image_named("image:./root") == version
    Path("root/new").write_text("more")
    assert image_named("image:./root") != version


def test_one_of_several_images_is_named_by_its_tag() -> None:
    images = [of(Entry("x", str(number).encode()), names=(f"lab/server:{number}",)) for number in range(2)]
    write_saved(Path("a.tar"), *images)
    with pytest.raises(InputError, match="2 images: lab/server:0, lab/server:1") as raised:
        image_named("image:./a.tar")
    assert raised.value.hint is not None
    assert "#NAME:TAG" in raised.value.hint
    assert image_named("image:./a.tar#server:1") == f"server-{images[1].identity[:7]}"
    with pytest.raises(InputError, match="no image server:2"):
        image_named("image:./a.tar#server:2")


def test_an_index_for_several_machines_gives_the_one_for_this() -> None:
    mine = of(names=("x:1",))
    write_oci(Path("a.tar"), of(Entry("x"), architecture="s390x", names=("x:1",)), mine)
    assert image_named("image:./a.tar") == f"x-{mine.identity[:7]}"


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])


def changed(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda: write_saved(Path("a.tar"), of(architecture="s390x")), "for linux on s390x"),
        (lambda: write_saved(Path("a.tar"), of(config={})), "no entry point"),
        (lambda: write_saved(Path("a.tar"), of(config={"Cmd": ["/no"]})), "does not have its entry point /no"),
        (
            lambda: write_saved(
                Path("a.tar"),
                of(config={"Cmd": ["/x"]}),
            ),
            "does not have its entry point /x",
        ),
        (lambda: write_saved(Path("a.tar"), of(Entry("x", b"1"), config={"Cmd": ["/x"]})), "is not executable"),
        (
            lambda: write_saved(Path("a.tar"), of(Entry("x", b"#!/bin/bash\n", mode=0o755), config={"Cmd": ["/x"]})),
            "needs /bin/bash, which the image does not have",
        ),
        (
            lambda: write_saved(Path("a.tar"), of(link("x", "../../bin/sh"), config={"Cmd": ["/x"]})),
            "link out of its root",
        ),
        (lambda: cut(write_saved(Path("a.tar"), of(Entry("x", bytes(40_000))))), "cannot be read|only the begin"),
        (lambda: changed(write_saved(Path("a.tar"), of(Entry("x", b"one"))), b"one", b"two"), "is damaged: a layer"),
        (lambda: changed(write_oci(Path("a.tar"), of()), b"2026-01-02", b"2026-01-03"), "has the digest"),
        (
            lambda: write_oci(Path("a.tar"), of(), kind="application/vnd.oci.image.layer.v1.tar+gzip+encrypted"),
            "encrypted",
        ),
        (lambda: write_oci(Path("a.tar"), of(), kind="application/wasm"), "of the kind 'application/wasm'"),
        (lambda: write_archive(Path("a.tar"), {"x": b"1"}), "is no image"),
        (lambda: write_archive(Path("a.tar"), {"manifest.json": b"[{}]"}), "names no configuration"),
        (lambda: write_archive(Path("a.tar"), {"manifest.json": b"{"}), "is no JSON"),
        (lambda: Path("a.tar").write_bytes(b"no archive" * 100), "cannot be read"),
        (lambda: None, "there is no image"),
    ],
)
def test_what_is_no_usable_image_is_refused_and_leaves_nothing(
    write: Callable[[], object], says: str, cache: Path
) -> None:
    write()
    with pytest.raises(InputError, match=says) as raised:
        image_named("image:./a.tar")
    assert raised.value.hint
    assert "\n" not in raised.value.message
    assert not list(cache.glob("images/[0-9a-f]*"))
    assert not list(cache.glob("images/.*making*"))


def test_an_image_that_was_pruned_is_unpacked_again_as_long_as_its_file_is_there(tmp_path: Path) -> None:
    first, second = of(Entry("x", bytes(1000))), of(Entry("y", bytes(1000)))
    write_saved(Path("a.tar"), first)
    write_saved(Path("b.tar"), second)
    old, new = (image_named(f"image:./{name}.tar") for name in "ab")
    kept = image_folder(second.identity)
    assert prune(kept, most_bytes=1500) == []  # both were used just now
    os.utime(image_folder(first.identity) / record.RECORD, (1, 1))
    assert prune(kept, most_bytes=1500) == [first.identity]
    assert is_unpacked(kept)
    known = find_tree("image", old)
    assert known is not None
    image_program(known)
    assert is_unpacked(image_folder(first.identity))
    os.utime(image_folder(first.identity) / record.RECORD, (1, 1))
    prune(kept, most_bytes=1500)
    write_saved(Path("a.tar"), second)
    with pytest.raises(MachineError, match="has another image by now"):
        image_program(known)
    assert new == image_named("image:./b.tar")


def test_a_record_is_plain_json(cache: Path) -> None:
    write_saved(Path("a.tar"), IMAGE)
    image_named("image:./a.tar")
    data = json.loads((image_folder(IMAGE.identity) / record.RECORD).read_text())
    assert (data["digest"], data["writable"]) == (IMAGE.identity, ["etc", "tmp", "var", "var/log"])
