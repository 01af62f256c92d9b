"""What a guest's Python imports comes from one file, and is not compiled again."""

import subprocess
import sys
from pathlib import Path

import pytest

from longlook.core.errors import MachineError
from longlook.engines.virtual import bundle_loader
from longlook.engines.virtual.bundle import make_bundle

MODULE = """
import re, sys
from dataclasses import dataclass, field
import difflib, textwrap
import a_module_of_ours as ours

@dataclass(frozen=True)
class Packet:
    number: int
    sizes: tuple[int, ...] = field(default=(1,))

WORD = re.compile(r"(?P<name>[a-z]+)=(\\d+)", re.IGNORECASE | re.ASCII)

def main():
    print(Packet(7), Packet(7) == Packet(7, (1,)), hash(Packet(7)) == hash(Packet(7)))
    print(WORD.fullmatch("RTT=36").groupdict(), WORD.groups, re.sub("[a-c]", "", "abcd"))
    print([type(sys.modules[name]).__name__ for name in ("difflib", "textwrap")])
    print(textwrap.shorten("one two", 5), type(textwrap).__name__, hasattr(difflib, "no_such_name"), difflib.__name__)
    print(sys.modules["dataclasses"].inspect.get_annotations(Packet)["number"].__name__, ours.of_ours)
"""

OURS = """
def __getattr__(name):
    return f"{name} of a module with a __getattr__"
"""

LOAD = """
import sys
loader, *arguments = sys.argv[1:]
code = compile(open(loader).read(), loader, "exec")
sys.addaudithook(lambda event, given: event == "compile" and "__create_fn__" in str(given[0]) and print("compiled"))
import re._parser
parse = re._parser.parse
re._parser.parse = lambda pattern, *rest: print("parsed", pattern) or parse(pattern, *rest)
for name in [name for name in sys.modules if name.partition(".")[0] in ("difflib", "textwrap")]:
    del sys.modules[name]
sys.argv = [loader, *arguments]
exec(code, {"__name__": "__main__"})
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "a_module_of_a_guest.py"


def test_what_a_bundle_has_is_neither_compiled_nor_run_before_it_is_needed(module: Path) -> None:
    module.write_text(MODULE)
    ours = module.with_name("a_module_of_ours.py")
    ours.write_text(OURS)
    bundle = make_bundle(module.stem)
    for file in (module, ours):
        file.unlink()
    command = [sys.executable, "-S", "-c", LOAD, bundle_loader.__file__, bundle, module.stem]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "Packet(number=7, sizes=(1,)) True True",
        "parsed [a-c]",  # an expression that no import compiles
        "{'name': 'RTT'} 2 d",
        "['_Late', '_Late']",
        "[...] module False difflib",
        "int of_ours of a module with a __getattr__",
    ]


def test_a_module_that_cannot_be_imported_is_said(module: Path) -> None:
    module.write_text("import no_such_module")
    with pytest.raises(MachineError, match="no_such_module"):
        make_bundle(module.stem)


def test_a_bundle_that_cannot_be_written_is_no_fault_of_the_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path))
    kept = Path(make_bundle("longlook.core.errors"))
    kept.unlink()
    kept.mkdir()  # a file cannot take its place, whoever asks: root writes into a folder without permission
    (kept / "file").write_text("")
    with pytest.raises(MachineError, match="cannot be kept in the cache") as caught:
        make_bundle("longlook.core.errors")
    assert "LONGLOOK_CACHE" in str(caught.value.hint)
