"""The notebooks of the documents run as they are, with real trials, and become pages."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "docs" / "notebooks"
LONGEST_CELL_S = 900
"""A cell may build a patched server, on a busy machine."""

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the folder of notebooks, with the patches beside it that one of them names."""
    docs = tmp_path_factory.mktemp("notebooks") / "docs"
    shutil.copytree(NOTEBOOKS, docs / "notebooks", ignore=shutil.ignore_patterns("runs"))
    shutil.copytree(ROOT / "docs" / "data" / "patches", docs / "data" / "patches")
    return docs / "notebooks"


def executed(name: str, folder: Path) -> Any:
    """Return a notebook with its outputs; its kernel listens at the loopback device alone."""
    notebook = nbformat.read(folder / f"{name}.ipynb", as_version=4)
    client = NotebookClient(
        notebook,
        timeout=LONGEST_CELL_S,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return notebook


def shown(notebook: Any, kind: str) -> str:
    """Return all outputs of one kind, one after another."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", ()))
    found: list[Mapping[str, Any]] = [output["data"] for output in outputs if "data" in output]
    return "\n".join(data[kind] for data in found if kind in data)


def page_of(notebook: Any) -> str:
    page: str = HTMLExporter(template_name="basic").from_notebook_node(notebook)[0]
    return page


@pytest.mark.parametrize("name", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_notebook_is_stored_without_outputs(name: str) -> None:
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


def test_first_steps(beside: Path) -> None:
    notebook = executed("first-steps", beside)
    text = shown(notebook, "text/html")
    assert text.count("▲ better") >= 2
    assert shown(notebook, "image/svg+xml").count("<svg") == 2
    assert "<svg" in page_of(notebook) or "image/svg+xml" in page_of(notebook)


def test_a_regression_hunt(beside: Path) -> None:
    notebook = executed("regression-hunt", beside)
    html, plain = shown(notebook, "text/html"), shown(notebook, "text/plain")
    assert "▼ worse" in html
    assert "100KB" in html
    windows = re.findall(r"'(before|after)': (\d+)", plain)
    sizes = {arm: int(size) for arm, size in windows}
    assert sizes["after"] * 4 <= sizes["before"], "4 packets in the place of 32, perhaps grown by one round trip"
    assert "worse" in page_of(notebook)


def test_a_figure_of_a_paper(beside: Path) -> None:
    notebook = executed("paper-figure", beside)
    assert "+48 %" in shown(notebook, "text/html"), "published"
    assert (beside / "paper-figure.pdf").read_bytes().startswith(b"%PDF")
    assert shown(notebook, "image/svg+xml").count("<svg") == 2
