"""Files named by the digest of their content."""

from pathlib import Path

import pytest

from longlook.core import kept_files
from longlook.core.errors import InputError

ABOUT = "a thing", "make room"


def test_a_content_is_kept_once_and_adopted_where_it_lacks(tmp_path: Path) -> None:
    digest = kept_files.keep(tmp_path / "run", b"[1]", *ABOUT)
    assert digest == kept_files.digest_of(b"[1]")
    kept_files.adopt(tmp_path / "run", tmp_path / "cache", *ABOUT)
    assert kept_files.file_of(tmp_path / "cache", digest).read_bytes() == b"[1]"
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a thing cannot be kept") as caught:
        kept_files.keep(tmp_path / "file" / "below", b"[]", *ABOUT)
    assert caught.value.hint == "make room"


@pytest.mark.parametrize("what", ["a link", "another content"])
def test_only_a_file_with_the_content_of_its_name_is_adopted(tmp_path: Path, what: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    copies = tmp_path / "run"
    copies.mkdir()
    target = kept_files.file_of(copies, kept_files.digest_of(b"secret" if what == "a link" else b"[1]"))
    if what == "a link":
        target.symlink_to(tmp_path / "secret")
    else:
        target.write_bytes(b"[2]")
    with pytest.raises(InputError, match=r"links are not followed|does not match its name"):
        kept_files.adopt(copies, tmp_path / "cache", *ABOUT)
    assert not (tmp_path / "cache").exists()
