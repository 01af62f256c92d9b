"""`longlook compare` and `longlook bisect`: arguments to calls; no logic of their own."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longlook.core.errors import InputError, InterruptedByUserError

if TYPE_CHECKING:
    from longlook.compare.spec import ComparisonSpec

Networks = Annotated[
    list[str],
    typer.Option("--on", metavar="NETWORK", help="A preset, or 10mbit,36ms,1bdp,1% or rate=…,rtt=…; repeat for more."),
]
Gate = Annotated[str, typer.Option(help="How much worse the contender may be.")]
Role = Annotated[str, typer.Option(help="What is compared: server, client or both.")]
Peer = Annotated[str, typer.Option(metavar="STACK", help="The other end, where one role is compared.")]
Protocol = Annotated[str, typer.Option(help="h3 or h2, unless a side names its own as in quic-go:h2.")]
Connection = Annotated[str, typer.Option(help="cold, resumed or 0rtt.")]
CongestionControl = Annotated[str, typer.Option(help="Congestion control of the kernel's TCP, for sides that use it.")]
Knobs = Annotated[
    list[str] | None,
    typer.Option("--knob", metavar="SETTING", help="[baseline:|contender:][server.|client.]NAME=VALUE; repeat."),
]
Metrics = Annotated[list[str] | None, typer.Option("--metric", help="Default: page_load_time; repeat for more.")]
Size = Annotated[str, typer.Option(help="Of each object of the page.")]
Objects = Annotated[int, typer.Option(min=1, help="Objects of the page.")]
Rounds = Annotated[int, typer.Option(help="Rounds on each network; in each round both sides run once. At least 10.")]
Alpha = Annotated[float, typer.Option(help="Level of significance, after correction.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the links' randomness.")]
Engine = Annotated[str, typer.Option(help="Where a trial's time comes from: virtual or live.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Trials at once; default: one for each CPU.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Run again what the cache holds.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON lines for machines.")]


def compare(
    baseline: Annotated[str, typer.Argument(metavar="BASELINE", help="STACK, STACK@VERSION or STACK:h2.")],
    contender: Annotated[str, typer.Argument(metavar="CONTENDER", help="The same.")],
    on: Networks,
    gate: Gate = "5%",
    role: Role = "both",
    peer: Peer = "quic-go",
    protocol: Protocol = "h3",
    connection: Connection = "cold",
    congestion_control: CongestionControl = "cubic",
    knob: Knobs = None,
    metric: Metrics = None,
    size: Size = "1MB",
    objects: Objects = 1,
    rounds: Rounds = 20,
    alpha: Alpha = 0.01,
    seed: Seed = 1,
    engine: Engine = "virtual",
    jobs: Jobs = None,
    no_cache: NoCache = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a summary for a pull request.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/compare-TIME.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two stacks or versions; exit 1 where the contender is worse by more than the gate (docs/compare.md)."""
    from longlook.cli.show.compare import show_comparison
    from longlook.cli.show.run import RunDisplay
    from longlook.compare import output
    from longlook.compare.run import Means, run_comparison

    for option, file in (("--junit", junit), ("--markdown", markdown)):
        _check_writable(option, file)
    spec = _spec(baseline, contender, on, gate, role, peer, protocol, connection, congestion_control, knob or [],
                   metric or ["page_load_time"], size, objects, rounds, alpha, seed)  # fmt: skip
    means = Means(engine, jobs or len(os.sched_getaffinity(0)), not no_cache, ["longlook", *sys.argv[1:]])
    display = RunDisplay(as_json=as_json)
    try:
        with display:
            result, judged = run_comparison(spec, out or _folder("compare"), means, display.observer())
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials come from the cache") from error
    display.conclude(result)
    if junit is not None:
        junit.write_text(output.junit_xml(judged), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(output.markdown(judged), encoding="utf-8")
    show_comparison(judged, as_json=as_json)
    if not judged.verdict.passed:
        raise typer.Exit(1)


def bisect(
    good: Annotated[str, typer.Argument(metavar="GOOD", help="STACK@VERSION.")],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="A newer version of the same stack.")],
    on: Networks,
    gate: Gate = "5%",
    role: Role = "both",
    peer: Peer = "quic-go",
    protocol: Protocol = "h3",
    connection: Connection = "cold",
    congestion_control: CongestionControl = "cubic",
    knob: Knobs = None,
    metric: Metrics = None,
    size: Size = "1MB",
    objects: Objects = 1,
    rounds: Rounds = 20,
    alpha: Alpha = 0.01,
    seed: Seed = 1,
    engine: Engine = "virtual",
    jobs: Jobs = None,
    no_cache: NoCache = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the run folders; default runs/bisect-TIME.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the first version that is worse than GOOD by more than the gate (docs/compare.md)."""
    from longlook.cli.show.compare import BisectionDisplay
    from longlook.cli.show.run import RunDisplay
    from longlook.compare.run import Means, run_bisection

    spec = _spec(good, bad, on, gate, role, peer, protocol, connection, congestion_control, knob or [],
                   metric or ["page_load_time"], size, objects, rounds, alpha, seed)  # fmt: skip
    means = Means(engine, jobs or len(os.sched_getaffinity(0)), not no_cache, ["longlook", *sys.argv[1:]])
    steps = BisectionDisplay(as_json=as_json)
    try:
        with RunDisplay(as_json=as_json) as display:
            folder = out or _folder("bisect")
            found, step = run_bisection(spec, folder, means, display.observer(), steps.tell)
    except KeyboardInterrupt as error:
        raise InterruptedByUserError("stopped", "repeat the command: finished trials come from the cache") from error
    steps.conclude(found, step, spec.contender.stack)


def _spec(
    baseline: str,
    contender: str,
    on: list[str],
    gate: str,
    role: str,
    peer: str,
    protocol: str,
    connection: str,
    congestion_control: str,
    knobs: list[str],
    metrics: list[str],
    size: str,
    objects: int,
    rounds: int,
    alpha: float,
    seed: int,
) -> "ComparisonSpec":
    from longlook.compare import spec as comparison

    roles = (*comparison.ROLES, comparison.BOTH)
    if role not in roles:
        raise InputError(f"--role {role}: there is no such role", f"allowed: {', '.join(roles)}")
    return comparison.ComparisonSpec(
        baseline=comparison.parse_side(baseline, protocol),
        contender=comparison.parse_side(contender, protocol),
        networks=comparison.parse_networks(on),
        gate_pct=comparison.parse_gate(gate),
        role=role,
        peer=peer,
        connection=connection,
        congestion_control=congestion_control,
        knobs=tuple(comparison.parse_knob(knob) for knob in knobs),
        metrics=tuple(dict.fromkeys(metrics)),
        workload={"kind": "page", "objects": objects, "object": size},
        rounds=rounds,
        alpha=alpha,
        seed=seed,
    )


def _folder(what: str) -> Path:
    return Path("runs") / f"{what}-{time.strftime('%Y%m%d-%H%M%S')}"


def _check_writable(option: str, file: Path | None) -> None:
    if file is not None and (file.is_dir() or not file.absolute().parent.is_dir()):
        raise InputError(f"{option} {file}: no such folder, or a folder itself", f"name a file: {option} FILE")
