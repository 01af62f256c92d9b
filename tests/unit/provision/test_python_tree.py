"""Sources in Python that are no release, with an installer that stands in for uv: no registry is asked."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from longlook.core import InputError, MachineError, Program, SourceTree
from longlook.core.paths import adapters_dir
from longlook.provision import confined, python, python_tree
from longlook.provision.python import find_uv
from longlook.provision.python_tree import python_sources, state_python_version
from longlook.stacks.aioquic import STACK

UV = """#!/bin/sh
# `uv pip install … --python VENV/bin/python …` and `uv build … SOURCES`, which is confined
case "$*" in build*)
    for sources; do :; done
    test -f "$sources/backend.py" && exec "{uv}" "$@"
    grep -q broken "$sources/src/thing/fast.c" && { echo "fast.c:1: fatal error: Python.h: No such file"; exit 1; }
    while [ "$1" != --out-dir ]; do shift; done
    cd "$sources/src" && echo compiled > thing/fast.so
    mkdir thing-9.dist-info && touch thing-9.dist-info/METADATA
    exec "{python}" -m zipfile -c "$2/thing-9.whl" * ;;
esac
echo "$*" >> "$CALLS"
all="$*"
while [ "$1" != --python ]; do shift; done
site=$(dirname "$(dirname "$2")")/lib/python{version}/site-packages
case "$all" in
*' -r '*) mkdir "$site/needed-1.dist-info"
    if grep -q '^thing==' "${all##* }"; then
        mkdir "$site/thing-1.0.dist-info" "$site/thing"; echo released > "$site/thing/fast.so"
        echo 'ANSWER = 42' > "$site/thing/__init__.py"; touch "$site/thing/gone.py"
    fi ;;
*'needed>=2'*) echo "import os; os.mkdir('$CALLS.ran')" > "$site/starts.pth"
    mv "$site/needed-1.dist-info" "$site/needed-2.dist-info" ;;
esac
"""
PROJECT = '[project]\nname = "thing"\ndynamic = ["version"]\ndependencies = ["needed>=1"]\n'
FILES = {
    "pyproject.toml": PROJECT,
    "setup.py": "",
    "src/thing/__init__.py": '__version__ = "1.1.dev0"\nANSWER = 43\n',
    "src/thing/fast.c": "int answer = 42;\n",
}


@pytest.fixture(autouse=True)
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the sources of release 1.0, which the adapter `thing` drives."""
    monkeypatch.setenv("LONGLOOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    uv = tmp_path / "uv"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    uv.write_text(UV.replace("{version}", version).replace("{python}", sys.executable).replace("{uv}", find_uv()))
    uv.chmod(0o755)
    monkeypatch.setattr(python, "find_uv", lambda: str(uv))
    monkeypatch.setattr(python_tree, "find_uv", lambda: str(uv))
    adapters = tmp_path / "adapters"
    for name in ("thing/locks", "lib/python"):
        (adapters / name).mkdir(parents=True)
    (adapters / "thing" / "locks" / "1.0.txt").write_text(
        "needed==1 \\\n    --hash=sha256:aa\nthing==1.0 \\\n    --hash=sha256:bb\n"
    )
    (adapters / "thing" / "thing_main.py").write_text("import thing\nprint(thing.ANSWER, thing.__version__)\n")
    (adapters / "python-tools.txt").write_text("setuptools==84 \\\n    --hash=sha256:cc\n")
    monkeypatch.setenv("LONGLOOK_ADAPTERS", str(adapters))
    write(tmp_path / "cache" / "releases" / "thing-1.0", FILES)
    return tmp_path / "cache" / "releases" / "thing-1.0"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def tree(version: str = "main-1234567", digest: str = "d1", **changed: str) -> SourceTree:
    """Return a copy of the release's sources with other files, by name with `_` for the rest of the path."""
    made = SourceTree("thing", version, "1.0", "./thing", digest)
    names = {"init": "src/thing/__init__.py", "fast": "src/thing/fast.c", "project": "pyproject.toml"}
    write(made.folder, FILES | {names[name]: text for name, text in changed.items()})
    return made


def build(of: SourceTree) -> Program:
    return python_sources("thing").build(of)


def site(program: Program) -> Path:
    (found,) = Path(program.path).parents[1].glob("lib/python*/site-packages")
    return found


def test_the_sources_stand_in_for_the_release_and_the_program_reports_them() -> None:
    made = tree()
    assert not python_sources("thing").is_built(made)
    program = build(made)
    assert python_sources("thing").is_built(made)
    command = [program.path, str(python.adapter_of(program) / "thing_main.py")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "43 1.0+sources\n"
    assert not (site(program) / "thing" / "gone.py").exists()
    assert not (site(program) / "thing" / "fast.c").exists()


def test_compiled_modules_are_the_releases_as_long_as_its_sources_in_c_are(tmp_path: Path) -> None:
    assert (site(build(tree())) / "thing" / "fast.so").read_text() == "released\n"
    assert "setuptools" not in (tmp_path / "calls").read_text()
    changed = build(tree("main-89abcde", "d2", fast="int answer = 43;\n"))
    assert (site(changed) / "thing" / "fast.so").read_text() == "compiled\n"
    tools = next(line for line in (tmp_path / "calls").read_text().splitlines() if line.endswith(" setuptools wheel"))
    assert "--only-binary :all: --constraints" in tools


def test_equal_sources_give_equal_programs_whatever_they_are_called() -> None:
    assert build(tree("main-1234567")).digest == build(tree("fix-89abcde")).digest
    assert build(tree()).digest != build(tree("main-7654321", "d2", init="ANSWER = 44\n")).digest


def test_requirements_that_the_lock_does_not_meet_are_resolved_and_recorded_and_run_nothing(tmp_path: Path) -> None:
    program = build(tree(project=PROJECT.replace("needed>=1", "needed>=2")))
    assert (Path(program.path).parents[1] / python_tree.RESOLVED).read_text() == "needed-2\n"
    assert not (tmp_path / "calls.ran").exists()
    assert not (Path(build(tree("main-7654321", "d2")).path).parents[1] / python_tree.RESOLVED).exists()


def test_a_build_that_fails_says_what_to_install() -> None:
    with pytest.raises(MachineError, match=r"fatal error: Python\.h") as failed:
        build(tree(fast="broken\n"))
    assert failed.value.hint == "sudo apt-get install python3-dev"
    assert not python_sources("thing").is_built(tree(fast="broken\n"))


@pytest.mark.parametrize(
    "requirement",
    [
        "needed @ https://elsewhere.invalid/needed-1.whl",
        "needed@git+https://elsewhere.invalid/needed",
        "--index-url=https://elsewhere.invalid",
        "https://elsewhere.invalid/needed-1.tar.gz",
        "./needed",
        "-r needed.txt",
    ],
)
def test_a_requirement_that_names_a_place_is_refused(requirement: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="which is no package of the package index"):
        build(tree(project=PROJECT.replace("needed>=1", requirement)))
    tools = f'[build-system]\nrequires = ["{requirement}"]\n{PROJECT}'
    with pytest.raises(InputError, match="which is no package of the package index"):
        build(tree("main-7654321", "d2", project=tools, fast="int answer = 43;\n"))
    assert "elsewhere" not in (tmp_path / "calls").read_text()


@pytest.mark.parametrize(
    "requirement", ["needed", "needed>=1,<2", "Needed[a, b]~=1.0", "n_1 (==1.*); python_version<'9'"]
)
def test_a_requirement_of_the_index_is_taken(requirement: str) -> None:
    build(tree(project=PROJECT.replace("needed>=1", requirement)))


def test_a_wheel_that_has_more_than_its_package_is_refused() -> None:
    made = tree(fast="int answer = 43;\n")
    write(made.folder, {"src/sitecustomize.py": "raise SystemExit(1)\n"})
    with pytest.raises(InputError, match=r"has sitecustomize\.py beside the package thing"):
        build(made)


BACKEND = """\
import socket, subprocess, sys, zipfile
from pathlib import Path

def build_wheel(out, settings=None, metadata=None):
    {deed}
    with zipfile.ZipFile(Path(out, "thing-2-py3-none-any.whl"), "w") as wheel:
        wheel.write("src/thing/__init__.py", "thing/__init__.py")
        wheel.writestr("thing-2.dist-info/METADATA", "Metadata-Version: 2.1\\nName: thing\\nVersion: 2\\n")
        wheel.writestr("thing-2.dist-info/WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr("thing-2.dist-info/RECORD", "")
    return "thing-2-py3-none-any.whl"
"""
OWN_BACKEND = (
    f'[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n{PROJECT}version = "2"\n'
)


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        ('Path("{outside}").write_text("bad")', "Read-only file system"),
        ('Path("{outside}").symlink_to("/"); sys.exit(3)', "Read-only file system"),
        ('socket.create_connection(("127.0.0.1", {port}), 5)', "Network is unreachable|Connection refused"),
        ('subprocess.run(("sleep", "1000"))', r"was stopped: it took more than 0\.05 minutes"),
        ("sys.exit('no more')", "no more"),
    ],
    ids=["writes", "links", "connects", "never ends", "ends"],
)
def test_a_hostile_build_of_sources_ends_with_one_error_and_leaves_nothing(
    deed: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(reason := confined.confinement(), str):
        pytest.skip(reason)
    monkeypatch.setenv(confined.MINUTES, "0.05" if "sleep" in deed else "5")
    outside = tmp_path / "outside"
    with socket.create_server(("127.0.0.1", 0)) as server:
        made = tree(project=OWN_BACKEND.replace('dynamic = ["version"]\n', ""), fast="int answer = 43;\n")
        done = deed.format(outside=outside, port=server.getsockname()[1])
        write(made.folder, {"backend.py": BACKEND.replace("{deed}", done)})
        with pytest.raises(MachineError, match=says):
            build(made)
    assert not outside.exists()
    assert not python_sources("thing").is_built(made)
    assert not list((tmp_path / "cache" / "stacks" / "thing").rglob("*.making-*"))


def test_the_sources_own_build_makes_the_package() -> None:
    made = tree(project=OWN_BACKEND.replace('dynamic = ["version"]\n', ""), fast="int answer = 43;\n")
    write(made.folder, {"backend.py": BACKEND.replace("{deed}", "pass")})
    program = build(made)
    assert '__version__ = "1.0+sources"' in (site(program) / "thing" / "__init__.py").read_text()


def test_the_version_is_what_the_sources_state(tmp_path: Path) -> None:
    write(tmp_path / "a", FILES)
    assert state_python_version(tmp_path / "a", "thing") == "1.1.dev0"
    write(tmp_path / "a", {"pyproject.toml": '[project]\nname = "Thing"\nversion = "2.0"\n'})
    assert state_python_version(tmp_path / "a", "thing") == "2.0"
    write(tmp_path / "b", {"setup.cfg": "[metadata]\nname = thing\nversion = attr: thing.__version__\n"})
    write(tmp_path / "b", {"thing/__init__.py": "__version__ = '0.9'\n"})
    assert state_python_version(tmp_path / "b", "thing") == "0.9"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"pyproject.toml": '[project]\nname = "other"\n'}, "the sources are those of other"),
        ({"configure.ac": ""}, "no pyproject.toml or setup.cfg of the sources names a project, and thing is expected"),
        ({"pyproject.toml": "[project"}, "the project file of the sources cannot be read"),
        ({"pyproject.toml": '[project]\nname = "thing"\n'}, "the sources have no package thing"),
    ],
)
def test_what_cannot_be_built_is_refused_with_the_reason(tmp_path: Path, files: dict[str, str], says: str) -> None:
    write(tmp_path / "other", files)
    with pytest.raises(InputError, match=says.replace(".", r"\.")):
        state_python_version(tmp_path / "other", "thing")


def test_the_tools_are_pinned_and_aioquic_is_built_from_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LONGLOOK_ADAPTERS")
    text = (adapters_dir() / python_tree.TOOLS).read_text()
    assert {line.partition("==")[0] for line in text.splitlines() if "==" in line} >= {"pip", "setuptools", "wheel"}
    assert STACK.from_sources is not None
