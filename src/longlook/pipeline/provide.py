"""Install, generate and sign what the trials of a plan need."""

from collections.abc import Callable

from longlook.core.model import Plan
from longlook.core.programs import link_program, trace_program
from longlook.engines import Engine
from longlook.pipeline.by_engine import runs_in_guests
from longlook.provision import tls
from longlook.provision.guest_kernel import kernel_program
from longlook.provision.setup import install
from longlook.run.execute import Provisions, endpoints, prepare_contents, records_tcp


def provide(plan: Plan, engine: Engine, say: Callable[[str], None]) -> Provisions:
    """Make everything that trials need once; `say` gets a sentence for each step that takes long.

    Raises MachineError where something cannot be installed.
    """
    programs = {(end.stack, end.version): install(f"{end.stack}@{end.version}", say) for end in endpoints(plan)}
    if runs_in_guests(plan, engine):
        kernel_program(say)  # the engine would build it too, but without a word for minutes
    recorded = any(records_tcp(trial) for trial in plan.trials)
    paddings = sorted({trial.certificate_padding_bytes for trial in plan.trials} - {0})
    return Provisions(
        programs,
        prepare_contents(plan),
        tls.identity(),
        link_program(),
        trace_program() if recorded else None,
        {padding: tls.identity(padding) for padding in paddings},
    )
