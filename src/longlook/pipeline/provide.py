"""Install, generate and sign what the trials of a plan need."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from longlook.core import registry
from longlook.core.job import Program
from longlook.core.model import Plan
from longlook.core.programs import link_program, trace_program
from longlook.engines import Engine
from longlook.pipeline.by_engine import runs_in_guests
from longlook.provision import tls
from longlook.provision.guest_kernel import kernel_program
from longlook.provision.progress import listening
from longlook.provision.provenance import Made
from longlook.provision.provenance.made import of_kernel, of_part, of_wheels
from longlook.provision.setup import install
from longlook.run.execute import Provisions, endpoints, prepare_contents, records_tcp


def provide(plan: Plan, engine: Engine, say: Callable[[str], None]) -> Provisions:
    """Make everything that trials need once; `say` gets a sentence for each step that takes long.

    Raises MachineError where something cannot be installed.
    """
    programs = {(end.stack, end.version): install(f"{end.stack}@{end.version}", say) for end in endpoints(plan)}
    in_guests = runs_in_guests(plan, engine)
    if in_guests:
        kernel_program(say)  # the engine would build it too, but without a word for minutes
    recorded = any(records_tcp(trial) for trial in plan.trials)
    paddings = sorted({trial.certificate_padding_bytes for trial in plan.trials} - {0})
    with listening(say):
        for name in sorted({trial.client.stack for trial in plan.trials if "player" in trial.client.knobs}):
            registry.stack(name).fetch_players()
        contents = prepare_contents(plan)
    link, trace = link_program(), trace_program() if recorded else None
    made = (*_made(programs, in_guests=in_guests), *of_wheels(link, trace))
    for other in deviations(made):
        say(f"WARNING: not as pinned: {other}")
    return Provisions(
        programs,
        contents,
        tls.identity(),
        link,
        trace,
        {padding: tls.identity(padding) for padding in paddings},
        made,
    )


def deviations(made: Iterable[Made]) -> list[str]:
    """Return what is not as the repository pins it, of all programs."""
    return [other for each in made for other in each.deviations]


def _made(programs: Mapping[tuple[str, str], Program], *, in_guests: bool) -> Iterator[Made]:
    for (name, version), program in programs.items():
        yield of_part(registry.stack(name), version, program)
    if in_guests and (kernel := of_kernel()) is not None:
        yield kernel
