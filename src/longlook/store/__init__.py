"""Folders by digest that leave this machine: packed into one file, and unpacked with every name and digest checked."""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.store.archive import LARGEST_UNPACKED_BYTES as LARGEST_UNPACKED_BYTES
    from longlook.store.archive import pack as pack
    from longlook.store.archive import unpack as unpack
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "archive": "LARGEST_UNPACKED_BYTES pack unpack",
        },
    )
