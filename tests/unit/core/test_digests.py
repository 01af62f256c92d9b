"""A digest of code covers every file that a result depends on, so that no old result passes for a new one."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import longlook
from longlook.analysis import measure_cache
from longlook.core import calibration, digests, registry
from longlook.engines import virtual
from tests.unit.conftest import forget_digests

PACKAGE = Path(longlook.__file__).parent
KEYS: dict[str, Callable[[], str]] = {
    "trial": virtual.agent_digest,
    "measurement": measure_cache.code_of_measurements,
    "calibration": calibration.calibration_code_digest,
}


def touched(path: Path) -> None:
    path.write_text(path.read_text() + "\n# another line\n")
    forget_digests()


@pytest.mark.parametrize(
    ("result", "file"),
    [
        *(("trial", name) for name in ("core/flows.py", "core/paths.py", "core/units.py", "network/traces.py")),
        *(("trial", name) for name in ("lab/linux/__init__.py", "lab/linux/system.py", "engines/virtual/boot.py")),
        *(("measurement", name) for name in ("core/flows.py", "network/surgery.py", "timeline/collectors.py")),
        *(("measurement", name) for name in ("core/model.py", "core/codec.py", "metrics/link.py")),
        *(("calibration", name) for name in ("lab/router.py", "network/config.py", "lab/linux/netlink.py")),
        *(("calibration", name) for name in ("lab/guest.py", "instruments/calibrate/link/laws.py", "core/flows.py")),
    ],
)
def test_a_changed_file_changes_the_key(package: Path, result: str, file: str) -> None:
    before = KEYS[result]()
    touched(package / file)
    assert KEYS[result]() != before


@pytest.mark.parametrize("result", KEYS)
@pytest.mark.parametrize(
    "file",
    [
        *("instruments/link/show.py", "report/page.py", "cli/__init__.py", "instruments/compare/gate.py"),
        *("provision/video_encoding.py", "provision/video_encoding.json", "provision/go.py", "provision/python.py"),
    ],
)
def test_what_a_result_does_not_depend_on_keeps_it(package: Path, result: str, file: str) -> None:
    before = KEYS[result]()
    touched(package / file)
    assert KEYS[result]() == before


@pytest.mark.parametrize(("file", "counts"), [("analysis/stats/verdicts.py", True), ("core/model.py", False)])
def test_a_folder_alone_does_not_depend_on_what_it_imports(package: Path, file: str, counts: bool) -> None:
    before = digests.folder_digest("longlook.analysis.stats")
    touched(package / file)
    assert (digests.folder_digest("longlook.analysis.stats") != before) is counts


@pytest.mark.parametrize(
    "modules",
    [
        ("longlook.engines.virtual", "longlook.lab.guest", "longlook.lab.laboratory"),
        ("longlook.analysis.measure",),
        tuple(f"longlook.instruments.calibrate.link.{name}" for name in ("virtual", "guest", "measure")),
    ],
    ids=KEYS,
)
def test_every_module_that_is_really_imported_is_covered(modules: tuple[str, ...]) -> None:
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'longlook'), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code, *modules], capture_output=True, text=True, check=True)
    imported = set(map(Path, done.stdout.split()))
    assert imported
    faces = {file for file in imported if digests._is_face(file)}  # they have no code of their own
    assert imported - faces <= digests.code_files(*modules)


def test_a_plug_in_depends_on_what_it_imports(package: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text("from longlook.provision import rust\n")
    before = digests.source_digest(plugin)
    touched(package / "provision" / "rust.py")
    changed = digests.source_digest(plugin)
    plugin.write_text("from longlook.provision import rust  # and more\n")
    forget_digests()
    assert len({before, changed, digests.source_digest(plugin)}) == 3


def test_modules_are_found_however_they_are_imported(package: Path, tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    ways = (
        "from longlook import core, provision",
        "from longlook import (\n    provision as made,\n)",
        "def late():\n    from longlook.provision.rust import cargo_build",
        "import longlook.provision.rust",
    )
    for way in ways:
        plugin.write_text(way)
        forget_digests()
        before = digests.source_digest(plugin)
        touched(package / "provision" / "rust.py")
        assert digests.source_digest(plugin) != before, way


@pytest.mark.parametrize(
    ("module", "data", "counts"),
    [
        ("video_encoding", "video_encoding.json", True),
        ("rust", "video_encoding.json", False),
        ("rust", "rust.json", True),
        ("rust", "no_module.json", True),
    ],
)
def test_data_count_with_the_module_of_their_name_or_with_all_of_their_folder(
    package: Path, tmp_path: Path, module: str, data: str, counts: bool
) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(f"from longlook.provision.{module} import anything")
    (package / "provision" / data).write_text("{}")
    forget_digests()
    before = digests.source_digest(plugin)
    (package / "provision" / data).write_text("[]")
    forget_digests()
    assert (digests.source_digest(plugin) != before) is counts


@pytest.mark.parametrize(
    "way",
    [
        "import json, longlook.provision.rust",
        "from longlook.core import stack; from longlook.provision import rust",
        "from longlook import \\\n    provision",
        "from longlook import (core,  # a ) b\n    provision)",
        "if True: from longlook.provision import rust",
        "import importlib\nimportlib.import_module('longlook.provision.rust')",
    ],
)
def test_a_plug_in_may_import_in_any_notation(package: Path, tmp_path: Path, way: str) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text(way)
    before = digests.source_digest(plugin)
    touched(package / "provision" / "rust.py")
    assert digests.source_digest(plugin) != before


def test_a_plug_in_depends_on_the_files_of_its_root(tmp_path: Path) -> None:
    plugin, helper = tmp_path / "root" / "metrics" / "mine.py", tmp_path / "root" / "metrics" / "_helper.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("from _helper import FACTOR\n")
    helper.write_text("FACTOR = 1\n")
    before = digests.source_digest(plugin)
    helper.write_text("FACTOR = 2\n")
    forget_digests()
    assert digests.source_digest(plugin) != before


def test_a_plug_in_depends_on_its_package(tmp_path: Path) -> None:
    package = tmp_path / "mine"
    (package / "inner").mkdir(parents=True)
    for folder in (package, package / "inner"):
        (folder / "__init__.py").touch()
    plugin, helper = package / "inner" / "metric.py", package / "helper.py"
    plugin.write_text("from mine.helper import FACTOR\n")
    helper.write_text("FACTOR = 1\n")
    before = digests.source_digest(plugin)
    helper.write_text("FACTOR = 2\n")
    forget_digests()
    assert digests.source_digest(plugin) != before


FACE = """
if TYPE_CHECKING:
    from longlook.extra.far.other import OTHER as OTHER
    from longlook.extra.near.one import ONE as ONE
else:
    __all__, __getattr__ = lazy(
        __name__,
        {"far.other": "OTHER", "near.one": "ONE"},
    )
"""


@pytest.mark.parametrize(
    ("file", "old", "new", "counts"),
    [
        ("near/one.py", "1", "2", True),
        ("near/two.py", "1", "2", False),
        ("far/other.py", "1", "2", False),
        ("__init__.py", "OTHER", "ANOTHER", False),
        ("__init__.py", "near.one", "near.two", True),
    ],
)
@pytest.mark.parametrize(
    "way",
    ["from longlook.extra import ONE", "def late():\n    from longlook.extra import (\n        ONE as TWO,\n    )"],
)
def test_a_name_of_a_face_counts_as_the_module_that_defines_it(
    package: Path, tmp_path: Path, file: str, old: str, new: str, counts: bool, way: str
) -> None:
    extra = package / "extra"
    for folder in ("near", "far"):
        (extra / folder).mkdir(parents=True)
        (extra / folder / "__init__.py").touch()
    (extra / "__init__.py").write_text(FACE)
    (extra / "near" / "one.py").write_text("from longlook.core import codec\nONE = 1\n")
    (extra / "near" / "two.py").write_text("ONE = 1\n")
    (extra / "far" / "other.py").write_text("OTHER = 1\n")
    plugin = tmp_path / "mine.py"
    plugin.write_text(way)
    forget_digests()
    before = digests.source_digest(plugin)
    changed = extra / file
    changed.write_text(changed.read_text().replace(old, new))
    forget_digests()
    assert (digests.source_digest(plugin) != before) is counts


DERIVED = """
from dataclasses import replace
import {module}
from longlook.stacks.quic_go import STACK as BASE
STACK = replace(BASE, name="mine", server_command={module}.server_command)
"""


@pytest.mark.parametrize("way", ["module", "package", "deep"])
def test_a_derived_stack_depends_on_its_functions_wherever_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The functions are outside the root of the plug-in, found by Python's own path."""
    name, elsewhere = f"elsewhere_{way}", tmp_path / "elsewhere"
    code = elsewhere / {"module": f"{name}.py", "package": f"{name}/inner.py", "deep": f"{name}.py"}[way]
    code.parent.mkdir(parents=True)
    if way == "package":
        (code.parent / "__init__.py").write_text(f"from {name}.inner import server_command\n")
    if way == "deep":
        code.write_text(f"from {name}_helper import server_command\n")
        code = elsewhere / f"{name}_helper.py"
    code.write_text("def server_command(program, job): return 1\n")
    plugin = tmp_path / "root" / "stacks" / "mine.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(DERIVED.format(module=name))
    monkeypatch.syspath_prepend(str(elsewhere))
    importlib.import_module(name)
    before = digests.source_digest(plugin)
    code.write_text("def server_command(program, job): return 2\n")
    forget_digests()
    assert digests.source_digest(plugin) != before


def test_a_plug_in_depends_on_the_data_beside_it(tmp_path: Path) -> None:
    plugin, data = tmp_path / "root" / "stacks" / "mine.py", tmp_path / "root" / "stacks" / "mine" / "server.conf"
    data.parent.mkdir(parents=True)
    plugin.write_text("STACK = None\n")
    data.write_text("one")
    before = digests.source_digest(plugin)
    (data.parent / "__pycache__").mkdir()
    (data.parent / "__pycache__" / "x.pyc").write_bytes(b"made")
    forget_digests()
    assert digests.source_digest(plugin) == before
    data.write_text("two")
    forget_digests()
    assert digests.source_digest(plugin) != before


def test_an_installed_library_of_a_plug_in_counts_by_its_record(tmp_path: Path) -> None:
    plugin = tmp_path / "root" / "metrics" / "mine.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("import numpy.linalg\n")
    names = {path.name for path in digests._own_files(plugin)}
    assert names == {"mine.py", "RECORD"}


def test_names_of_another_version_of_longlook_are_passed_over(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    plugin.write_text("try:\n    import longlook.core.stack\nexcept ImportError:\n    import longlook.gone.stack\n")
    assert len(digests.source_digest(plugin)) == 64


KEY = {
    "provision/video_encoding.py": set(),
    "provision/video_encoding.json": set(),
    "provision/content.py": set(),
    "provision/go.py": {"caddy", "masque", "quic-go", "site", "traffic", "visitor"},
    "provision/rust.py": {"noq", "quinn", "quiche", "s2n-quic", "tquic"},
    "provision/cargo.py": {"noq", "quinn", "quiche", "s2n-quic", "tquic"},
    "provision/packaged.py": {"apache", "haproxy", "nginx"},
    "provision/decoder.py": {"firefox"},
}
"""File → the stacks whose keys have it: their own files, and what these call."""


@pytest.mark.parametrize("file", KEY)
def test_a_change_renews_the_stacks_that_it_can_concern_and_no_other(package: Path, file: str) -> None:
    def keys() -> dict[str, str]:
        return {name: digests.source_digest(registry.source("stacks", name)) for name in registry.stacks()}

    before = keys()
    touched(package / file)
    after = keys()
    assert {name for name in before if before[name] != after[name]} == KEY[file]


BUILDERS = ("provision.go", "provision.rust", "provision.python", "provision.packaged", "stacks.ngtcp2")


@pytest.mark.parametrize(
    ("file", "text", "renewed"),
    [
        ("provision/video_encoding.py", "ANOTHER = 1", set()),
        ("provision/build_cache.py", "ANOTHER = 1", set()),
        ("core/stack.py", "ANOTHER = 1", set()),
        ("provision/go.py", "# another comment", set()),
        ("provision/go.py", '"""Another text."""', set()),
        ("provision/go.py", "ANOTHER = 1", {"provision.go"}),
        ("provision/cargo.py", "ANOTHER = 1", {"provision.rust"}),
        ("provision/debian.py", "ANOTHER = 1", {"provision.packaged", "stacks.ngtcp2"}),
    ],
)
def test_code_renews_the_programs_that_it_builds(package: Path, file: str, text: str, renewed: set[str]) -> None:
    def keys() -> dict[str, str]:
        return {name: digests.builder_digest(f"longlook.{name}") for name in BUILDERS}

    for name in BUILDERS:
        importlib.import_module(f"longlook.{name}")
    before = keys()
    (package / file).write_text(f"{(package / file).read_text()}\n{text}\n")
    digests.forget()
    after = keys()
    assert {name for name in BUILDERS if before[name] != after[name]} == renewed


def test_a_builder_has_one_digest_under_every_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of another Python's wheel are taken by it: 3.12 and 3.13 write syntax trees in another way than 3.11."""
    source = (
        "class Made:\n    def __init__(self, *names, deep=()):\n        self.names = [f'{n!r:>4}' for n in names]\n"
    )
    (tmp_path / "builder_of_all.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("builder_of_all")
    assert digests.builder_digest("builder_of_all") == (
        "e5e473d17b8b7475e18b32d48bb1f55851065bb621040843f9dc72defeb665c3"
    )


def test_every_module_that_a_stack_imports_is_in_its_key() -> None:
    code = (
        "import importlib, sys\n"
        "importlib.import_module(sys.argv[1])\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'longlook'), sep='\\n')"
    )
    for file in (PACKAGE / "stacks").glob("[!_]*.py"):
        module = f"longlook.stacks.{file.stem}"
        done = subprocess.run([sys.executable, "-c", code, module], capture_output=True, text=True, check=True)
        imported = {path for path in map(Path, done.stdout.split()) if not digests._is_face(path)}
        assert file in imported
        assert imported <= digests.code_files(module), module


def behind(name: str) -> set[str]:
    """The modules of an imported name; a package's own folder if it is imported as a whole."""
    return {name} if name.count(".") == 1 else set(digests._modules_behind(name))


def test_our_own_imports_are_in_the_notation_that_is_read_fast() -> None:
    """Our files are read by a regular expression; whatever Python's own parser finds in them it finds too."""
    for file in PACKAGE.rglob("*.py"):
        fast = set(map(digests._place_of, digests._modules_of(digests._imports(file))))
        tree = ast.parse(file.read_text())
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom | ast.Import)]
        for node in nodes:
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if isinstance(node, ast.ImportFrom)
                else [alias.name for alias in node.names]
            )
            modules = {module for name in names if name.startswith("longlook.") for module in behind(name)}
            places = {digests._place_of(module) for module in modules}
            assert places - {PACKAGE} <= fast, file
