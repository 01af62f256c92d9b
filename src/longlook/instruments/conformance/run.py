"""Runs `longlook stacks check` and `matrix`: many versions one after another, and all pairs. No failure stops them."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from longlook.core import Engine, InputError, LonglookError, Stack, codec, find_protocol, registry, write_json
from longlook.engines import make_engine
from longlook.instruments.conformance import tables
from longlook.instruments.conformance.checks import CheckResult, CheckStatus, Report
from longlook.instruments.conformance.documents import save_matrix
from longlook.instruments.conformance.matrix import Matrix, make_matrix
from longlook.instruments.conformance.page import write_page
from longlook.instruments.conformance.runner import check_subject
from longlook.instruments.conformance.saved import save
from longlook.instruments.conformance.subject import Subject, subject
from longlook.provision import install, is_installed, selected

Say = Callable[[str], None]


def can_be_checked(stack: str) -> bool:
    """Return whether trials here can check a stack: it is a server or a client, and not of the world outside."""
    found = registry.stack(stack)
    return bool(found.end_roles) and not found.outside


def check_all(
    parts: Sequence[str],
    engine: str,
    place: Path,
    say: Say,
    *,
    peer: str | None = None,
    jobs: int = 1,
    use_cache: bool = True,
) -> Iterator[Report]:
    """Yield the report of each version as it is finished, and save it in the cache for the documents.

    `place` is the folder for the trials, in which each version gets one of its name. Raise InputError for an unknown
    name before anything runs.
    """
    subjects = [subject(part, peer) for part in parts]
    with make_engine(engine) as entered:
        for each in subjects:
            say(f"{each.name} …")
            report = _checked(each, entered, place / each.name, say, jobs, use_cache=use_cache)
            if peer is None and report.digest is not None:
                save(report)
            yield report


def _checked(each: Subject, engine: Engine, out: Path, say: Say, jobs: int, *, use_cache: bool) -> Report:
    try:
        return check_subject(each, engine, out, say, jobs=jobs, use_cache=use_cache)
    except LonglookError as error:
        broken = CheckResult("the suite", CheckStatus.FAILED, f"it could not be run: {error.message}")
        return Report(each.stack.name, each.version, None, engine.name, int(time.time()), (broken,))


def matrices(
    names: Sequence[str],
    protocols: Sequence[str],
    engine: str,
    place: Path,
    say: Say,
    *,
    every: bool = False,
    jobs: int = 1,
) -> list[Matrix]:
    """Return a matrix for each protocol, of the named versions and the newest installed version of each named stack.

    Without names it takes every stack; `every` takes all installed versions, not only the newest. Named versions that
    are missing are installed (of a stack without any its default); versions that cannot be installed are reported by
    `say` and left out. Raise InputError if a protocol has no server or no client.
    """
    if fetchless := [protocol for protocol in protocols if not find_protocol(protocol).fetches]:
        raise InputError(f"a matrix counts objects that arrive, and {fetchless[0]} fetches none", "use h3 or h2")
    ends = list(_ready(names, say, every=every))
    speakers = {
        protocol: [each for each in ends if protocol in each[0].protocols_of(each[1])] for protocol in protocols
    }
    for protocol in protocols:
        _expect_both_roles(speakers[protocol], protocol)
    made = []
    with make_engine(engine) as entered:
        for protocol in protocols:
            say(f"{protocol}: {len(speakers[protocol])} versions …")
            matrix = make_matrix(speakers[protocol], protocol, entered, place / protocol, say, jobs)
            if engine == "virtual":
                save_matrix(matrix)
            made.append(matrix)
    return made


def write_matrices(made: Sequence[Matrix], out: Path) -> None:
    """Write matrices as JSON, Markdown and a page into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "matrix.json", codec.encode(tuple(made)))
    text = "\n\n".join(
        "\n\n".join(
            part
            for part in (f"## {matrix.protocol}", tables.matrix_table(matrix), tables.handshake_table(matrix))
            if part
        )
        for matrix in made
    )
    (out / "matrix.md").write_text(text + "\n", encoding="utf-8")
    write_page(made, out)


def _ready(names: Sequence[str], say: Say, *, every: bool) -> Iterator[tuple[Stack, str]]:
    exact = [name for name in names if "@" in name]
    whole = [name for name in names if "@" not in name]
    there = [each for each in selected(whole) if is_installed(*each)] if whole or not exact else []
    absent = [name for name in whole if name not in {stack.name for stack, _ in there}]
    exact += [f"{name}@{registry.stack(name).default_version}" for name in absent]
    newest = {stack.name: version for stack, version in there}
    newest |= {stack.name: version for stack, version in there if stack.is_default(version)}
    chosen = [each for each in there if (every or newest[each[0].name] == each[1]) and not each[0].outside]
    yield from chosen
    for stack, version in selected(exact) if exact else []:
        if (stack, version) in chosen:
            continue
        if not is_installed(stack, version):
            try:
                install(f"{stack.name}@{version}", say)
            except LonglookError as error:
                say(f"{stack.name}@{version} is left out: {error.message}")
                continue
        yield stack, version


def _expect_both_roles(ends: Sequence[tuple[Stack, str]], protocol: str) -> None:
    for role in ("server", "client"):
        if not any(role in stack.roles for stack, _ in ends):
            raise InputError(
                f"none of these versions is an installed {role} that speaks {protocol}",
                "longlook stacks list shows what is installed; longlook setup NAME@VERSION installs more",
            )
