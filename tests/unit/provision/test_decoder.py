"""The pinned decoder of Firefox's videos: what is there is compared with what was fetched."""

from pathlib import Path

from longlook.core.paths import cache_dir
from longlook.provision import decoder


def test_folder_that_is_not_as_it_was_fetched_is_not_intact(tmp_path: Path) -> None:
    library = tmp_path / decoder.LIBRARY
    library.write_bytes(b"a library")
    assert not decoder._is_intact(tmp_path)
    (tmp_path / "digests.txt").write_text(decoder._digests(tmp_path))
    assert decoder._is_intact(tmp_path)
    (tmp_path / "libother.so.1").write_bytes(b"one more, which Firefox would load instead of the system's")
    assert not decoder._is_intact(tmp_path)


def test_folder_is_named_after_what_is_pinned() -> None:
    assert decoder.folder().parent == cache_dir() / "decoder"
    assert decoder.VERSION in decoder.folder().name
