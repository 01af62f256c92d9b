"""The way of a study, on a small project in which each call is of one kind."""

from pathlib import Path

import pytest
from scripts import study_walk
from scripts.study_walk import visited_modules

FILES = {
    "pipeline/__init__.py": "",
    "pipeline/run.py": """
from longlook.core import units
from longlook.pipeline.stage import Stage, parse, unknown
from longlook.study import make_plan

def run_study(study):
    make_plan(study)
    units.parse()
    Stage().go()

    def never_called():
        unknown()
""",
    "pipeline/stage.py": """
from longlook.core.deep import reached
from longlook.core.other import elsewhere
from longlook.unread import unknown

class Stage:
    def __init__(self):
        self.begin()
    def begin(self):
        reached()
    def go(self):
        elsewhere()
""",
    "core/__init__.py": "",
    "core/units.py": "def parse():\n    parse()\n    print()\n",
    "core/deep.py": "def reached():\n    def inner():\n        pass\n    inner()\n",
    "core/other.py": "def elsewhere():\n    pass\n",
    "study/__init__.py": "from longlook.study.plan import make_plan\n",
    "study/plan.py": "def make_plan(study):\n    return study\n",
    "unread.py": "def unknown():\n    pass\n",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "longlook" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "longlook"


def test_the_walk_enters_what_it_can_tell_from_the_text(source: Path) -> None:
    """An imported function, one that a package passes on, one of a module, a class's beginning, its own methods."""
    visited = {"longlook.pipeline.run", "longlook.study.plan", "longlook.core.units", "longlook.pipeline.stage"}
    assert visited_modules(source) == {*visited, "longlook.core.deep"}


def test_the_walk_ends_after_so_many_steps(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_walk, "LONGEST", 3)  # into run_study, into make_plan and back
    assert visited_modules(source) == {"longlook.pipeline.run", "longlook.study.plan"}


def test_the_real_walk_begins_with_the_stages() -> None:
    found = visited_modules(Path(__file__).parents[3] / "src" / "longlook")
    assert {"longlook.pipeline.run", "longlook.pipeline.shards", "longlook.study.plan"} <= found
