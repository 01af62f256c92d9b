"""A script that calls Longlook, and the processes that measure trials for it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def apart_from_script() -> Iterator[None]:
    """Keep the processes that measure trials from running the caller's script.

    A process that `multiprocessing` spawns first runs the main module again, under another name: a script that calls
    Longlook without a guard would call it again in each. Measuring needs nothing of the script.
    """
    main = sys.modules.get("__main__")
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        if main is None:
            del sys.modules["__main__"]
        else:
            sys.modules["__main__"] = main
