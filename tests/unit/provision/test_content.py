import hashlib
import json
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longlook.core import registry
from longlook.core.errors import InputError, MachineError
from longlook.core.job import Content
from longlook.core.model import Scalar
from longlook.core.workload import ORDERS, WorkloadKind
from longlook.provision.content import BLOCK_BYTES, PNG_OVERHEAD_BYTES, noise, png
from longlook.workloads.page import permutation

SIGNATURE = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    return tmp_path


def prepare(kind: str, **parameters: Scalar) -> Content:
    workload: WorkloadKind = registry.get("workloads", kind)
    return workload.prepare(parameters)


def file_of(content: Content, path: str) -> Path:
    return Path(content.root) / path.removeprefix("/")


def chunks(image: bytes) -> Iterator[tuple[bytes, bytes]]:
    assert image.startswith(SIGNATURE)
    at = len(SIGNATURE)
    while at < len(image):
        (length,) = struct.unpack_from(">I", image, at)
        kind, data = image[at + 4 : at + 8], image[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", image, at + 8 + length) == (zlib.crc32(kind + data),)
        yield kind, data
        at += 12 + length


def assert_as_expected(content: Content) -> None:
    assert set(content.expected) == {path for phase in content.phases for path in phase}
    for path, expected in content.expected.items():
        body = file_of(content, path).read_bytes()
        assert len(body) == expected.bytes
        assert f"sha256:{hashlib.sha256(body).hexdigest()}" == expected.digest
    assert file_of(content, "/prime").stat().st_size == 1


@pytest.mark.parametrize("size_bytes", [PNG_OVERHEAD_BYTES, PNG_OVERHEAD_BYTES + 1, 5_000, BLOCK_BYTES + 777])
def test_png_is_valid_and_of_exact_size(size_bytes: int) -> None:
    image = b"".join(png(0x123456, size_bytes))
    assert len(image) == size_bytes
    found = list(chunks(image))
    assert [kind for kind, _ in found] == [b"IHDR", b"llPd", b"IDAT", b"IEND"]
    parts = dict(found)
    assert parts[b"IHDR"] == struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    assert zlib.decompress(parts[b"IDAT"]) == b"\0\x12\x34\x56"


def test_noise_is_incompressible_and_depends_on_the_seed_alone() -> None:
    first = b"".join(noise("a", 100_000))
    assert first == b"".join(noise("a", 100_000))
    assert first != b"".join(noise("b", 100_000))
    assert len(zlib.compress(first, 9)) >= len(first)


@given(st.integers(0, 3 * BLOCK_BYTES))
def test_noise_has_the_size_asked_for(size_bytes: int) -> None:
    assert sum(map(len, noise("x", size_bytes))) == size_bytes


def test_bytes_are_those_of_format_1() -> None:
    """Results are compared across machines by digest: a change here must count FORMAT up."""
    assert hashlib.sha256(b"".join(noise("download /download.bin", 10_000))).hexdigest()[:16] == "691f0988cbeaa321"
    assert hashlib.sha256(b"".join(png(7, 5_000))).hexdigest()[:16] == "f70cd3dad0588df1"


def test_page() -> None:
    content = prepare("page", objects=12, object_bytes=1_000)
    assert content.phases == (("/index.html",), tuple(f"/i/{n:03d}.png" for n in range(12)))
    assert_as_expected(content)
    page = file_of(content, "/index.html").read_text()
    assert all(f'src="{path}"' in page for path in content.phases[1])
    assert {content.expected[path].bytes for path in content.phases[1]} == {1_000}
    assert len({content.expected[path].digest for path in content.phases[1]}) == 12


def test_smallest_images_are_still_distinct() -> None:
    content = prepare("page", objects=3, object_bytes=PNG_OVERHEAD_BYTES)
    assert len({content.expected[path].digest for path in content.phases[1]}) == 3


def test_download() -> None:
    content = prepare("download", object_bytes=3 * BLOCK_BYTES + 1)
    assert content.phases == (("/download.bin",),)
    assert_as_expected(content)


def test_download_of_several_objects() -> None:
    content = prepare("download", object_bytes=100, objects=3)
    assert content.phases == (("/download.bin", "/download-1.bin", "/download-2.bin"),)
    assert_as_expected(content)
    assert len({answer.digest for answer in content.expected.values()}) == 3


def test_download_over_several_connections_is_the_same_content() -> None:
    single, several = prepare("download", object_bytes=100), prepare("download", object_bytes=100, connections=4)
    assert single.connections == 1
    assert several == replace(single, connections=4)


@pytest.mark.parametrize(("at_once", "groups"), [(0, [5]), (1, [1, 1, 1, 1, 1]), (2, [2, 2, 1]), (9, [5])])
def test_downloads_in_sequence_are_the_same_files_in_groups(at_once: int, groups: list[int]) -> None:
    together = prepare("download", object_bytes=100, objects=5)
    content = prepare("download", object_bytes=100, objects=5, at_once=at_once)
    assert [len(phase) for phase in content.phases] == groups
    assert replace(content, phases=together.phases) == together
    assert tuple(path for phase in content.phases for path in phase) == together.phases[0]


def test_waits_stand_before_each_group_and_change_no_file() -> None:
    plain = prepare("download", object_bytes=100, objects=3, at_once=1)
    assert plain.waits_s == ()
    waiting = prepare("download", object_bytes=100, objects=3, at_once=1, idle_s=2.5)
    assert waiting == replace(plain, waits_s=(0.0, 2.5, 2.5))
    assert prepare("download", object_bytes=100, warm_s=1).waits_s == (1.0,)
    assert prepare("download", object_bytes=100, objects=2, at_once=1, warm_s=1, idle_s=2).waits_s == (1.0, 2.0)


def test_a_page_of_images_of_several_sizes() -> None:
    content = prepare("mixed_page", images="2 x 1KB, 100B,3x1.5KB")
    assert content.phases == (("/index.html",), tuple(f"/i/{n:03d}.png" for n in range(6)))
    assert_as_expected(content)
    assert [content.expected[path].bytes for path in content.phases[1]] == [1_000, 1_000, 100, 1_500, 1_500, 1_500]
    assert len({content.expected[path].digest for path in content.phases[1]}) == 6


def test_images_of_several_sizes_are_asked_for_in_the_order_drawn_and_written_alike() -> None:
    plain = prepare("mixed_page", images="2 x 1KB, 100B, 2 x 200B")
    assert prepare("mixed_page", images="1000B,1KB,1 x 100B, 200B, 200B") == plain
    drawn = prepare("mixed_page", images="2 x 1KB, 100B, 2 x 200B", order=7)
    assert drawn.phases[1] == tuple(plain.phases[1][number] for number in permutation(5, 7)) != plain.phases[1]
    images = {path: answer for path, answer in drawn.expected.items() if path != "/index.html"}
    assert images == {path: plain.expected[path] for path in images}


def test_priorities_are_of_groups_of_images_and_change_no_file() -> None:
    plain = prepare("mixed_page", images="2 x 1KB, 100B")
    urgent = prepare("mixed_page", images="2 x 1KB, 100B", priorities="u=5,i; u=1")
    assert (plain.priorities, urgent.root, urgent.expected) == ({}, plain.root, plain.expected)
    assert urgent.priorities == {"/i/000.png": "u=5, i", "/i/001.png": "u=5, i", "/i/002.png": "u=1"}


@pytest.mark.parametrize(
    ("kind", "parameters", "expected_hint"),
    [
        ("download", {"object_bytes": 10, "at_once": -1}, "0 to 1000"),
        ("download", {"object_bytes": 10, "idle_s": 1}, "at_once"),
        ("download", {"object_bytes": 10, "objects": 3, "idle_s": 1, "at_once": 3}, "at_once"),
        ("download", {"object_bytes": 10, "warm_s": 601}, "0s to 600s"),
        ("mixed_page", {"images": ""}, "20 x 5KB"),
        ("mixed_page", {"images": "3 of 5KB"}, "20 x 5KB"),
        ("mixed_page", {"images": "3 x 5Mbit"}, "20 x 5KB"),
        ("mixed_page", {"images": "3 x 5KB,"}, "20 x 5KB"),
        ("mixed_page", {"images": "5B"}, str(PNG_OVERHEAD_BYTES)),
        ("mixed_page", {"images": "0 x 5KB"}, "1 to 10000 images"),
        ("mixed_page", {"images": "9999 x 5KB, 2 x 1KB"}, "1 to 10000 images"),
        ("mixed_page", {"images": "5KB, 1KB", "priorities": "u=1"}, "for each group of images"),
        ("mixed_page", {"images": "5KB", "priorities": "u=8"}, '"u=1"'),
        ("page", {"objects": 1, "object_bytes": PNG_OVERHEAD_BYTES - 1}, str(PNG_OVERHEAD_BYTES)),
        ("page", {"objects": 0, "object_bytes": 1_000}, "1 to"),
        ("download", {"object_bytes": 0}, "1 to"),
        ("download", {"object_bytes": 10, "objects": 0}, "1 to"),
        ("download", {"object_bytes": 10, "connections": 65}, "1 to 64 connections"),
    ],
)
def test_impossible_parameters_are_refused(kind: str, parameters: dict[str, Scalar], expected_hint: str) -> None:
    with pytest.raises(InputError) as caught:
        prepare(kind, **parameters)
    assert expected_hint in (caught.value.hint or "")


def test_content_is_made_once() -> None:
    first = prepare("page", objects=2, object_bytes=500)
    stamp = file_of(first, "/i/000.png").stat().st_mtime_ns
    assert prepare("page", objects=2, object_bytes=500) == first
    assert file_of(first, "/i/000.png").stat().st_mtime_ns == stamp
    assert prepare("page", objects=2, object_bytes=501).root != first.root


@pytest.mark.parametrize("damage", ["truncated", "missing", "record"])
def test_damaged_content_is_made_again(damage: str) -> None:
    first = prepare("page", objects=2, object_bytes=500)
    image, record = file_of(first, "/i/001.png"), Path(first.root).parent / "content.json"
    match damage:
        case "truncated":
            image.write_bytes(image.read_bytes()[:-1])
        case "missing":
            image.unlink()
        case "record":
            record.write_text(record.read_text()[:-5])
    assert prepare("page", objects=2, object_bytes=500) == first
    assert_as_expected(first)
    assert json.loads(record.read_text())


def test_what_a_killed_process_left_is_removed(cache: Path) -> None:
    first = prepare("download", object_bytes=10)
    folder = Path(first.root).parent
    stale = folder.with_name(f".{folder.name}.making-killed")
    stale.mkdir()
    file_of(first, "/download.bin").unlink()
    prepare("download", object_bytes=10)
    assert not stale.exists()
    assert not list((cache / "www").glob(".*making*"))


def test_processes_that_make_the_same_content_agree() -> None:
    with ProcessPoolExecutor(4) as pool:
        contents = [pool.submit(prepare, "download", object_bytes=5 * BLOCK_BYTES) for _ in range(4)]
        made = {repr(each.result()) for each in contents}
    assert len(made) == 1
    assert_as_expected(prepare("download", object_bytes=5 * BLOCK_BYTES))


def test_cache_that_cannot_be_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("LONGLOOK_CACHE", str(cache / "file" / "below"))
    with pytest.raises(MachineError) as caught:
        prepare("download", object_bytes=10)
    assert "LONGLOOK_CACHE" in (caught.value.hint or "")


FILL_THE_DISK = """
import pathlib
from longlook.core import registry
from longlook.core.errors import MachineError
from longlook.core.paths import cache_dir
try:
    registry.get("workloads", "download").prepare({"object_bytes": 10_000_000})
except MachineError as error:
    print(error.message, "|", error.hint, "|", sorted(path.name for path in cache_dir().rglob("*making*")))
"""


def test_full_disk_is_the_machines_fault_and_leaves_nothing(cache: Path) -> None:
    """A real one: a file system of 1 MB, mounted in namespaces of its own."""
    program = f'mount -t tmpfs -o size=1m none {cache} && exec "$0" -c "$1"'
    enter = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*enter, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    done = subprocess.run(
        [*enter, "sh", "-c", program, sys.executable, FILL_THE_DISK], capture_output=True, text=True, check=True
    )
    message, hint, left = done.stdout.strip().split(" | ")
    assert "full" in message
    assert "LONGLOOK_CACHE" in hint
    assert left == "[]"


def test_a_page_in_another_order_has_the_same_images() -> None:
    plain, other = prepare("page", objects=20, object_bytes=100), prepare("page", objects=20, object_bytes=100, order=7)
    assert_as_expected(other)
    assert other.phases[1] != plain.phases[1]
    assert sorted(other.phases[1]) == sorted(plain.phases[1])
    assert {path: other.expected[path] for path in other.phases[1]} == {
        path: plain.expected[path] for path in plain.phases[1]
    }
    page = file_of(other, "/index.html").read_text()
    assert [line.split('"')[1] for line in page.splitlines() if line.startswith("<img")] == list(other.phases[1])
    assert prepare("page", objects=20, object_bytes=100, order=0) == plain


def test_orders_are_permutations_that_differ() -> None:
    orders = [tuple(permutation(20, order)) for order in range(ORDERS)]
    assert orders[0] == tuple(range(20))
    assert len(set(orders)) == ORDERS
    assert all(sorted(order) == list(range(20)) for order in orders)
    first = Counter(order[0] for order in orders)
    assert set(first) == set(range(20))
    assert max(first.values()) < 80  # 50 expected, standard deviation 7
