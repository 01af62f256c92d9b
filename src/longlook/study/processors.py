"""Processors of endpoints in virtual time: what people write, and what work costs on them. Pure.

    off                                                     computing costs no time
    server-core                                             a processor by name
    moto-g                                                  a phone by name: a multiple of server-core
    10 * server-core                                        one on which everything takes ten times as long
    call 1us, wake 5us, datagram 9us, packet 2us, kilobyte 2us       costs of one's own; those left out are 0

The guest's kernel has these costs (`kernel/`, net/core/endpoint_cpu.c). docs/explanation/processors.md says what they
mean, where the costs of named processors are from, and how far they can be believed.
"""

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction

from longlook.core import COSTS, OFF, Processor, Scalar, SettingError, allowed, text_of, times, units

KEYS: Mapping[str, str] = {"client_processor": "client", "server_processor": "server"}
"""Key of an arm → role of the endpoint."""

_MOST_NS = 1_000_000_000
_FORM = f"write {OFF}, a name, or costs, for example: call 1us, wake 5us, datagram 9us, packet 2us, kilobyte 2us"

PROCESSORS: Mapping[str, Processor] = {"server-core": Processor(call_ns=4500, packet_ns=1000)}
"""Name → costs of what belongs to the machine. Waking up was not measured apart from calls."""

PHONES: Mapping[str, Fraction] = {"moto-g": Fraction(12), "nexus6": Fraction(5)}
"""Phone → how many times as long as on a server core everything takes; docs/explanation/processors.md has the sources
and the error."""

PROGRAMS: Mapping[str, Processor] = {
    "quic-go": Processor(datagram_ns=7600, byte_ps=3000),
    "quinn": Processor(datagram_ns=5400, byte_ps=500),
    "quiche": Processor(byte_ps=4300),
    "tquic": Processor(byte_ps=3900),
    "ngtcp2": Processor(datagram_ns=23_600),
    "aioquic": Processor(datagram_ns=17_700, byte_ps=18_100),
    "caddy": Processor(datagram_ns=8800, byte_ps=4300),
    "envoy": Processor(datagram_ns=10_500, byte_ps=4600),
    "nginx": Processor(byte_ps=200),
    "apache": Processor(),
}
"""Stack → what a datagram and a byte cost its programs on a server core (docs/explanation/processors.md has the
errors)."""

_OVER_TCP_ALONE = frozenset({"nginx", "apache"})
"""The programs that nobody has measured over QUIC."""


def processor_setting(key: str, value: object) -> Scalar:
    """Return the canonical text of a processor; SettingError if it is none."""
    if not isinstance(value, str):
        raise SettingError(key, f"must be a text: {_FORM}")
    factor, rest = _scaled(key, value)
    if rest == OFF:
        if factor != 1:
            raise SettingError(key, f"{OFF} has no costs to multiply")
        return OFF
    if rest in PROCESSORS or rest in PHONES:
        machine, multiple = _machine(rest)
        for program in PROGRAMS.values():
            _within_bounds(key, times(_together(machine, program), factor * multiple))
        return rest if factor == 1 else f"{_plain(factor)} * {rest}"
    scaled = times(_costs(key, rest), factor)
    _within_bounds(key, scaled)
    return text_of(scaled)


def processors(
    texts: Mapping[str, Scalar], programs: Mapping[str, str | None], *, over_tcp: bool
) -> dict[str, Processor]:
    """Return the processor of each role; a role whose computing costs nothing is left out.

    `texts` and `programs` map roles to canonical texts and to the programs that run there, named as in a study. Raise
    SettingError for a processor by name if nobody has measured what the role's program costs, or has measured it
    `over_tcp` alone.
    """
    found = {
        role: _processor_of(key, texts[role], programs.get(role), over_tcp=over_tcp)
        for key, role in KEYS.items()
        if role in texts
    }
    return {role: processor for role, processor in found.items() if processor is not None}


def _processor_of(key: str, value: Scalar, program: str | None, *, over_tcp: bool) -> Processor | None:
    """Return the processor of a canonical text for a program, named as in a study; None for `off`."""
    factor, rest = _scaled(key, str(value))
    if rest == OFF:
        return None
    if rest not in PROCESSORS and rest not in PHONES:
        return times(_costs(key, rest), factor)
    machine, multiple = _machine(rest)
    stack = str(program).partition("@")[0]
    if stack not in PROGRAMS:
        measured = ", ".join(PROGRAMS)
        whose = f"of {stack}" if program is not None else "of several programs"
        raise SettingError(key, f"{rest} knows the costs of {measured}, and not {whose}; {_FORM}")
    if stack in _OVER_TCP_ALONE and not over_tcp:
        raise SettingError(key, f"{rest} knows the costs of {stack} over TCP alone; {_FORM}")
    return times(_together(machine, PROGRAMS[stack]), factor * multiple)


def _machine(name: str) -> tuple[Processor, Fraction]:
    """Return the costs of a named machine and what to multiply these and its programs' costs by."""
    return (PROCESSORS["server-core"], PHONES[name]) if name in PHONES else (PROCESSORS[name], Fraction(1))


def _together(one: Processor, other: Processor) -> Processor:
    return Processor(**{field.name: getattr(one, field.name) + getattr(other, field.name) for field in fields(one)})


def _within_bounds(key: str, processor: Processor) -> None:
    if max(getattr(processor, field.name) for field in fields(processor)) > _MOST_NS:
        raise SettingError(key, f"a cost may be at most {units.print_time(_MOST_NS)}")


def _scaled(key: str, text: str) -> tuple[Fraction, str]:
    head, star, rest = text.partition("*")
    if not star:
        return Fraction(1), text.strip()
    try:
        factor = Fraction(head.strip())
    except (ValueError, ZeroDivisionError) as error:
        raise SettingError(key, f"{head.strip()!r} is no number to multiply by; {_FORM}") from error
    if factor <= 0:
        raise SettingError(key, "the number to multiply by must be above 0")
    return factor, rest.strip()


def _costs(key: str, text: str) -> Processor:
    costs: dict[str, int] = {}
    for term in text.split(","):
        name, _, value = term.strip().partition(" ")
        if name not in COSTS:
            raise SettingError(key, f"{allowed(name, (*COSTS, *PROCESSORS, *PHONES, OFF))}; {_FORM}")
        if COSTS[name] in costs:
            raise SettingError(key, f"{name} is given twice")
        try:
            costs[COSTS[name]] = units.parse_time(value.strip())
        except units.UnitError as error:
            raise SettingError(key, f"{name}: {error}; {_FORM}") from error
    return Processor(**costs)


def _plain(factor: Fraction) -> str:
    return str(factor.numerator) if factor.denominator == 1 else f"{float(factor):g}"
