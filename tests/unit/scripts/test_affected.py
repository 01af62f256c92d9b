"""Which unit tests a change concerns, on a small project made up for it."""

import subprocess
from pathlib import Path

import pytest
from scripts.affected import ROOT, affected_tests, changed_files

FILES = {
    "src/longlook/__init__.py": "",
    "src/longlook/core/__init__.py": "",
    "src/longlook/core/units.py": "",
    "src/longlook/core/registry.py": "",
    "src/longlook/core/checksum.py": "",
    "src/longlook/stacks/__init__.py": "",
    "src/longlook/stacks/quick.py": "from longlook.core import checksum",
    "src/longlook/causes/__init__.py": "",
    "src/longlook/causes/slow.py": "",
    "src/longlook/lab/programs.py": "from longlook.core import registry\nregistry.stack('quick')",
    "src/longlook/explain/cause.py": "from longlook.core import registry\nregistry.load('causes')",
    "src/longlook/explain/any.py": "from longlook.core.registry import load, nearest\nload(folder)",
    "src/longlook/explain/near.py": "from longlook.core.registry import nearest\nnearest('causes', {})",
    "src/longlook/network/__init__.py": "",
    "src/longlook/network/settings.py": "def late():\n    from longlook.core.units import parse\n",
    "src/longlook/network/schema.json": "{}",
    "src/longlook/report/page.py": "from longlook.network import settings",
    "src/longlook/timeline/__init__.py": """if TYPE_CHECKING:
    from longlook.timeline import events as events
    from longlook.timeline.rows import Row as Row
else:
    __all__, __getattr__ = lazy(__name__, {"rows": "Row"}, "events")
""",
    "src/longlook/timeline/events.py": "",
    "src/longlook/timeline/rows.py": "",
    "tests/unit/timeline/test_rows.py": "from longlook.timeline import Row",
    "tests/unit/timeline/test_events.py": "from longlook.timeline import events",
    "tests/conftest.py": "",
    "tests/data/links.py": "import longlook.network.settings",
    "tests/unit/core/test_units.py": "from longlook.core import units",
    "tests/unit/core/test_registry.py": "from longlook.core import registry",
    "tests/unit/causes/test_every.py": "from longlook.explain.cause import causes",
    "tests/unit/causes/test_slow.py": "from longlook.causes import slow",
    "tests/unit/explain/test_any.py": "from longlook.explain import any",
    "tests/unit/explain/test_near.py": "from longlook.explain import near",
    "tests/unit/lab/test_programs.py": "from longlook.lab import programs",
    "tests/unit/network/test_settings.py": "from tests.data.links import LINK",
    "tests/unit/report/test_page.py": "import longlook.report.page\nDOC = 'report.md'",
    "tests/unit/test_documents.py": "",
}
NAMES = ("core/test_units", "core/test_registry", "network/test_settings", "report/test_page", "test_documents")
UNITS, REGISTRY, SETTINGS, PAGE, DOCUMENTS = (f"tests/unit/{name}.py" for name in NAMES)
ASKING = ("causes/test_every", "causes/test_slow", "explain/test_any", "explain/test_near", "lab/test_programs")
EVERY_CAUSE, SLOW, ANY, NEAR, PROGRAMS = (f"tests/unit/{name}.py" for name in ASKING)

BY_FACE = ("tests/unit/timeline/test_events.py", "tests/unit/timeline/test_rows.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("src/longlook/report/page.py", [PAGE]),
        ("src/longlook/network/settings.py", [SETTINGS, PAGE]),
        ("src/longlook/core/units.py", [UNITS, SETTINGS, PAGE]),
        ("src/longlook/network/__init__.py", [SETTINGS, PAGE]),
        ("src/longlook/network/schema.json", [SETTINGS]),
        ("src/longlook/stacks/quick.py", [ANY, PROGRAMS]),
        ("src/longlook/stacks/removed.py", [ANY, PROGRAMS]),
        ("src/longlook/causes/slow.py", [EVERY_CAUSE, SLOW, ANY]),
        ("src/longlook/core/checksum.py", [ANY, PROGRAMS]),
        ("src/longlook/core/registry.py", [EVERY_CAUSE, REGISTRY, ANY, NEAR, PROGRAMS]),
        ("src/longlook/timeline/rows.py", [BY_FACE[1]]),
        ("src/longlook/timeline/events.py", [BY_FACE[0]]),
        ("src/longlook/timeline/__init__.py", list(BY_FACE)),
        ("tests/data/links.py", [SETTINGS]),
        ("tests/unit/core/test_units.py", [UNITS]),
        (
            "tests/conftest.py",
            sorted([REGISTRY, UNITS, SETTINGS, PAGE, DOCUMENTS, EVERY_CAUSE, SLOW, ANY, NEAR, PROGRAMS, *BY_FACE]),
        ),
        ("docs/guide/report.md", [PAGE, DOCUMENTS]),
        ("benches/results.json", []),
    ],
)
def test_a_change_concerns_what_imports_it_however_deep(project: Path, changed: str, tests: list[str]) -> None:
    assert affected_tests([changed], project) == tests


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("stacks/quic_go", "instruments/conformance/test_runner"),
        ("workloads/echo", "provision/test_content"),
        ("metrics/link", "metrics/test_metrics"),
        ("causes/receivers", "causes/test_every_cause"),
        ("explain/changes", "causes/test_every_cause"),
    ],
)
def test_a_change_of_a_plugin_concerns_the_test_of_all_of_its_kind(changed: str, test: str) -> None:
    """In this checkout, where these tests know plug-ins by the registry alone."""
    assert (ROOT / f"src/longlook/{changed}.py").is_file()
    assert f"tests/unit/{test}.py" in affected_tests([f"src/longlook/{changed}.py"])


def git(project: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.test"]
    subprocess.run(["git", *identity, *arguments], cwd=project, check=True, capture_output=True)


def test_changes_are_those_since_the_branch_began_committed_or_not(project: Path) -> None:
    git(project, "init", "--initial-branch=main")
    git(project, "add", ".")
    git(project, "commit", "--message=Begin")
    assert changed_files(root=project) == set()
    git(project, "checkout", "-b", "work")
    (project / "src/longlook/core/units.py").write_text("SECOND = 1\n")
    git(project, "commit", "--all", "--message=Change")
    (project / "tests/conftest.py").unlink()
    (project / "new.py").write_text("")
    assert changed_files(root=project) == {"src/longlook/core/units.py", "tests/conftest.py", "new.py"}


def test_without_the_branch_changes_are_those_since_the_last_commit(project: Path) -> None:
    git(project, "init", "--initial-branch=trunk")
    git(project, "add", ".")
    git(project, "commit", "--message=Begin")
    (project / "new.py").write_text("")
    assert changed_files(root=project) == {"new.py"}
