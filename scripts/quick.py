"""Checks a change in under a minute: format, lint, types, and the unit tests that the change concerns.

Rust and Go are checked where their files have changed. Every step runs, whatever the others find; the exit code is 1 if
one of them fails.
"""

import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from scripts.affected import ROOT, affected_tests, changed_files, core_tests

BIN = ".venv/bin"
PYTHON_FOLDERS = ("src", "tests", "adapters", "benches", "scripts", "style")
GO_MODULES = sorted(file.parent.relative_to(ROOT).as_posix() for file in ROOT.glob("adapters/*/go.mod"))


@dataclass(frozen=True)
class Step:
    """A command of the check, run in `folder` below the checkout."""

    name: str
    command: tuple[str, ...]
    folder: str = "."


TYPES = Step("types", (f"{BIN}/mypy", "--no-error-summary"))


def steps(changed: Iterable[str], tests: Iterable[str]) -> list[Step]:
    """Return what checks these changes beside TYPES, the fastest first."""
    paths = set(changed)
    found = [
        Step("format", (f"{BIN}/ruff", "format", "--check", "--quiet", *PYTHON_FOLDERS)),
        Step("lint", (f"{BIN}/ruff", "check", "--quiet", *PYTHON_FOLDERS)),
    ]
    if any(path.startswith(("crates/", "fuzz/", "Cargo.")) for path in paths):
        found += [
            Step("format of Rust", ("cargo", "fmt", "--all", "--check")),
            Step(
                "lint of Rust", ("cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings")
            ),
            Step("tests of Rust", ("cargo", "test", "--quiet", "--workspace")),
        ]
    for module in GO_MODULES:
        if any(path.startswith(f"{module}/") for path in paths):
            found += [Step(f"lint of {module}", ("go", "vet", "./..."), module)]
            found += [Step(f"tests of {module}", ("go", "test", "./..."), module)]
    return [
        *found,
        Step("unit tests", (f"{BIN}/pytest", "-q", "-n", "2", *tests)),
    ]


def main() -> None:
    """Run the steps, the types beside the others, and print how long each took."""
    changed = changed_files()
    affected = affected_tests(changed)
    tests = affected or core_tests()
    _print(f"{len(changed)} files changed; {len(tests)} files of unit tests{'' if affected else ' (core)'}")
    began_s = time.monotonic()
    # The type checker uses one CPU, mostly: it runs while the quick steps and the tests do.
    types = subprocess.Popen(TYPES.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    failed = [step.name for step in steps(changed, tests) if not _passes(step)]
    output, _ = types.communicate()
    _print(output.rstrip())
    if not _reported(TYPES, types.returncode, began_s):
        failed.append(TYPES.name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _passes(step: Step) -> bool:
    began_s = time.monotonic()
    done = subprocess.run(step.command, cwd=ROOT / step.folder, check=False)
    return _reported(step, done.returncode, began_s)


def _reported(step: Step, code: int, began_s: float) -> bool:
    _print(f"{'ok' if code == 0 else 'FAILED':6} {step.name} ({time.monotonic() - began_s:.1f} s)")
    return code == 0


def _print(text: str) -> None:
    if text:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
