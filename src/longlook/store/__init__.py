"""Folders by digest that leave this machine: packed into one file, and unpacked with every name and digest checked.

A `SharedStore` keeps them in any place that fsspec knows: `put` an entry by kind and key, `get` it elsewhere. While
`sharing` is entered, the store that LONGLOOK_STORE names stands behind the caches of this process.
"""

from typing import TYPE_CHECKING

from longlook.core import lazy

if TYPE_CHECKING:
    from longlook.store.archive import LARGEST_UNPACKED_BYTES as LARGEST_UNPACKED_BYTES
    from longlook.store.archive import BoundedEntry as BoundedEntry
    from longlook.store.archive import TooLongHeaderError as TooLongHeaderError
    from longlook.store.archive import is_below as is_below
    from longlook.store.archive import pack as pack
    from longlook.store.archive import unpack as unpack
    from longlook.store.inspect import Damaged as Damaged
    from longlook.store.inspect import Held as Held
    from longlook.store.inspect import held_by as held_by
    from longlook.store.inspect import held_here as held_here
    from longlook.store.inspect import prune_store as prune_store
    from longlook.store.inspect import verify_here as verify_here
    from longlook.store.inspect import verify_store as verify_store
    from longlook.store.place import Named as Named
    from longlook.store.place import StoreError as StoreError
    from longlook.store.place import Trouble as Trouble
    from longlook.store.session import Sharing as Sharing
    from longlook.store.session import cache_of as cache_of
    from longlook.store.session import cache_with_store as cache_with_store
    from longlook.store.session import named as named
    from longlook.store.session import required_sharing as required_sharing
    from longlook.store.session import sharing as sharing
    from longlook.store.session import use_store as use_store
    from longlook.store.shared import KERNELS as KERNELS
    from longlook.store.shared import KINDS as KINDS
    from longlook.store.shared import MEASURED as MEASURED
    from longlook.store.shared import PROGRAMS as PROGRAMS
    from longlook.store.shared import TRIALS as TRIALS
    from longlook.store.shared import DamagedEntryError as DamagedEntryError
    from longlook.store.shared import Entry as Entry
    from longlook.store.shared import SharedStore as SharedStore
    from longlook.store.shared import object_name as object_name
else:
    __all__, __getattr__ = lazy(
        __name__,
        {
            "archive": "BoundedEntry LARGEST_UNPACKED_BYTES TooLongHeaderError is_below pack unpack",
            "inspect": "Damaged Held held_by held_here prune_store verify_here verify_store",
            "place": "Named StoreError Trouble",
            "session": "Sharing cache_of cache_with_store named required_sharing sharing use_store",
            "shared": "DamagedEntryError Entry KERNELS KINDS MEASURED PROGRAMS SharedStore TRIALS object_name",
        },
    )
