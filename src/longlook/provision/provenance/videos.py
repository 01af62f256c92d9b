"""The makers and players of videos with pictures: the encoder, and the players and the decoder that a browser is given.

All are pinned in the repository. A video that came into the cache on another day was made by this encoder, too, because
the encoder's digest is part of the key under which the video is cached.
"""

import base64
from collections.abc import Iterable, Iterator
from pathlib import Path

import longlook
from longlook.core import Component, Made, file_digest
from longlook.provision import decoder, encoder, players


def of_encoder() -> Made:
    """Return what the encoder is made of. It need not be here."""
    vouched_by = pinned_in(encoder.__file__)
    package = Component(
        "pypi",
        encoder.PACKAGE,
        encoder.PACKAGE_VERSION,
        (f"sha256:{encoder.PACKAGE_SHA256}",),
        vouched_by,
        encoder.PACKAGE_LICENCE,
    )
    inside = Component(
        "generic", "x264", encoder.X264_VERSION, (), f"{vouched_by}, as a part of ffmpeg", encoder.X264_LICENCE
    )
    name = f"ffmpeg@{encoder.VERSION}"
    return Made(name, encoder.VERSION, encoder.SHA256, "", (package, inside), licence=encoder.LICENCE)


def of_players(names: Iterable[str]) -> Iterator[Made]:
    """Yield what players are made of, by their names as values of the knob `player`; they have to be here."""
    for name in sorted(names):
        player = players.PLAYERS[name]
        digest = base64.b64decode(player.integrity).hex()
        package = Component(
            "npm",
            player.package,
            player.version,
            (f"sha512:{digest}",),
            f"{pinned_in(players.__file__)}, the registry's index",
            player.licence_name,
        )
        script = file_digest(players.folder() / f"{name}.js")
        yield Made(
            f"{player.package}@{player.version}", player.version, script, "", (package,), licence=player.licence_name
        )


def of_decoder() -> Made:
    """Return what the decoder of Firefox is made of; it has to be here."""
    vouched_by = pinned_in(decoder.__file__)
    digest = f"sha256:{decoder.PACKAGE_SHA256}"
    package = Component(
        "pypi", decoder.PACKAGE, decoder.PACKAGE_VERSION, (digest,), vouched_by, decoder.PACKAGE_LICENCE
    )
    library = file_digest(decoder.folder() / decoder.LIBRARY)
    return Made(f"libavcodec@{decoder.VERSION}", decoder.VERSION, library, "", (package,), licence=decoder.LICENCE)


def pinned_in(module: str) -> str:
    """Return the words for a module of this package that vouches for digests."""
    place = Path(module).relative_to(Path(longlook.__file__).parent).as_posix()
    return f"src/longlook/{place} in the repository"
