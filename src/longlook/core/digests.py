"""SHA-256 digests of files and of the code that a result depends on. Standard library only."""

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
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
_NAME = re.compile(r"(\w+)(?:[ \t]+as[ \t]+\w+)?")


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_digest(*modules: str) -> str:
    """Return the digest of all code that modules of Longlook depend on, 64 hexadecimal digits.

    A module depends on every file of its folder, and so on for every module that one of these files imports, wherever
    in the file. Whole folders are more than is needed. The excess discards some results that could have been kept; a
    missing file would keep a wrong result.
    """
    return _digest_behind(frozenset(map(_folder_of, modules)))


def folder_digest(module: str) -> str:
    """Return the digest of the files in a module's own folder, 64 hexadecimal digits; what they import is left out."""
    folder = _folder_of(module)
    return content_hash(sorted((path.relative_to(folder).as_posix(), file_digest(path)) for path in _below(folder)), 64)


def code_files(*modules: str) -> set[Path]:
    """Return the files that `code_digest` covers, and the faces by which these import each other."""
    files, shown = _files_behind(map(_folder_of, modules))
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
    return content_hash([digests, sorted(modules), _digest_behind(frozenset(map(_folder_of, modules)))], 64)


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


def _nodes(file: Path) -> Iterator[ast.AST]:
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
            yield shown[parts[end]][0]
            return
    yield name
    yield from {module for module, _ in _shown(name).values()}


def forget() -> None:
    """Read all files again at the next call, because they have changed in this process."""
    source_digest.cache_clear()
    _digest_behind.cache_clear()
    _shown.cache_clear()


@cache
def _shown(package: str) -> dict[str, tuple[str, str]]:
    """Return what the face of a package of Longlook shows; empty for anything else."""
    return shown_by(_face_of(package), package)


def _face_of(package: str) -> Path:
    return _ROOT.joinpath(*package.split(".")[1:], "__init__.py")


def _is_face(file: Path) -> bool:
    return file.name == "__init__.py" and bool(_shown(".".join((_PACKAGE, *file.parent.relative_to(_ROOT).parts))))


@cache
def _digest_behind(folders: frozenset[Path]) -> str:
    """Return the digest of all files behind folders; plug-ins that import the same share the walk over the files.

    A face counts by the names that these files import from it, with the modules that define them, and not by its text.
    """
    files, shown = _files_behind(folders)
    digests = sorted((path.relative_to(_ROOT).as_posix(), file_digest(path)) for path in files)
    return content_hash([digests, sorted(shown)], 64)


def _files_behind(folders: Iterable[Path]) -> tuple[set[Path], set[tuple[str, str, str]]]:
    """Return the files of folders, of all that they import, and the `__init__.py` of every package above.

    Faces are not among the files. The second set has each name that is imported by one: its package, itself and the
    module that defines it.
    """
    found: set[Path] = set()
    seen: set[Path] = set()
    names: set[tuple[str, str, str]] = set()
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        if folder in seen:
            continue
        seen.add(folder)
        if not folder.is_dir():  # a name of another version of Longlook, in code that copes without it
            continue
        files = {path for path in folder.iterdir() if path.suffix in (".py", ".json")}
        files |= {parent / "__init__.py" for parent in folder.parents if parent.is_relative_to(_ROOT)}
        files = {file for file in files if not _is_face(file)}
        found |= files
        for file in files:
            imports = _imports(file)
            names.update(_names_by_faces(imports))
            waiting.extend(_folders_of(imports))
    return found, names


def _imports(file: Path) -> list[tuple[str, list[str]]]:
    """Return the modules of Longlook that a file imports, each with the names that it imports of it."""
    found = _IMPORT.findall(file.read_text(encoding="utf-8")) if file.suffix == ".py" else []
    return [(module, _NAME.findall(names.strip("()"))) for module, names in found]


def _names_by_faces(imports: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, str, str]]:
    """Yield each name that is imported of a package's face: the package, the name and the module that defines it."""
    for module, names in imports:
        shown = _shown(module)
        yield from ((module, name, shown[name][0]) for name in names if name in shown)


def _folders_of(imports: Iterable[tuple[str, list[str]]]) -> Iterator[Path]:
    """Yield the folders of all modules that are imported."""
    for module, names in imports:
        if module == _PACKAGE and not names:
            continue
        shown = _shown(module)
        yield from (_folder_of(shown[name][0]) for name in names if name in shown)
        others = [name for name in names if name not in shown]
        if module != _PACKAGE and (others or not names):
            yield _folder_of(module)
        for name in others:  # a package may be imported from its parent
            folder = _ROOT.joinpath(*module.split(".")[1:], name)
            if folder.is_dir():
                yield folder


def _folder_of(module: str) -> Path:
    """Return the folder of a module, or of the module in which a name is."""
    path = _ROOT.joinpath(*module.split(".")[1:])
    while path != _ROOT and not path.is_dir():
        path = path.parent
    return path
