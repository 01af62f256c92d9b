"""Faces of packages: a name loads the one module that defines it, and its table is what type checkers see."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from scripts.faces import ROOT, faces, imported_by, with_table

from longlook.core.faces import lazy, shown_by

FACE = """
if TYPE_CHECKING:
    from made_up import units as units
    from made_up.deep import parse as parse
    from made_up.model import Link as Link
    from made_up.model import Trial as Trial
else:
    __all__, __getattr__ = lazy(__name__, {"old": "Gone"})
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a face whose table is written, below `src` of a folder that is on Python's path."""
    folder = tmp_path / "src" / "made_up"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text("class Trial: ...\nclass Link: ...\n")
    (folder / "units.py").write_text("SECOND_NS = 10**9\n")
    (folder / "deep.py").write_text("raise RuntimeError('loaded')\n")
    head = "from typing import TYPE_CHECKING\nfrom longlook.core.faces import lazy\n"
    (folder / "__init__.py").write_text(with_table(head + FACE, "made_up", tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "made_up"]:
        del sys.modules[name]


def test_a_name_loads_the_module_that_defines_it_and_no_other(package: Path) -> None:
    face = import_module("made_up")
    assert not {"made_up.model", "made_up.units", "made_up.deep"} & sys.modules.keys()
    assert face.__all__ == ["Link", "Trial", "parse", "units"]
    assert {"Link", "Trial", "parse", "units", "__name__"} <= set(dir(face))
    assert face.Trial.__module__ == "made_up.model"
    assert face.units.SECOND_NS == 10**9
    assert "made_up.deep" not in sys.modules
    with pytest.raises(RuntimeError, match="loaded"):
        _ = face.parse


def test_a_name_that_a_face_does_not_show_is_none_of_its_attributes(package: Path) -> None:
    with pytest.raises(AttributeError, match="module 'made_up' has no attribute 'Gone'"):
        _ = import_module("made_up").Gone


def test_what_a_module_is_given_later_is_seen_by_its_face(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    face = import_module("made_up")
    assert face.Trial is not None
    monkeypatch.setattr(import_module("made_up.model"), "Trial", 1)
    assert face.Trial == 1


def test_a_face_is_read_as_python_reads_it(package: Path) -> None:
    shown = shown_by(package / "__init__.py", "made_up")
    assert shown == {
        "Link": ("made_up.model", "Link"),
        "Trial": ("made_up.model", "Trial"),
        "parse": ("made_up.deep", "parse"),
        "units": ("made_up.units", ""),
    }
    assert sorted(shown) == import_module("made_up").__all__
    assert shown_by(package / "model.py", "made_up.model") == {}
    assert shown_by(package / "gone.py", "made_up.gone") == {}


def test_a_long_table_is_written_as_the_formatter_leaves_it(tmp_path: Path) -> None:
    names = "\n".join(f"    from made_up.model import Name{n:02} as Name{n:02}" for n in range(30))
    text = f"if TYPE_CHECKING:\n{names}\nelse:\n    __all__, __getattr__ = lazy(__name__, {{}})\n"
    written = with_table(text, "made_up", tmp_path)
    assert with_table(written, "made_up", tmp_path) == written
    (tmp_path / "face.py").write_text(written)
    assert len(shown_by(tmp_path / "face.py", "made_up")) == 30
    assert max(map(len, written.splitlines())) <= 120


def test_lazy_has_what_the_table_has() -> None:
    shown, load = lazy("longlook.core", {"model": "Trial"}, "units")
    assert shown == ["Trial", "units"]
    assert load("units") is import_module("longlook.core.units")


@pytest.mark.parametrize("package", faces())
def test_the_table_of_a_face_is_what_type_checkers_see_and_can_be_loaded(package: str) -> None:
    file = ROOT.joinpath("src", *package.split("."), "__init__.py")
    text = file.read_text()
    assert with_table(text, package) == text, "python -m scripts.faces"
    names, modules = imported_by(text, package)
    assert len(shown_by(file, package)) == sum(map(len, names.values())) + len(modules)
    face = import_module(package)
    assert all(getattr(face, name) is not None for name in face.__all__)
