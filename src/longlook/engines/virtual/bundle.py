"""Writes everything that a guest's Python imports into one file, in a fresh process; `bundle_loader` reads it."""

import marshal
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

from longlook.core import MachineError, codec, paths
from longlook.engines.virtual.bundle_loader import Entry

_MAKE = """
import dataclasses, importlib, sys
texts = {}
def execute(text, *namespaces):
    texts[text] = compile(text, "<string>", "exec")
    exec(texts[text], *namespaces)
dataclasses.exec = execute
from longlook.core import registry
from longlook.engines.virtual import bundle
for module in sys.argv[2:]:
    importlib.import_module(module)
registry.load("stacks")
bundle.write(sys.argv[1], texts)
"""


def make_bundle(*modules: str) -> str:
    """Make a bundle of the modules, the stacks and everything that these import, from the sources of now.

    Return its path. Raise MachineError if a module cannot be imported.
    """
    folder = paths.cache_dir() / "bundles"
    folder.mkdir(parents=True, exist_ok=True)
    # One for each way of being installed: it can be replaced by the next one while guests start with it.
    path = folder / f"{codec.content_hash([sys.executable, sys.version, __file__, os.geteuid(), modules])}.bundle"
    done = subprocess.run(
        [sys.executable, "-c", _MAKE, str(path), *modules], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        if path.name in last:  # what could not be written, and not what could not be imported
            raise MachineError(
                f"the guest's agent cannot be kept in the cache: {last}",
                "free some space, make it writable, or move the cache: LONGLOOK_CACHE",
            )
        raise MachineError(f"the guest's agent cannot be imported: {last}", "make build")
    return str(path)


def write(path: str, texts: Mapping[str, CodeType]) -> None:
    """Write a bundle of the modules that this process has imported from source files.

    `texts` are the methods that `dataclasses` wrote for their classes, compiled: guests need not compile them again.
    """
    modules: dict[str, Entry] = {}
    codes: list[bytes] = []
    end = 0
    for name, module in sorted(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if spec is None or spec.name != name or not isinstance(spec.loader, SourceFileLoader) or spec.origin is None:
            continue
        code = spec.loader.get_code(name)
        locations = spec.submodule_search_locations
        if code is not None:
            found = None if locations is None else list(locations)
            codes.append(marshal.dumps(code))
            begin, end = end, end + len(codes[-1])
            modules[name] = (locations is not None, spec.origin, found, begin, end)
    index = marshal.dumps({"path": [entry for entry in sys.path if entry], "modules": modules, "texts": dict(texts)})
    partial = Path(f"{path}.{os.getpid()}")
    partial.write_bytes(len(index).to_bytes(8, "little") + index + b"".join(codes))
    partial.replace(path)
