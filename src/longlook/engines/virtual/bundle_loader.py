"""Runs `main` of a module that is loaded, with everything it imports, from one file. A guest starts with this program.

    python -S bundle_loader.py BUNDLE MODULE

A guest sees the host's files through several layers, where each search for a module costs much more than on the host:
a third of a trial's CPU time. `bundle` writes the file. As little of the standard library as possible is imported here.
"""

import _thread
import gc
import io
import marshal
import posix
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # `typing` is in the bundle, which is not open yet
if TYPE_CHECKING:
    from typing import Any

Place = tuple[int, int]
"""The offsets of a piece of code in a bundle: begin, end."""
Pattern = tuple[str | bytes, int]
"""A regular expression and its flags."""
Entry = tuple[bool, str, list[str] | None, int, int]
"""Whether a module is a package, its file, the folders of its modules, and the offsets of its code (begin, end).

A bundle begins with eight bytes, the length of its index, which is marshalled: `path` (sys.path), `modules` (name →
Entry), `texts` (methods that `dataclasses` writes, as text → Place of the code) and `patterns` (regular expressions →
Place of the arguments of `_sre.compile`). The marshalled codes follow; their offsets count from the index's end."""

_AT_ONCE = ("dataclasses", "re")
"""Packages of the standard library whose modules run as they are imported, because they are changed here."""
_loading = _thread.RLock()


class _Late(ModuleType):
    """A module whose code runs when something of it is first asked for: most guests need little of a library."""

    def __getattr__(self, name: str) -> object:
        with _loading:
            code = self.__dict__.pop(_CODE, None)
            if code is not None:
                try:
                    code()
                except BaseException:
                    self.__dict__[_CODE] = code
                    raise
                self.__class__ = ModuleType  # type: ignore[assignment]
                return getattr(self, name)
        try:  # what its code has defined so far
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None


_CODE = "__code_that_did_not_run_yet__"


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

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return a module that loads late if it is of the standard library; None for an ordinary one.

        Other modules may define what a late one cannot be, such as a `__getattr__` or a name of one of their modules.
        """
        package = spec.name.partition(".")[0]
        return _Late(spec.name) if package in sys.stdlib_module_names and package not in _AT_ONCE else None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code, or let it run when something of the module is first asked for."""
        name = module.__name__

        def run() -> None:
            _, _, _, begin, end = self._modules[name]
            exec(self.read((begin, end)), module.__dict__)  # noqa: S102

        if isinstance(module, _Late):
            module.__dict__[_CODE] = run
        else:
            run()

    def read(self, place: Place) -> "Any":
        """Return what is marshalled at a place of the bundle."""
        begin, end = place  # not by the file's own offset, which forked processes share
        return marshal.loads(posix.pread(self._file.fileno(), end - begin, self._start + begin))  # noqa: S302


def main() -> None:
    """Load the bundle that the command line names and run `main` of its module."""
    gc.disable()  # the process lives for one trial: looking for cycles would cost more than they do
    file = io.FileIO(sys.argv[1])
    length = int.from_bytes(file.read(8), "little")
    index = marshal.loads(file.read(length))  # noqa: S302
    sys.path[:] = index["path"]
    finder = BundleFinder(file, 8 + length, index["modules"])
    sys.meta_path.insert(0, finder)
    _spare_compiling(finder, index["texts"], index["patterns"])
    name = sys.argv[2]
    __import__(name)
    sys.modules[name].main()


class _NoSignatures:
    """Stands in for `inspect`, by which `dataclasses` writes the texts of classes that have none: nobody reads them.

    Python 3.12 and newer need more of `inspect`, which is loaded then.
    """

    def signature(self, *_: object, **__: object) -> str:
        return ""

    def __getattr__(self, name: str) -> object:
        import inspect

        return getattr(inspect, name)


def _spare_compiling(finder: BundleFinder, texts: dict[str, Place], patterns: dict[Pattern, Place]) -> None:
    """Let `dataclasses` and `re` take from the bundle what they would compile: a third of the time of all imports."""
    import re

    compiler: Any = vars(re)["_compiler"]

    def compiled(pattern: object, flags: int = 0) -> object:
        place = patterns.get((pattern, flags)) if isinstance(pattern, str | bytes) else None
        return compiled_here(pattern, flags) if place is None else compiler._sre.compile(pattern, *finder.read(place))

    compiled_here, compiler.compile = compiler.compile, compiled

    import dataclasses

    def execute(text: str, *namespaces: dict[str, object]) -> None:
        exec(finder.read(texts[text]) if text in texts else text, *namespaces)  # noqa: S102

    dataclasses.exec = execute  # type: ignore[attr-defined]
    dataclasses.inspect = _NoSignatures()  # type: ignore[attr-defined]
    sys.modules.pop("inspect", None)


if __name__ == "__main__":
    main()
