"""Documents stay readable as text and in a diff, lead somewhere, and name what there is."""

import json
import math
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median

import pytest
from typer.testing import CliRunner

from longlook.cli import app
from longlook.report import wording

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "longlook"
LONGEST_LINE = 200
_LINK = re.compile(r"(?:\[[^\]\n]*\]\(|<img src=\"|^\[[^\]\n]+\]: )([^)\"\s]+)", re.M)
_CODE = re.compile(r"`[^`\n]*`")
COMMANDS = ("README.md", "CONTRIBUTING.md", "docs/tutorial/first-hour.md")
"""Documents whose commands a newcomer types."""


def documents() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split()]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def links(path: Path) -> Iterator[str]:
    """Yield the targets of a document's links and pictures, but for those of other sites."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("    "))
    targets = (found[1] for found in _LINK.finditer(_CODE.sub("", text)))
    yield from (target for target in targets if not re.match(r"[a-z]+:", target))


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as GitHub and GitLab make them."""
    headings = (line.lstrip("#").strip() for line in path.read_text().splitlines() if re.match(r"#+ ", line))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", documents(), ids=name)
def test_no_line_is_too_long_to_read(path: Path) -> None:
    """One sentence a line; what does not fit a table's row of this length belongs below the table."""
    long = [number for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > LONGEST_LINE]
    assert not long


@pytest.mark.parametrize("path", documents(), ids=name)
def test_every_link_leads_somewhere(path: Path) -> None:
    for target in links(path):
        file, _, anchor = target.partition("#")
        document = (path.parent / file).resolve() if file else path
        assert document.exists(), target
        assert not anchor or anchor in anchors(document), target


def test_the_index_lists_every_page() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / target).resolve() for target in links(index)}
    pages = {path for path in documents() if index.parent in path.parents and path != index}
    assert pages <= listed


def test_architecture_lists_the_packages_in_their_order() -> None:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (order,) = (rule["layers"] for rule in rules if rule["id"] == "order")
    assert [package for package, _ in _packages()] == order[::-1]


def test_entry_points_in_architecture_are_in_their_packages() -> None:
    for package, entries in _packages():
        texts = [file.read_text() for file in (PACKAGE / package).rglob("*.py")]
        for entry in entries:
            definition = re.compile(rf"^(def |class |async def )?{entry}\b *[(:=\[]", re.M)
            assert any(definition.search(text) for text in texts), f"{package}: {entry}"


def _packages() -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of ARCHITECTURE's table of packages: name and entry points."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.split("| package | what goes in", 1)[1].split("\n\n", 1)[0]
    for row in table.splitlines()[2:]:
        package, _, entries = (cell.strip() for cell in row.strip("|").split("|"))
        yield package.strip("`"), re.findall(r"`(\w+)`", entries)


def test_readme_shows_the_demo_as_it_is_on_record() -> None:
    record = json.loads((ROOT / "tests" / "golden" / "demo.json").read_text())
    text = (ROOT / "README.md").read_text()
    assert f"results {record['results'][:16]}`" in text
    shown = [row.strip("| ").split(" | ")[:6] for row in text.splitlines() if row.startswith("| quic-go |")]
    expected = []
    for client, rate, size in (row[:3] for row in shown):
        tcp, quic = (record["values"][f"{client}_{rate}_{size} {arm}"]["page_load_time"] for arm in ("tcp", "quic"))
        effect = 100 * (1 - math.exp(fmean(math.log(b / a) for a, b in zip(tcp, quic, strict=True))))
        medians = (wording.quantity(median(values), "s").replace("\N{NO-BREAK SPACE}", " ") for values in (tcp, quic))
        expected.append([client, rate, size, *medians, wording.effect(effect).replace("\N{NO-BREAK SPACE}", " ")])
    assert len(shown) == 9
    assert shown == expected


def _commands() -> list[tuple[str, str]]:
    """Return the lines of code blocks that call `longlook`, without comments, each with its document."""
    lines = ((document, line) for document in COMMANDS for line in (ROOT / document).read_text().splitlines())
    return [(document, line.split(" #")[0].strip()) for document, line in lines if line.startswith("    longlook ")]


@pytest.mark.parametrize(("document", "command"), _commands())
def test_every_command_that_is_shown_exists_with_its_options(document: str, command: str) -> None:
    words = shlex.split(command.split(" -- ", maxsplit=1)[0])[1:]
    shown = CliRunner().invoke(app, [*words, "--help"])
    assert shown.exit_code == 0, f"{document}: {shown.output}"
