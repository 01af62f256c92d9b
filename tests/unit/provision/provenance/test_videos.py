"""What makes and plays videos with pictures is known by its pins, whatever is on this machine."""

import base64
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from longlook.provision import decoder, encoder, players
from longlook.provision.provenance.videos import of_decoder, of_encoder, of_players


def test_encoder_is_known_where_it_is_not_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    made = of_encoder()
    assert (made.name, made.sha256, made.licence) == ("ffmpeg@7.0.2", encoder.SHA256, "GPL-3.0-or-later")
    package, x264 = made.components or ()
    assert (package.ecosystem, package.name, package.version) == ("pypi", "imageio-ffmpeg", "0.6.0")
    assert package.digests == (f"sha256:{encoder.PACKAGE_SHA256}",)
    assert package.vouched_by == snapshot
    assert (x264.name, x264.licence) == ("x264", "GPL-2.0-or-later")


def test_encoder_has_the_x264_that_is_named() -> None:
    _, core, revision = encoder.X264_VERSION.split(".")
    program = Path(encoder.encoder().path).read_bytes()
    assert b" r%s " % revision.encode() in program and core == "164"


def test_player_is_its_script_of_a_pinned_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    players.folder().mkdir(parents=True)
    (players.folder() / "dash.js.js").write_bytes(b"")
    (made,) = of_players(["dash.js"])
    assert (made.name, made.licence) == ("dashjs@5.2.1", "BSD-3-Clause")
    assert made.sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    (package,) = made.components or ()
    kind, _, digest = package.digests[0].partition(":")
    assert (package.ecosystem, package.name, kind) == ("npm", "dashjs", "sha512")
    assert base64.b64encode(bytes.fromhex(digest)).decode() == players.PLAYERS["dash.js"].integrity


def test_decoder_is_its_library_of_a_pinned_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    decoder.folder().mkdir(parents=True)
    (decoder.folder() / decoder.LIBRARY).write_bytes(b"")
    made = of_decoder()
    assert (made.name, made.licence) == ("libavcodec@7.1", "LGPL-3.0-or-later")
    assert made.sha256 == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    (package,) = made.components or ()
    assert (package.ecosystem, package.name, package.version) == ("pypi", "av", "15.1.0")
    assert package.vouched_by == snapshot
