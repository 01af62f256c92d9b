"""Every example of a docstring is run, and every public name has one sentence that says what it is."""

import doctest
import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import longlook.api as ll
from longlook.api.runs import Run

NAMES: list[str] = importlib.import_module("longlook.api").__all__
MODULES = sorted(path.stem for path in Path(ll.__file__).parent.glob("*.py") if path.stem != "__init__")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def module(name: str) -> ModuleType:
    return importlib.import_module(f"longlook.api.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str, run: Run, beside: Path) -> None:
    names = {**{each: getattr(ll, each) for each in NAMES}, "run": run}
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=FLAGS)
    found: list[str] = []
    for test in finder.find(module(name), extraglobs=names):
        runner.run(test, out=found.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(found)


def test_the_calls_that_a_newcomer_makes_have_examples() -> None:
    for each in (ll.study, ll.studies, ll.Study, ll.Study.with_, ll.Study.to_toml, ll.open, ll.compare):
        assert ">>> " in str(each.__doc__), each
    for member in (Run.samples, Run.to_xarray, Run.cell, Run.verdicts):
        assert ">>> " in str(member.__doc__), member


def test_every_public_name_says_what_it_is() -> None:
    for name in NAMES:
        made = getattr(ll, name)
        assert inspect.getdoc(made), name
        for member, value in vars(made).items() if inspect.isclass(made) else ():
            if not member.startswith("_"):
                assert getattr(value, "__doc__", None) or not callable(value), f"{name}.{member}"
