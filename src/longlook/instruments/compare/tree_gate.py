"""The gate of a repository: the working tree, or a revision, against the commit from which it parted from its base."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from longlook.core import InputError, MachineError, Program, Stack, find_tree, parse_toml, registry
from longlook.explain import Answer
from longlook.instruments.compare.output import JudgedComparison
from longlook.instruments.compare.run import explain_worse, run_comparison
from longlook.instruments.compare.spec import BOTH, ComparisonSpec
from longlook.instruments.compare.suite import DEFAULT, FILE, Suite, parse_suite
from longlook.pipeline import Observer, RunOptions
from longlook.provision import git, install, stack_at, version_of
from longlook.study import STANDARD, STRATA, ComparedSide


@dataclass(frozen=True)
class GateRequest:
    """A change to be judged: revision `head`, or the tree as it is. Both sides are nearest to release `of`."""

    tree: Path
    base: str
    head: str | None = None
    stack: str = ""
    of: str = ""
    only: tuple[str, ...] = ()
    allows: str = ""  # how much worse it may be; "": as the suite says


@dataclass(frozen=True)
class GatedChange:
    """Both sides of a gate. `notes` say what a reader may not expect of the suite."""

    stack: str
    base: ComparedSide
    head: ComparedSide
    base_commit: git.Commit
    suite: Suite
    notes: tuple[str, ...]


@dataclass(frozen=True)
class GateResult:
    """The result of a gate. Programs that are equal byte for byte have no comparison; `digest` is theirs then."""

    change: GatedChange
    digest: str
    judged: JudgedComparison | None
    answers: tuple[Answer, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing is worse by more than is allowed."""
        return self.judged is None or self.judged.verdict.passed


def find_change(request: GateRequest) -> GatedChange:
    """Return both sides of a gate, copied into the cache; InputError if there is no such tree, commit or suite.

    The base has the suite, so that a change cannot widen its own gate.
    """
    if not request.tree.is_dir() or not git.is_in_repository(request.tree):
        raise InputError(
            f"{request.tree} is in no work tree of git, so there is no base to compare with",
            "name a checkout, or compare two folders: longlook compare STACK@./one STACK@./other",
        )
    parted = git.merge_base(request.tree, request.head or "HEAD", request.base)
    suite, notes = _suite(request.tree, parted, request.head)
    stack = _stack(request, suite, parted)
    of = f",of={request.of}" if request.of else ""
    base = version_of(stack, f"git:{request.tree.absolute()}#{parted.name}{of}")
    known = find_tree(stack.name, base)
    of = f",of={known.of}" if known is not None else of  # one adapter for both, or its difference would be theirs
    head = version_of(stack, f"{_head(request)}{of}")
    return GatedChange(
        stack.name,
        ComparedSide(stack.name, base, suite.protocol),
        ComparedSide(stack.name, head, suite.protocol),
        parted,
        replace(suite.only(request.only), allows=request.allows or suite.allows),
        notes,
    )


def _head(request: GateRequest) -> str:
    tree = request.tree.absolute()
    return str(tree) if request.head is None else f"git:{tree}#{request.head}"


def _stack(request: GateRequest, suite: Suite, base: git.Commit) -> Stack:
    name = request.stack or suite.stack
    return registry.stack(name) if name else stack_at(request.tree, base.name)


def _suite(tree: Path, base: git.Commit, head: str | None) -> tuple[Suite, tuple[str, ...]]:
    data = git.file_at(tree, base.name, FILE)
    if head is None:
        file = git.root_of(tree) / FILE
        own = file.read_bytes() if file.is_file() else None
    else:
        own = git.file_at(tree, git.commit_of(tree, head).name, FILE)
    notes = () if own == data else (f"{FILE} of the change is not used: that of {base.name[:7]} decides",)
    if data is None:
        return DEFAULT, notes
    return parse_suite(parse_toml(data, FILE), f"{FILE} of {base.name[:7]}"), notes


def make_spec(change: GatedChange, engine_losses: str = STRATA, around: str = STANDARD) -> ComparisonSpec:
    """Return the comparison that decides a gate."""
    suite = change.suite
    roles = registry.stack(change.stack).end_roles
    role = roles[0] if suite.role == BOTH and len(roles) == 1 else suite.role
    return ComparisonSpec(
        baseline=change.base,
        contender=change.head,
        networks={case.name: case.settings() for case in suite.cases},
        gate_pct=suite.gate_pct,
        role=role,
        peer=suite.peer,
        connection=suite.connection,
        metrics=suite.metrics,
        max_rounds=suite.max_rounds,
        seed=suite.seed,
        around=around,
        losses=engine_losses,
        alpha=suite.alpha,
    )


def run_gate(
    change: GatedChange,
    spec: ComparisonSpec,
    out: Path,
    options: RunOptions,
    observer: Observer,
    budget: int | None,
    *,
    explain: bool,
) -> GateResult:
    """Build both sides, compare them unless they are equal byte for byte, and explain what is worse.

    MachineError if one does not build, which says which.
    """
    base = _built(change.base, f"the base, {change.base_commit.name[:7]}", observer.say)
    head = _built(change.head, "the change", observer.say)
    if base.digest == head.digest:
        return GateResult(change, head.digest, None)
    _, judged = run_comparison(spec, out, options, observer)
    answers = explain_worse(judged.verdict, out, budget, options, observer) if explain else []
    return GateResult(change, "", judged, tuple(answers))


def _built(side: ComparedSide, what: str, say: Callable[[str], None]) -> Program:
    try:
        return install(side.name, say)
    except MachineError as error:
        raise MachineError(f"{what}, does not build: {error.message}", error.hint) from error
