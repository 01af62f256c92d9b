"""Runs `main` of a module that is loaded, with everything it imports, from one file. A guest starts with this program.

    python -S bundle_loader.py BUNDLE MODULE

A guest sees the host's files through several layers, where each search for a module costs much more than on the host:
a third of a trial's CPU time. `bundle` writes the file. As little of the standard library as possible is imported here.
"""

import gc
import io
import marshal
import sys
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType

Entry = tuple[bool, str, list[str] | None, int, int]
"""Whether a module is a package, its file, the folders of its modules, and the offsets of its code (begin, end).

A bundle begins with eight bytes, the length of its index, which is marshalled: `path` (sys.path), `modules` (name →
Entry) and `texts` (the methods that `dataclasses` writes, as text → code). The marshalled code of the modules follows,
and its offsets count from the index's end."""


class BundleFinder:
    """Finds and loads the bundle's modules; all other modules are left to Python's own finders."""

    def __init__(self, file: io.FileIO, start: int, modules: dict[str, Entry]) -> None:
        self._file, self._start, self._modules = file, start, modules

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Return the spec of a module in the bundle, None for any other module."""
        if name not in self._modules:
            return None
        is_package, origin, locations, _, _ = self._modules[name]
        spec = ModuleSpec(name, self, origin=origin, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = True
        if locations is not None:
            spec.submodule_search_locations = locations
        return spec

    def create_module(self, _spec: ModuleSpec) -> None:
        """Return None: Python then creates an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        _, _, _, begin, end = self._modules[module.__name__]
        self._file.seek(self._start + begin)
        exec(marshal.loads(self._file.read(end - begin)), module.__dict__)  # noqa: S102, S302


def main() -> None:
    """Load the bundle that the command line names and run `main` of its module."""
    gc.disable()  # the process lives for one trial: looking for cycles would cost more than they do
    file = io.FileIO(sys.argv[1])
    length = int.from_bytes(file.read(8), "little")
    index = marshal.loads(file.read(length))  # noqa: S302
    sys.path[:] = index["path"]
    finder = BundleFinder(file, 8 + length, index["modules"])
    sys.meta_path.insert(0, finder)
    _spare_compiling(index["texts"])
    name = sys.argv[2]
    __import__(name)
    sys.modules[name].main()


def _spare_compiling(texts: dict[str, CodeType]) -> None:
    """Let `dataclasses` take the code of a text that it would compile; a sixth of the time of all imports is that."""
    import dataclasses

    def execute(text: str, *namespaces: dict[str, object]) -> None:
        exec(texts.get(text, text), *namespaces)  # noqa: S102

    dataclasses.exec = execute  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
