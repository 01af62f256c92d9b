"""Writes everything that a guest's Python imports into one file, in a fresh process; `bundle_loader` reads it."""

import errno
import marshal
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

from longlook.core import MachineError, codec, paths
from longlook.engines.virtual.bundle_loader import Entry, Pattern, Place

_MAKE = """
import dataclasses, importlib, re, sys, types
texts, patterns = {}, {}
def execute(text, *namespaces):
    texts[text] = compile(text, "<string>", "exec")
    exec(texts[text], *namespaces)
dataclasses.exec = execute
compile_here, sre, seen = re._compiler.compile, re._compiler._sre, []
def compile_seen(pattern, flags, code, groups, index, names):
    seen.append((int(flags), [int(word) for word in code], groups, dict(index), names))
    return sre.compile(pattern, flags, code, groups, index, names)
re._compiler._sre = types.SimpleNamespace(**{**vars(sre), "compile": compile_seen})
def compile_and_keep(pattern, flags=0):
    found = compile_here(pattern, flags)
    if isinstance(pattern, str | bytes):
        patterns[pattern, int(flags)] = seen[-1]
    return found
re._compiler.compile = compile_and_keep
for _, pattern, flags in list(re._cache):
    compile_and_keep(pattern, flags)
from longlook.core import registry
from longlook.engines.virtual import bundle
for module in sys.argv[2:]:
    importlib.import_module(module)
registry.load("stacks")
bundle.write(sys.argv[1], texts, patterns)
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
        # What could not be written, and not what could not be imported; a full disk's message names no file.
        if path.name in last or os.strerror(errno.ENOSPC) in last:
            raise MachineError(
                f"the guest's agent cannot be kept in the cache: {last}",
                "free some space, make it writable, or move the cache: LONGLOOK_CACHE",
            )
        raise MachineError(f"the guest's agent cannot be imported: {last}", "make build")
    return str(path)


def write(path: str, texts: Mapping[str, CodeType], patterns: Mapping[Pattern, tuple[Any, ...]]) -> None:
    """Write a bundle of the modules that this process has imported from source files.

    `texts` are the methods that `dataclasses` wrote for their classes, compiled, and `patterns` the regular expressions
    with the arguments of `_sre.compile`: guests need not compile them again.
    """
    modules: dict[str, Entry] = {}
    codes: list[bytes] = []
    end = 0

    def keep(value: Any) -> Place:
        nonlocal end
        codes.append(marshal.dumps(value))
        begin, end = end, end + len(codes[-1])
        return begin, end

    for name, module in sorted(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if spec is None or spec.name != name or not isinstance(spec.loader, SourceFileLoader) or spec.origin is None:
            continue
        code = spec.loader.get_code(name)
        locations = spec.submodule_search_locations
        if code is not None:
            found = None if locations is None else list(locations)
            modules[name] = (locations is not None, spec.origin, found, *keep(code))
    index = {
        "path": [entry for entry in sys.path if entry],
        "modules": modules,
        "texts": {text: keep(method) for text, method in texts.items()},
        "patterns": {pattern: keep(arguments) for pattern, arguments in patterns.items()},
    }
    partial = Path(f"{path}.{os.getpid()}")
    head = marshal.dumps(index)
    partial.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(codes))
    partial.replace(path)
