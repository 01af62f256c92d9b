"""Install, generate and sign what the trials of a plan need."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from longlook.core import Engine, Identity, Made, Plan, Program, endpoints_of, link_program, registry, trace_program
from longlook.pipeline.check import runs_in_guests
from longlook.provision import (
    decoder,
    install,
    is_encoded,
    kernel_program,
    listening,
    of_decoder,
    of_encoder,
    of_kernel,
    of_part,
    of_players,
    of_wheels,
    players,
    share_kernel,
    share_programs,
    take_kernel,
    tls,
)
from longlook.run import Provisions, asks_by_runner, endpoints, prepare_contents, records_tcp


def provide_for(
    plan: Plan,
    engine: Engine,
    say: Callable[[str], None],
    installed: Mapping[tuple[str, str], Program] = MappingProxyType({}),
) -> Provisions:
    """Make everything that trials need once; `say` gets a sentence for each step that takes long.

    `installed` are programs by stack and version that are there already, wherever they come from.
    Raises MachineError if something cannot be installed.
    """
    programs = {
        key: installed.get(key) or install(f"{end.stack}@{end.version}", say)
        for end in endpoints(plan)
        for key in [(end.stack, end.version)]
    }
    in_guests = runs_in_guests(plan, engine)
    if in_guests:
        take_kernel(say)
        share_kernel(kernel_program(say))  # the engine would build it too, but without a word for minutes
    share_programs(programs.values())
    recorded = any(records_tcp(trial) for trial in plan.trials)
    paddings = sorted({trial.certificate_padding_bytes for trial in plan.trials} - {0})
    in_pages = _players(plan)
    with listening(say):
        if in_pages:
            players.players()
        if undecoded := _lacks_decoder(plan):
            decoder.decoder()
        contents = prepare_contents(plan)
    link, trace = link_program(), trace_program() if recorded else None
    encoded = any(map(is_encoded, contents.values()))
    tools = (*of_players(in_pages), *([of_decoder()] if undecoded else []), *([of_encoder()] if encoded else []))
    idle = {"longlook-trace": not recorded, "longlook-box": not in_guests}
    own = of_wheels([name for name, is_idle in idle.items() if is_idle])
    made = (*_made(programs, in_guests=in_guests), *tools, *own)
    for other in deviations(made):
        say(f"WARNING: not as pinned: {other}")
    return Provisions(
        programs,
        contents,
        tls.identity(),
        link,
        trace,
        {padding: tls.identity(padding) for padding in paddings},
        _for_runners(plan),
        made,
        {each.name: str(each.sha256) for each in tools},
    )


def _for_runners(plan: Plan) -> dict[int, Identity]:
    paddings = {trial.certificate_padding_bytes for trial in plan.trials if asks_by_runner(trial)}
    return {padding: tls.identity(padding, as_runners=True) for padding in sorted(paddings)}


def _players(plan: Plan) -> set[str]:
    """Return the players that pages of a plan's trials are given."""
    asked = {str(end.knobs.get("player")) for trial in plan.trials for end in endpoints_of(trial)}
    return asked & players.PLAYERS.keys()


def _lacks_decoder(plan: Plan) -> bool:
    """Return whether a page of a plan's trials is played by a browser to which a decoder has to be given."""
    playing = {end.stack for trial in plan.trials for end in endpoints_of(trial) if "player" in end.knobs}
    return any(registry.stack(name).lacks_decoder for name in playing)


def deviations(made: Iterable[Made]) -> list[str]:
    """Return what is not as the repository pins it, of all programs."""
    return [other for each in made for other in each.deviations]


def _made(programs: Mapping[tuple[str, str], Program], *, in_guests: bool) -> Iterator[Made]:
    for (name, version), program in programs.items():
        yield of_part(registry.stack(name), version, program)
    if in_guests and (kernel := of_kernel()) is not None:
        yield kernel
