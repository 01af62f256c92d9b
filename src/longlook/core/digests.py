"""SHA-256 digests of files and of the code that a result depends on. Standard library only."""

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

from longlook.core.codec import content_hash
from longlook.core.faces import shown_by

_PACKAGE = "longlook"
_PLUGINS = ("stacks", "workloads", "metrics")
_SITES = ("site-packages", "dist-packages")
_ROOT = Path(__file__).parents[1]
_IMPORT = re.compile(
    rf"^[ \t]*(?:from|import)[ \t]+({_PACKAGE}(?:\.\w+)*)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*))?", re.M
)
_SUFFIXES = (".py", ".json")
_KEEPERS = frozenset({"build_cache", "build_steps", "confined", "confined_child", "prebuilt", "progress"})
"""Modules of `provision` that run the commands of any build and keep its result: the commands are the builder's."""
_TYPE_PARAMETERS = "type_params"
"""The field of syntax trees that Python 3.12 brought; code that 3.11 reads has none."""
_NAME = re.compile(r"(\w+)(?:[ \t]+as[ \t]+\w+)?")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_digest(*modules: str) -> str:
    """Return the digest of all code that modules of Longlook depend on, 64 hexadecimal digits.

    A module depends on its file, on data next to it, on the `__init__.py` of every package above it, and on every
    module that it imports, wherever in the file, and so on. A package as a whole is every file of its folder. Whole
        files are more than is needed. The excess discards some results that could have been kept; a missing file would
    keep a wrong result.
    """
    return _digest_behind(frozenset(modules))


def folder_digest(module: str) -> str:
    """Return the digest of the files in a module's own folder, 64 hexadecimal digits; what they import is left out."""
    folder = _place_of(module)
    return content_hash(sorted((path.relative_to(folder).as_posix(), file_digest(path)) for path in _below(folder)), 64)


def code_files(*modules: str) -> set[Path]:
    """Return the files that `code_digest` covers, and the faces by which these import each other."""
    files, shown = _files_behind(modules)
    return files | {_face_of(package) for package, *_ in shown}


@cache
def source_digest(file: Path) -> str:
    """Return the digest of a plug-in's source file, and of all code that it depends on, of Longlook and of its own.

    The plug-in's own code is every file of its package, or of its folder in a root of LONGLOOK_PLUGINS with the Python
    files next to that folder. The modules that these files import count in the same way, unless they are Longlook's or
    Python's own.
    """
    own = [file] if file.is_relative_to(Path(__file__).parents[1]) else _own_files(file)
    modules = {module for each in own for module in _named_modules(each)}
    digests = [(path.name, file_digest(path)) for path in own]
    return content_hash([digests, sorted(modules), _digest_behind(frozenset(modules))], 64)


@cache
def builder_digest(module: str) -> str:
    """Return the digest of the code that builds a program: of a module and of what it imports from `provision`.

    `module` is the full name of an imported module, of Longlook or of a plug-in, whose own modules count as far as it
    imports them. `core` does not count, nor do modules that run and keep any build, nor comments, docstrings and the
    form of the text.
    """
    ours = module.startswith(f"{_PACKAGE}.")
    own = {_place_of(module)} if ours else {Path(str(sys.modules[name].__file__)) for name in _plug_in_modules(module)}
    behind, _ = _files_behind({name for each in own for name in _named_modules(each)})
    own |= {path for path in behind if path.relative_to(_ROOT).parts[0] == "provision" and path.stem not in _KEEPERS}
    return content_hash(sorted(map(_meaning, own)), 64)


def _plug_in_modules(module: str) -> set[str]:
    """Return a module and all that it imports of what is in files, but not Longlook's, Python's or a library's."""
    found: set[str] = set()
    waiting = {module}
    while waiting:
        name = waiting.pop()
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None or name.partition(".")[0] in {_PACKAGE, *sys.stdlib_module_names} or name in found:
            continue
        if not any(parent.name in _SITES for parent in Path(file).parents):
            found.add(name)
            waiting |= set(_names_imported(Path(file), sys.modules[name].__package__))
    return found


def _names_imported(file: Path, package: str | None) -> Iterator[str]:
    """Yield the modules that a file of a package imports, and names behind them, which may be modules too."""
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = resolve_name(f"{'.' * node.level}{node.module or ''}", package)
            yield from (module, *(f"{module}.{alias.name}" for alias in node.names))


def _meaning(file: Path) -> tuple[str, str]:
    """Return the name of a file, and a digest that texts which do nothing leave as it is."""
    if file.suffix != ".py":
        return file.name, _digest_of(file)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [each for each in body if not _is_text(each)] or [ast.Pass()]
    return file.name, content_hash(_written_out(tree), 64)


def _written_out(node: object) -> str:
    """Return a syntax tree as a text that is the same under every Python: `ast.dump` of 3.11.

    Later versions dump no empty lists, and a field that 3.11 lacks.
    """
    if isinstance(node, list):
        return f"[{', '.join(map(_written_out, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    kind = type(node)
    said = [(name, getattr(node, name, None)) for name in node._fields if name != _TYPE_PARAMETERS]
    fields = [f"{name}={_written_out(value)}" for name, value in said if value is not None or not hasattr(kind, name)]
    return f"{kind.__name__}({', '.join(fields)})"


def _is_text(node: "ast.AST") -> bool:  # a text: guests import this module, and parse nothing
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _own_files(file: Path) -> list[Path]:
    found: set[Path] = set()
    waiting = _files_beside(file)
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting |= {path for name in _other_modules(each) for path in _files_of_module(name)} - found
    return sorted(found)


def _files_beside(file: Path) -> set[Path]:
    if (file.parent / "__init__.py").exists():
        return _below(_package_of(file))
    if file.parent.name not in _PLUGINS:
        return {file}  # a module of its own: what it imports is found by name
    root = file.parent.parent
    return {file, *_below(file.parent), *root.glob("*.py"), *root.glob("*/*.py")}


def _package_of(file: Path) -> Path:
    folder = file.parent
    while (folder.parent / "__init__.py").exists():
        folder = folder.parent
    return folder


def _below(folder: Path) -> set[Path]:
    """Return every file below a folder, data as well as code, but what Python or an editor leaves there."""
    return {
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix != ".pyc"
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


def _other_modules(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports, wherever in it, which are neither Longlook's nor Python's own."""
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [str(node.module)]
        else:
            continue
        for name in names:
            first = name.partition(".")[0]
            if first != _PACKAGE and first not in sys.stdlib_module_names:
                yield name


def _files_of_module(name: str) -> set[Path]:
    """Return the files of a module that this process has imported: of all its package, if it is in one."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return set()
    path = Path(file)
    site = next((parent for parent in path.parents if parent.name in _SITES), None)
    if site is not None:  # an installed library: its record has the digests of all its files
        return set(site.glob(f"{name.partition('.')[0]}-*.dist-info/RECORD")) or {path}
    return _below(_package_of(path)) if (path.parent / "__init__.py").exists() else {path}


def _nodes(file: Path) -> Iterator["ast.AST"]:
    if file.suffix != ".py":
        return
    try:
        yield from ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    except (SyntaxError, ValueError):
        return  # importing it reports that


def _named_modules(file: Path) -> Iterator[str]:
    """Yield all modules of Longlook that a file imports or names in a text, in any notation, or names in modules."""
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            names += [".".join(name.split(".")[:2]) for name in names]  # by it, all that the package's face shows
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = re.findall(rf"{_PACKAGE}(?:\.\w+)+", node.value)
        else:
            continue
        for name in names:
            if name.startswith(f"{_PACKAGE}."):
                yield from _modules_behind(name)


def _modules_behind(name: str) -> Iterator[str]:
    """Yield the modules on which code depends that uses a dotted name: the module that defines it, if a face shows it.

    A name of a package as a whole is used for any name that its face shows.
    """
    parts = name.split(".")
    for end in range(2, len(parts)):
        shown = _shown(".".join(parts[:end]))
        if parts[end] in shown:
            module, defined = shown[parts[end]]
            yield module if defined else ".".join((module, *parts[end + 1 :]))
            return
    yield name
    yield from {module for module, _ in _shown(name).values()}


def forget() -> None:
    """Read all files again at the next call, because they have changed in this process."""
    for known in (
        source_digest,
        builder_digest,
        _digest_behind,
        _digest_of,
        _imported_files,
        _files_of_named,
        _shown,
        _imports,
    ):
        known.cache_clear()


@cache
def _shown(package: str) -> dict[str, tuple[str, str]]:
    """Return what the face of a package of Longlook shows; empty for anything else."""
    return shown_by(_face_of(package), package)


def _face_of(package: str) -> Path:
    return _ROOT.joinpath(*package.split(".")[1:], "__init__.py")


def _is_face(file: Path) -> bool:
    return file.name == "__init__.py" and bool(_shown(".".join((_PACKAGE, *file.parent.relative_to(_ROOT).parts))))


@cache
def _digest_behind(modules: frozenset[str]) -> str:
    """Return the digest of all files behind modules; plug-ins that import the same share the walk over the files.

    A face counts by the names that these files import from it, with the modules that define them, and not by its text.
    """
    files, shown = _files_behind(modules)
    digests = sorted((path.relative_to(_ROOT).as_posix(), _digest_of(path)) for path in files)
    return content_hash([digests, sorted(shown)], 64)


def _files_behind(modules: Iterable[str]) -> tuple[set[Path], set[tuple[str, str, str]]]:
    """Return the files of modules, of all that they import, and the `__init__.py` of every package above.

    Faces are not among the files. The second set has each name that is imported by one: its package, itself and the
    module that defines it.
    """
    found: set[Path] = set()
    names: set[tuple[str, str, str]] = set()
    waiting = {file for module in modules for file in _files_of_named(module)}
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            names.update(_names_by_faces(_imports(file)))
            waiting |= _imported_files(file) - found
    return found, names


@cache
def _digest_of(file: Path) -> str:
    return file_digest(file)


@cache
def _imported_files(file: Path) -> frozenset[Path]:
    return frozenset(path for module in _modules_of(_imports(file)) for path in _files_of_named(module))


@cache
def _files_of_named(module: str) -> frozenset[Path]:
    """Return the files of a module, or of a package and what its face shows, faces left out."""
    places = {_place_of(each) for each in (module, *(shown for shown, _ in _shown(module).values()))}
    return frozenset(file for place in places for file in _files_of(place) if not _is_face(file))


def _files_of(place: Path) -> set[Path]:
    """Return the files of a module or a package, with data and the `__init__.py` of every package above.

    Data that have a module's name belong to that module, other data to every module of the folder.
    """
    if place == _ROOT:  # a name of another version of Longlook, in code that copes without it
        return {_ROOT / "__init__.py"}
    beside = [path for path in (place if place.is_dir() else place.parent).iterdir() if path.suffix in _SUFFIXES]
    if place.is_dir():
        files = set(beside)
    else:
        owned = {path.stem for path in beside if path.suffix == ".py"} - {place.stem}
        files = {place, *(path for path in beside if path.suffix != ".py" and path.stem not in owned)}
    return files | {above / "__init__.py" for above in place.parents if above.is_relative_to(_ROOT)}


@cache
def _imports(file: Path) -> list[tuple[str, list[str]]]:
    """Return the modules of Longlook that a file imports, each with the names that it imports of it."""
    found = _IMPORT.findall(file.read_text(encoding="utf-8")) if file.suffix == ".py" else []
    return [(module, _NAME.findall(names.strip("()"))) for module, names in found]


def _names_by_faces(imports: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, str, str]]:
    """Yield each name that is imported of a package's face: the package, the name and the module that defines it."""
    for module, names in imports:
        shown = _shown(module)
        yield from ((module, name, shown[name][0]) for name in names if name in shown)


def _modules_of(imports: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    """Yield the modules that are imported, with a name behind if it is not known whether that is a module, too."""
    for module, names in imports:
        shown = _shown(module)
        yield from (shown[name][0] if name in shown else f"{module}.{name}" for name in names)
        if not names:
            yield module


def _place_of(name: str) -> Path:
    """Return the file of a module, or the folder of a package: that with this name, or that in which the name is."""
    path = _ROOT.joinpath(*name.split(".")[1:])
    while path != _ROOT:
        if path.is_dir():
            return path
        if (file := path.with_name(f"{path.name}.py")).is_file():
            return file
        path = path.parent
    return _ROOT
