"""A cache of drawings: the same specification, drawn by the same libraries and code, is not drawn again."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from longlook.core import ContentStore, DerivedCache, codec, files, folder_digest

_LIBRARIES = ("altair", "vl-convert-python")


def drawn(what: Any, names: Sequence[str], draw: Callable[[], Mapping[str, bytes]]) -> Mapping[str, bytes]:
    """Return the files of a drawing, one for each of `names`, from the cache or else from `draw`, which is then kept.

    `what`, plain data, decides what `draw` returns, together with this package and the libraries that draw.
    """
    store = ContentStore(DerivedCache.DRAWN.root())
    key = codec.content_hash([json.dumps(what), _drawn_by()], 64)
    found = store.read(key, lambda folder: {name: files.read_bytes(folder / name) for name in names})
    if found is not None:
        return found
    made = draw()
    with suppress(OSError), TemporaryDirectory() as place:  # where it cannot be kept, it is drawn again next time
        for name, content in made.items():
            (Path(place) / name).write_bytes(content)
        store.keep(key, Path(place), names)
    return made


@cache
def _drawn_by() -> list[str]:
    return [folder_digest("longlook.report.charts"), *(version(name) for name in _LIBRARIES)]
